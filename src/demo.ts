import { randomBytes } from 'node:crypto';
import { SERVER } from './audit/record.ts';
import { emailKeyOf } from './auth/email.ts';
import type { Passwords } from './auth/passwords/passwords.ts';
import { disableUser, findUserByEmail } from './auth/users.ts';
import type { DemoUser } from './contract/auth.ts';
import type { MerchantId } from './contract/ids.ts';
import type { NotificationType } from './contract/notifications.ts';
import { countConversations } from './conversations/messages.ts';
import type { Database, Param, Queries, Transaction } from './database/database.ts';
import { insertRows } from './database/insert.ts';
import { type DemoNotification, FIRST_MEMBER_ID, historyOf, knownPerDay, MEMBERS } from './demo/history.ts';
import { insertTalk, SHOWN_MINUTES } from './demo/insertTalk.ts';
import { CUSTOMERS, TOPICS } from './demo/topics.ts';
import { type DemoLesson, insertDemoDocuments, insertDemoHistory } from './knowledge/demo.ts';
import { rememberAnswered } from './knowledge/suggestions.ts';
import { answerSchemaId, KINDS } from './notifications/kinds.ts';

/** The demo data is the same on every machine: examples and tests use these names, passwords and ids. */

const MERCHANTS = [
  { name: 'Aurora Coffee', country: 'ES' },
  { name: 'Borealis Books', country: 'IS' },
];

export const DEMO_USERS = [
  {
    email: 'owner@aurora.example',
    password: 'aurora-demo',
    name: 'Alma Reyes',
    role: 'owner',
    merchantId: 1,
    about: 'Aurora Coffee',
  },
  {
    email: 'owner@borealis.example',
    password: 'borealis-demo',
    name: 'Björn Olafsson',
    role: 'owner',
    merchantId: 2,
    about: 'Borealis Books',
  },
  {
    email: 'operator@deskbell.example',
    password: 'operator-demo',
    name: 'Odile Operator',
    role: 'admin',
    merchantId: null,
    about: 'operator, no merchant',
  },
] as const;

const CONVERSATIONS = [
  { merchantId: 1, name: 'Lucía Fernández', phone: '+34611550101' },
  { merchantId: 1, name: 'Tomás Oliveira', phone: '+351912550102' },
  { merchantId: 1, name: 'Layla Haddad', phone: '+971505550103' },
  { merchantId: 2, name: 'Grace Okafor', phone: '+447700900104' },
  { merchantId: 2, name: 'Einar Jónsson', phone: '+3546115505' },
] as const;

/** Oldest first. */
const NOTIFICATIONS: readonly DemoNotification[] = [
  {
    conversation: 1,
    type: 'user_question_request',
    minutesAgo: 2980,
    context: { question: 'Do you grind the beans for a moka pot?', lead_phone: '+34611550101' },
    answer: { answer: 'Yes. Choose “moka” at checkout and we grind them the morning we ship.' },
    answeredAfterMinutes: 12,
  },
  {
    conversation: 2,
    type: 'user_support_request',
    minutesAgo: 1510,
    context: { support_request_reason: 'The bag arrived torn and half empty.', order: 'AC-2041' },
    answer: {
      agent_response_to_customer: 'I am sorry, Tomás. A new bag leaves today, at no cost.',
      resolution_notes: 'Replacement sent, parcel insured. Tell the carrier.',
    },
    answeredAfterMinutes: 34,
  },
  {
    conversation: 4,
    type: 'user_question_request',
    minutesAgo: 1320,
    context: {
      question: 'Is “The Northern Lights Atlas” in stock in hardcover?',
      lead_phone: '+447700900104',
    },
    answer: { answer: 'Three hardcovers are left. Shall we keep one for you?' },
    answeredAfterMinutes: 8,
  },
  {
    conversation: 3,
    type: 'user_question_request',
    minutesAgo: 190,
    context: { question: 'Which of your coffees has the least acidity?', lead_phone: '+971505550103' },
  },
  {
    conversation: 5,
    type: 'user_support_request',
    minutesAgo: 122,
    context: { support_request_reason: 'Was charged twice for one order and wants to talk to a person.' },
  },
  {
    conversation: 1,
    type: 'user_question_request',
    minutesAgo: 47,
    context: {
      question: 'Can I pause my subscription while I travel in August?',
      lead_phone: '+34611550101',
    },
  },
  {
    conversation: 4,
    type: 'user_question_request',
    minutesAgo: 31,
    context: { question: 'Do you wrap books as presents and add a card?', lead_phone: '+447700900104' },
  },
  {
    conversation: 2,
    type: 'user_support_request',
    minutesAgo: 18,
    context: { support_request_reason: 'The delivery address must be changed before the parcel leaves.' },
  },
  {
    conversation: 3,
    type: 'user_question_request',
    minutesAgo: 4,
    context: { question: 'Do you have decaf beans?', lead_phone: '+971505550103' },
  },
];

/**
 * Fills an empty database. Returns false if it was not empty. With `history`, the shops have been open for twelve weeks;
 * without it, there are only the few notifications that tests and examples know by their ids.
 */
export async function seedDemo(
  database: Database,
  passwords: Passwords,
  now: Date,
  { history = false } = {},
): Promise<boolean> {
  if (!(await isEmpty(database))) return false;
  const hashes = await Promise.all(DEMO_USERS.map(({ password }) => passwords.hash(password)));
  const unknownHash = history ? await passwords.hash(randomBytes(24).toString('base64url')) : '';
  return database.transaction(async (tx) => {
    if (!(await tx.tryLock('demo')) || !(await isEmpty(tx))) return false;
    await insertAll(tx, hashes, now, history ? { unknownHash } : undefined);
    return true;
  });
}

/** The email addresses of the demo users who still have their demo password. */
export async function openDemoUsers(queries: Queries, passwords: Passwords): Promise<string[]> {
  return (await createDemoSignIns(queries, passwords)()).map(({ email }) => email);
}

/** Whether this user has the password of the demo, which everybody knows. */
export async function hasDemoPassword(
  queries: Queries,
  passwords: Passwords,
  email: string,
): Promise<boolean> {
  const demo = DEMO_USERS.find((user) => emailKeyOf(user.email) === emailKeyOf(email));
  const user = await queries.one<{ password_hash: string }>(
    'select password_hash from users where email_key = $1',
    [emailKeyOf(email)],
  );
  return demo !== undefined && user !== undefined && passwords.matches(demo.password, user.password_hash);
}

/** Disables the demo users who still have their demo password. Returns their email addresses. */
export async function disableDemoUsers(
  database: Database,
  passwords: Passwords,
  now: Date,
): Promise<string[]> {
  const emails = await openDemoUsers(database, passwords);
  for (const email of emails) {
    const user = await findUserByEmail(database, email);
    if (user) await disableUser(database, user.id, now, SERVER);
  }
  return emails;
}

/** Lists the demo users who can still sign in. Compares each password hash only once, because that is slow. */
export function createDemoSignIns(queries: Queries, passwords: Passwords): () => Promise<DemoUser[]> {
  const compared = new Map<string, Promise<boolean>>();
  return async () => {
    const open: DemoUser[] = [];
    for (const { email, password, about, role } of DEMO_USERS) {
      const user = await queries.one<{ password_hash: string }>(
        'select password_hash from users where email_key = $1 and disabled_at is null',
        [emailKeyOf(email)],
      );
      if (!user) continue;
      const key = `${email} ${user.password_hash}`;
      const known = compared.get(key) ?? passwords.matches(password, user.password_hash);
      compared.set(key, known);
      known.catch(() => compared.delete(key));
      if (await known) open.push({ email, password, about, role });
    }
    return open;
  };
}

async function isEmpty(queries: Queries): Promise<boolean> {
  return !(await queries.one('select 1 from merchants union all select 1 from users limit 1'));
}

async function insertAll(
  tx: Transaction,
  passwordHashes: string[],
  now: Date,
  history: { unknownHash: string } | undefined,
): Promise<void> {
  const ago = (minutes: number) => new Date(now.getTime() - minutes * 60_000).toISOString();
  const openedAt = ago(history ? 300_000 : 50_000);
  const insert = (table: string, row: Record<string, Param>) => {
    if (typeof row.merchant_id === 'number')
      return insertRows(tx, table, [{ ...row, merchant_id: row.merchant_id as MerchantId }]);
    const columns = Object.keys(row);
    return tx.run(
      `insert into ${table} (${columns.join(', ')}) values (${columns.map((_, i) => `$${i + 1}`).join(', ')})`,
      Object.values(row),
    );
  };
  const addUser = (id: number, user: Omit<(typeof DEMO_USERS)[number], 'password' | 'about'>, hash: string) =>
    insert('users', {
      id,
      merchant_id: user.merchantId,
      email: user.email,
      email_key: emailKeyOf(user.email),
      name: user.name,
      role: user.role,
      password_hash: hash,
      created_at: openedAt,
    });

  for (const [index, { name, country }] of MERCHANTS.entries()) {
    await insert('merchants', { id: index + 1, name, country, developer_tools: 1, created_at: openedAt });
  }
  for (const [index, user] of DEMO_USERS.entries()) await addUser(index + 1, user, passwordHashes[index]!);
  if (history) {
    for (const [index, member] of MEMBERS.entries()) {
      await addUser(FIRST_MEMBER_ID + index, { ...member, role: 'user' } as never, history.unknownHash);
    }
  }
  const conversations = history ? [...CONVERSATIONS, ...CUSTOMERS] : CONVERSATIONS;
  for (const [index, { merchantId, name, phone }] of conversations.entries()) {
    const at = ago(3000 - index * 100);
    await insert('conversations', {
      id: index + 1,
      merchant_id: merchantId,
      reference: `demo-${index + 1}`,
      customer_name: name,
      customer_phone: phone,
      created_at: at,
      updated_at: at,
    });
  }
  const notifications = [...NOTIFICATIONS, ...(history ? historyOf(now, CONVERSATIONS.length + 1) : [])];
  notifications.sort((a, b) => b.minutesAgo - a.minutesAgo);
  await insertNotifications(notifications);
  // The customers' messages on the simulated phone: they open the 24-hour window for replies.
  if (history) await insertTalk(tx, { conversations, notifications, ago, insert });
  for (const { conversation, type, minutesAgo, context } of history ? [] : notifications) {
    if (minutesAgo > SHOWN_MINUTES) continue;
    const { merchantId, phone } = conversations[conversation - 1]!;
    await insert('simulator_messages', {
      merchant_id: merchantId,
      phone: String(context.lead_phone ?? phone),
      from_customer: 1,
      content: askedIn(type, context),
      at: ago(minutesAgo),
    });
  }
  for (const index of MERCHANTS.keys()) await countConversations(tx, (index + 1) as MerchantId);
  await insertDemoDocuments(tx, now);
  if (history) {
    const known = [1, 2].map((merchantId) => ({ merchantId, perDay: knownPerDay(merchantId) }));
    await insertDemoHistory(tx, now, { topics: learnedTopics(notifications), known });
  }
  if (tx.engine === 'postgres') {
    // Rows with explicit ids do not advance the identity sequence.
    for (const table of ['merchants', 'users', 'conversations', 'notifications']) {
      // Apart from the table: on a cluster, a node would do it.
      const last = await tx.one<{ id: number }>(`select max(id) as id from ${table}`);
      await tx.run(`select setval(pg_get_serial_sequence($1, 'id'), $2)`, [table, last!.id]);
    }
  }

  async function insertNotifications(given: readonly DemoNotification[]): Promise<void> {
    for (const [index, notification] of given.entries()) {
      const { conversation, type, minutesAgo, context, answer, answeredAfterMinutes = 0 } = notification;
      const { merchantId } = conversations[conversation - 1]!;
      await insert('notifications', {
        id: index + 1,
        merchant_id: merchantId,
        conversation_id: conversation,
        notification_type: type,
        status: answer ? 'answered' : 'requested',
        created_at: ago(minutesAgo),
        updated_at: ago(answer ? minutesAgo - answeredAfterMinutes : minutesAgo),
        context: JSON.stringify(context),
        requested_fields: JSON.stringify(KINDS[type].requestedFields),
        answered_fields: JSON.stringify(KINDS[type].answeredFields),
        answer_schema_id: answerSchemaId(KINDS[type]),
        answer: answer ? JSON.stringify(answer) : null,
        answered_by: answer ? (notification.answeredBy ?? merchantId) : null,
      });
      const reply = answer?.answer ?? answer?.agent_response_to_customer;
      if (reply === undefined) continue;
      const told = { notificationId: index + 1, question: askedIn(type, context), answer: String(reply) };
      await rememberAnswered(tx, merchantId as MerchantId, told);
    }
  }
}

const askedIn = (type: NotificationType, context: Record<string, unknown>) =>
  String(context[KINDS[type].requestedFields[0]]);

/** What the assistant learned, each with the notification whose answer it learned. */
function learnedTopics(notifications: readonly DemoNotification[]): DemoLesson[] {
  return TOPICS.flatMap(({ merchantId, asked, answer, taughtWeeksAgo }) => {
    if (taughtWeeksAgo === undefined) return [];
    const minutes = taughtWeeksAgo * 7 * 24 * 60;
    const index = notifications.findLastIndex(
      ({ minutesAgo, context, answer: told }) =>
        minutesAgo > minutes && asked.includes(String(context.question)) && told?.answer !== undefined,
    );
    const notification = notifications[index];
    return notification
      ? [
          {
            ...{ merchantId, title: asked[0], body: answer, wordings: asked.slice(1) },
            ...{ notificationId: index + 1, userId: notification.answeredBy ?? merchantId },
            daysAgo: (notification.minutesAgo - (notification.answeredAfterMinutes ?? 0)) / (24 * 60),
          },
        ]
      : [];
  });
}
