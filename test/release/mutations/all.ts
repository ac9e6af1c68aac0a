import { ACCESS_MUTATIONS } from './access.ts';
import { ASSISTANT_MUTATIONS } from './assistant.ts';
import { BACKUP_MUTATIONS } from './backup.ts';
import { BROWSER_MUTATIONS } from './browser.ts';
import { CHAIN_MUTATIONS } from './chains.ts';
import { CLIENT_MUTATIONS } from './client.ts';
import { CONVERSATION_MUTATIONS } from './conversations.ts';
import { DASHBOARD_MUTATIONS } from './dashboard.ts';
import { DATA_MUTATIONS } from './data.ts';
import { DELIVERY_MUTATIONS } from './delivery.ts';
import { DEPLOY_MUTATIONS } from './deploy.ts';
import { EMBEDDINGS_MUTATIONS } from './embeddings.ts';
import { ERASURE_MUTATIONS } from './erasure.ts';
import { GROUP_MUTATIONS } from './groups.ts';
import { HELD_MUTATIONS } from './held.ts';
import { INBOX_MUTATIONS } from './inbox.ts';
import { KNOWLEDGE_MUTATIONS } from './knowledge.ts';
import type { Mutation } from './mutation.ts';
import { PACKAGE_MUTATIONS } from './package.ts';
import { PEOPLE_MUTATIONS } from './people.ts';
import { SECRET_MUTATIONS } from './secrets.ts';
import { SESSION_MUTATIONS } from './sessions.ts';
import { SIGN_IN_MUTATIONS } from './signIn.ts';
import { SPREAD_MUTATIONS } from './spread.ts';
import { TEAM_MUTATIONS } from './team.ts';
import { UPGRADE_MUTATIONS } from './upgrades.ts';
import { WATCH_MUTATIONS } from './watch.ts';

/** Everything that `npm run test:mutations` plants, one after another. */
export const MUTATIONS: readonly Mutation[] = [
  ...DATA_MUTATIONS,
  ...CHAIN_MUTATIONS,
  ...UPGRADE_MUTATIONS,
  ...SPREAD_MUTATIONS,
  ...CONVERSATION_MUTATIONS,
  ...KNOWLEDGE_MUTATIONS,
  ...ACCESS_MUTATIONS,
  ...SIGN_IN_MUTATIONS,
  ...SESSION_MUTATIONS,
  ...TEAM_MUTATIONS,
  ...DELIVERY_MUTATIONS,
  ...ERASURE_MUTATIONS,
  ...DEPLOY_MUTATIONS,
  ...GROUP_MUTATIONS,
  ...INBOX_MUTATIONS,
  ...PEOPLE_MUTATIONS,
  ...HELD_MUTATIONS,
  ...ASSISTANT_MUTATIONS,
  ...BACKUP_MUTATIONS,
  ...EMBEDDINGS_MUTATIONS,
  ...CLIENT_MUTATIONS,
  ...PACKAGE_MUTATIONS,
  ...BROWSER_MUTATIONS,
  ...DASHBOARD_MUTATIONS,
  ...SECRET_MUTATIONS,
  ...WATCH_MUTATIONS,
];
