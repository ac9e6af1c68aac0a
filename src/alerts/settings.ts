import type { AlertSettings, AlertSettingsChange } from '../contract/alerts.ts';
import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';

/** What each person wants: the SQL on alert_settings, with mails.ts. */

export type Settings = Omit<AlertSettings, 'devices' | 'mail_available'>;

export const DEFAULTS: Settings = {
  push: true,
  hide_text: false,
  email_after_minutes: null,
  quiet_hours: 'shop',
  what: 'all',
};

interface Row {
  push: number;
  hide_text: number;
  email_after_minutes: number | null;
  quiet_hours: string;
  what: Settings['what'];
}

export async function findSettings(
  queries: Queries,
  merchantId: MerchantId,
  userId: UserId,
): Promise<Settings> {
  const row = await queries.one<Row>(
    `select push, hide_text, email_after_minutes, quiet_hours, what from alert_settings
      where merchant_id = $1 and user_id = $2`,
    [merchantId, userId],
  );
  if (!row) return DEFAULTS;
  const { push, hide_text, quiet_hours, ...rest } = row;
  return { ...rest, push: push === 1, hide_text: hide_text === 1, quiet_hours: JSON.parse(quiet_hours) };
}

/** The person's own requests run one after another. */
export async function changeSettings(
  tx: Transaction,
  merchantId: MerchantId,
  userId: UserId,
  change: AlertSettingsChange,
): Promise<Settings> {
  await tx.lock(`alert settings ${merchantId} ${userId}`);
  const settings = { ...(await findSettings(tx, merchantId, userId)), ...change };
  await tx.run(
    `insert into alert_settings (merchant_id, user_id, push, hide_text, email_after_minutes, quiet_hours, what)
      values ($1, $2, $3, $4, $5, $6, $7)
      on conflict (merchant_id, user_id) do update set push = excluded.push, hide_text = excluded.hide_text,
        email_after_minutes = excluded.email_after_minutes, quiet_hours = excluded.quiet_hours, what = excluded.what,
        mail_due_at = case when excluded.email_after_minutes is null then null else alert_settings.mail_due_at end
      returning user_id`,
    [
      ...[merchantId, userId, settings.push ? 1 : 0, settings.hide_text ? 1 : 0],
      ...[settings.email_after_minutes, JSON.stringify(settings.quiet_hours), settings.what],
    ],
  );
  return settings;
}
