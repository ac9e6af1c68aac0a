/** Creates classes and data, and prints a session token for each merchant. */
import { createHash } from 'node:crypto';
import { ParseServer } from 'parse-server';
import password from 'parse-server/lib/password.js';
import { asAdmin } from '../../cluster.ts';
import {
  COLUMNS,
  CONVERSATIONS,
  MERCHANTS,
  NOTIFICATIONS,
  notificationColumns,
  PASSWORD,
} from '../../data.ts';
import { options } from './options.mjs';

const { DATABASE_URL } = process.env;
const { merchant, conversation, email, phone, at } = COLUMNS;
const { pending, type, context, requestedFields, answeredFields, answer } =
  notificationColumns(NOTIFICATIONS);

const text = { type: 'String' };
const object = { type: 'Object' };
const list = { type: 'Array' };
const to = (targetClass) => ({ type: 'Pointer', targetClass });
const signedIn = { requiresAuthentication: true };
const permissions = { find: signedIn, get: signedIn, create: signedIn, update: signedIn };
const classes = {
  Merchant: { name: text },
  _User: { name: text, role: text, merchant: to('Merchant') },
  Conversation: { merchant: to('Merchant'), customerName: text, customerPhone: text },
  Notification: {
    merchant: to('Merchant'),
    conversation: to('Conversation'),
    type: text,
    status: text,
    context: object,
    requestedFields: list,
    answeredFields: list,
    answer: object,
  },
  Delivery: {
    merchant: to('Merchant'),
    notification: to('Notification'),
    recipient: text,
    text,
    state: text,
  },
  Document: { merchant: to('Merchant'), title: text, content: text },
};
const definitions = Object.entries(classes).map(([className, fields]) => ({
  className,
  fields,
  classLevelPermissions: permissions,
}));

const server = new ParseServer({ ...options, schema: { definitions } });
await server.start();

/** The id of an object: ten characters, as Parse creates them. */
const id = (number) => `lpad(cast(${number} as text), 10, '0')`;
const owner = `array[${id(merchant)}]`;
const time = `cast(${at} as timestamptz)`;
const hash = await password.hash(PASSWORD);
await asAdmin(DATABASE_URL, [
  `insert into "Merchant" ("objectId", "createdAt", "updatedAt", name, _rperm, _wperm)
    select ${id('i')}, ${time}, ${time}, concat('Shop ', i), ${owner}, ${owner} from generate_series(1, ${MERCHANTS}) i`,
  `insert into "_User" ("objectId", "createdAt", "updatedAt", username, email, name, role, merchant, _hashed_password, _rperm, _wperm)
    select ${id('i')}, ${time}, ${time}, ${email}, ${email}, concat('Owner ', i), 'user', ${id('i')}, '${hash}',
      ${owner}, ${owner}
    from generate_series(1, ${MERCHANTS}) i`,
  `insert into "_Session" ("objectId", "createdAt", "updatedAt", "user", "sessionToken", "expiresAt", "createdWith")
    select ${id('i')}, now(), now(), ${id('i')}, concat('r:', md5(cast(i as text))), now() + interval '1 year',
      '{"action":"login","authProvider":"password"}'
    from generate_series(1, ${MERCHANTS}) i`,
  `insert into "Conversation" ("objectId", "createdAt", "updatedAt", merchant, "customerName", "customerPhone", _rperm, _wperm)
    select ${id('i')}, ${time}, ${time}, ${id(merchant)}, concat('Customer ', i), ${phone}, ${owner}, ${owner}
    from generate_series(1, ${CONVERSATIONS}) i`,
  `insert into "Notification" ("objectId", "createdAt", "updatedAt", merchant, conversation, type, status, context,
      "requestedFields", "answeredFields", answer, _rperm, _wperm)
    select ${id('i')}, ${time}, ${time}, ${id(merchant)}, ${id(conversation)}, ${type},
      case when ${pending} then 'requested' else 'answered' end, cast(${context} as jsonb),
      cast(${requestedFields} as jsonb), cast(${answeredFields} as jsonb), cast(${answer} as jsonb), ${owner}, ${owner}
    from generate_series(1, ${NOTIFICATIONS}) i`,
  `create index on "Notification" (merchant, status, "createdAt" desc)`,
  `create index on "Conversation" (merchant)`,
  `create index on "_Session" ("sessionToken")`,
  `create index on "_Session" ("user")`,
  'vacuum analyze',
  'checkpoint',
]);
const tokens = Array.from(
  { length: MERCHANTS },
  (_, index) =>
    `r:${createHash('md5')
      .update(String(index + 1))
      .digest('hex')}`,
);
process.stdout.write(JSON.stringify(tokens), () => process.exit(0));
