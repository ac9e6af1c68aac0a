import type { Static } from 'typebox';
import type {
  Confidence as ConfidenceSchema,
  KnownAnswers as KnownAnswersSchema,
} from '../../../src/contract/confidence.ts';
import type { DeliveryWithTimeline, SimulatorMessages } from '../../../src/contract/delivery.ts';
import type { DocumentWithVersions } from '../../../src/contract/knowledge.ts';
import type { NotificationList, NotificationWithAnswer } from '../../../src/contract/notifications.ts';

export type { Limits } from '../../../src/contract/delivery.ts';
export type {
  Document,
  DocumentVersion,
  DocumentWording,
  Suggestion,
} from '../../../src/contract/knowledge.ts';
export type { NotificationType } from '../../../src/contract/notifications.ts';
export type Confidence = Static<typeof ConfidenceSchema>;
export type KnownAnswers = Static<typeof KnownAnswersSchema>;
export type KnownAnswer = KnownAnswers['known'][number];
export type DeliveryDetail = Static<typeof DeliveryWithTimeline>;
export type DeliveryState = DeliveryDetail['state'];
export type DocumentDetail = Static<typeof DocumentWithVersions>;
export type Notification = Static<typeof NotificationList>[number];
export type NotificationDetail = Static<typeof NotificationWithAnswer>;
export type SimulatorMessage = Static<typeof SimulatorMessages>[number];
