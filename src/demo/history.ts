import type { NotificationType } from '../contract/notifications.ts';
import { CUSTOMERS, type Customer, TOPICS, type Topic } from './topics.ts';

/** Twelve weeks in which the demo's shops got better. The same on every machine, counted back from its first start. */

export interface DemoNotification {
  /** The position of its conversation, from 1. */
  conversation: number;
  type: NotificationType;
  minutesAgo: number;
  context: Record<string, unknown>;
  answer?: Record<string, unknown>;
  answeredAfterMinutes?: number;
  /** A user. Default: the merchant's owner. */
  answeredBy?: number;
}

/** Members without a known password. The first one gets this id. */
export const FIRST_MEMBER_ID = 4;
export const MEMBERS = [
  { merchantId: 1, name: 'Mateo Ruiz', email: 'mateo@aurora.example' },
  { merchantId: 1, name: 'Inés Carvalho', email: 'ines@aurora.example' },
] as const;

const WEEKS = 12;
const DAY_MINUTES = 24 * 60;
const WEEK_MINUTES = 7 * DAY_MINUTES;
/** The newest ones are those that the demo always has. */
const NEWEST_MINUTES = 240;
const ASKED_PER_WEEK: Readonly<Record<number, number>> = { 1: 26, 2: 6 };
/** In the first week. It gets shorter by a sixth every week. */
const MINUTES_TO_ANSWER = 100;
const SHORTER = 0.84;

/** Who answers in the coffee shop: Alma, Mateo, Inés. */
const ANSWERERS = [1, 1, 1, FIRST_MEMBER_ID, FIRST_MEMBER_ID, FIRST_MEMBER_ID + 1];

export function historyOf(now: Date, firstConversation: number): DemoNotification[] {
  const random = createRandom();
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const found: DemoNotification[] = [];
  for (let week = 0; week < WEEKS; week += 1) {
    const weeksAgo = WEEKS - 1 - week;
    for (const merchantId of [1, 2]) {
      const open = TOPICS.filter(
        (topic) => topic.merchantId === merchantId && isAsked(topic, weeksAgo, random),
      );
      for (let n = 0; n < ASKED_PER_WEEK[merchantId]!; n += 1) {
        const topic = pick(open);
        const minutesAgo = inTheDay(now, weeksAgo * WEEK_MINUTES + Math.round(random() * WEEK_MINUTES));
        if (minutesAgo < NEWEST_MINUTES) continue;
        const typical = MINUTES_TO_ANSWER * SHORTER ** week;
        // Every week has quick and slow answers alike, so that its figures do not depend on luck.
        const place = (((n * 7) % ASKED_PER_WEEK[merchantId]!) + random()) / ASKED_PER_WEEK[merchantId]!;
        const minutes = Math.max(1, Math.round(typical * (0.3 + 2.6 * place ** 3)));
        found.push({
          ...asked(topic, customerOf(topic, firstConversation, pick), minutesAgo, pick),
          answer: random() < 0.07 ? { resolve_only: true } : answerOf(topic),
          answeredAfterMinutes: Math.min(minutes, minutesAgo - 5),
          answeredBy: merchantId === 1 ? pick(ANSWERERS) : 2,
        });
      }
    }
  }
  const past = found.map((one) => withoutCarmen(one, firstConversation));
  forgetOne(past, firstConversation);
  return [...past, ...waiting(firstConversation)];
}

/** She has asked nothing else lately, so that her reply window closes soon. */
function withoutCarmen(one: DemoNotification, firstConversation: number): DemoNotification {
  const isHers = CUSTOMERS[one.conversation - firstConversation]?.name === CLOSES_SOON;
  if (!isHers || one.minutesAgo > 2 * DAY_MINUTES) return one;
  const index = CUSTOMERS.findIndex(({ name, language }) => name !== CLOSES_SOON && language === 'es');
  const context = { ...one.context, lead_phone: CUSTOMERS[index]!.phone };
  return { ...one, context, conversation: firstConversation + index };
}

const CLOSES_SOON = 'Carmen Ibáñez';

/** Nobody has answered one of the coffee shop's customers in time: the reply window is closed. */
function forgetOne(past: DemoNotification[], firstConversation: number): void {
  const isForgotten = ({ conversation, minutesAgo }: DemoNotification) =>
    CUSTOMERS[conversation - firstConversation]?.merchantId === 1 &&
    minutesAgo > DAY_MINUTES + 60 &&
    minutesAgo < 3 * DAY_MINUTES &&
    !past.some((other) => other.conversation === conversation && other.minutesAgo < minutesAgo) &&
    !waiting(firstConversation).some((other) => other.conversation === conversation);
  const [newest] = past.filter(isForgotten).sort((a, b) => a.minutesAgo - b.minutesAgo);
  if (!newest) return;
  delete newest.answer;
  delete newest.answeredAfterMinutes;
}

/** The same question from several customers, and one who wants a person. */
function waiting(firstConversation: number): DemoNotification[] {
  const ask = (name: string, minutesAgo: number, context: Record<string, string>): DemoNotification => ({
    conversation: firstConversation + CUSTOMERS.findIndex((customer) => customer.name === name),
    type: context.question ? 'user_question_request' : 'user_support_request',
    minutesAgo,
    context: { ...context, lead_phone: CUSTOMERS.find((customer) => customer.name === name)!.phone },
  });
  return [
    ask('Hannah Brooks', 96, { question: 'Do you have decaf beans?' }),
    ask('Owen Murphy', 58, { question: 'Do you have any decaf beans?' }),
    ask('Jonas Keller', 21, { question: 'Do you have decaf beans?' }),
    ask(CLOSES_SOON, DAY_MINUTES - 38, { question: '¿Tienen molinillos de café manuales?' }),
    ask('João Almeida', 12, {
      support_request_reason: 'Quero falar com uma pessoa sobre a minha encomenda.',
    }),
  ];
}

/** What the assistant has learned is seldom asked. */
const isAsked = ({ taughtWeeksAgo }: Topic, weeksAgo: number, random: () => number) =>
  taughtWeeksAgo === undefined || weeksAgo >= taughtWeeksAgo || random() < 0.1;

/** At night nobody asks. */
function inTheDay(now: Date, minutesAgo: number): number {
  const hour = new Date(now.getTime() - minutesAgo * 60_000).getUTCHours();
  return hour < 7 ? minutesAgo + 10 * 60 : minutesAgo;
}

interface Place {
  conversation: number;
  customer: Customer;
}

function customerOf(topic: Topic, first: number, pick: <T>(from: readonly T[]) => T): Place {
  const index = pick(
    CUSTOMERS.flatMap(({ merchantId, language }, at) =>
      merchantId === topic.merchantId && language === topic.language ? [at] : [],
    ),
  );
  return { conversation: first + index, customer: CUSTOMERS[index]! };
}

function asked(
  { type, asked: wordings }: Topic,
  { conversation, customer }: Place,
  minutesAgo: number,
  pick: <T>(from: readonly T[]) => T,
): DemoNotification {
  const text = pick(wordings);
  const isQuestion = type === 'user_question_request';
  const context = { ...(isQuestion ? { question: text } : { support_request_reason: text }) };
  return { conversation, type, minutesAgo, context: { ...context, lead_phone: customer.phone } };
}

const answerOf = ({ type, answer, notes = '' }: Topic): Record<string, unknown> =>
  type === 'user_question_request'
    ? { answer }
    : { agent_response_to_customer: answer, resolution_notes: notes };

/** How many questions the assistant answered by itself on each of the last days, today last. */
export function knownPerDay(merchantId: number): number[] {
  const random = createRandom();
  return Array.from({ length: WEEKS * 7 }, (_, day) => {
    const progress = (day / (WEEKS * 7)) ** 1.3;
    const perDay = merchantId === 1 ? 0.7 + 6.5 * progress : 0.3 + 1.5 * progress;
    return Math.round(perDay * (0.8 + 0.4 * random()));
  });
}

/** The same numbers on every machine (a linear congruential generator). */
function createRandom(): () => number {
  let state = 20_260_115;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
