/** Creates tables and data, and prints a token for each merchant. */
import { readFileSync } from 'node:fs';
import bcrypt from 'bcrypt';
import jwt from 'jsonwebtoken';
import { asAdmin } from '../../cluster.ts';
import {
  COLUMNS,
  CONVERSATIONS,
  MERCHANTS,
  NOTIFICATIONS,
  notificationColumns,
  PASSWORD,
} from '../../data.ts';

const { DATABASE_URL, JWT_SECRET } = process.env;
const { merchant, conversation, email, phone, at } = COLUMNS;
const { pending, type, context, requestedFields, answeredFields, answer } =
  notificationColumns(NOTIFICATIONS);
const array = (json) => `array(select jsonb_array_elements_text(cast(${json} as jsonb)))`;
const time = `cast(${at} as timestamptz) at time zone 'UTC'`;
const setSequence = (table) =>
  `select setval(pg_get_serial_sequence('"${table}"', 'id'), max(id)) from "${table}"`;

await asAdmin(DATABASE_URL, [
  readFileSync(new URL('tables.sql', import.meta.url), 'utf8'),
  `insert into "Merchant" select i, concat('Shop ', i) from generate_series(1, ${MERCHANTS}) i`,
  `insert into "User" select i, i, ${email}, concat('Owner ', i), 'user', '${await bcrypt.hash(PASSWORD, 10)}', ${time}
    from generate_series(1, ${MERCHANTS}) i`,
  `insert into "Conversation" select i, ${merchant}, concat('Customer ', i), ${phone}, ${time}
    from generate_series(1, ${CONVERSATIONS}) i`,
  `insert into "Notification" select i, ${merchant}, ${conversation}, ${type},
      cast(case when ${pending} then 'requested' else 'answered' end as "Status"), cast(${context} as jsonb),
      ${array(requestedFields)}, ${array(answeredFields)}, cast(${answer} as jsonb), ${time}, ${time}
    from generate_series(1, ${NOTIFICATIONS}) i`,
  ...['Merchant', 'User', 'Conversation', 'Notification'].map(setSequence),
  'vacuum analyze',
  'checkpoint',
]);

const tokens = Array.from({ length: MERCHANTS }, (_, index) =>
  jwt.sign({ sub: String(index + 1), merchantId: index + 1, role: 'user' }, JWT_SECRET, { expiresIn: '1d' }),
);
process.stdout.write(JSON.stringify(tokens));
