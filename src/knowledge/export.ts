/** For the export: the merchant is $1, the last id $2, the limit $3. */
export const EXPORTED_DOCUMENTS = `select id, title, body, version, created_at, updated_at
  from documents where merchant_id = $1 and id > $2 order by id limit $3`;

/** The last document is $2 and what it has $3, the limit $4: of both. */
export const EXPORTED_WORDINGS = `select document_id, id, text
  from document_wordings where merchant_id = $1 and (document_id, id) > ($2, $3)
  order by document_id, id limit $4`;

export const EXPORTED_VERSIONS = `select document_id, version, title, body, what, created_at
  from document_versions where merchant_id = $1 and (document_id, version) > ($2, $3)
  order by document_id, version limit $4`;

/** What the assistant answered by itself, and whether people found it right. */
export const EXPORTED_RECOGNITIONS = `select id, kind, question, document_id, score, notification_id, outcome, judged_at,
    created_at
  from recognitions where merchant_id = $1 and id > $2 order by id limit $3`;

export const EXPORTED_REMOVALS = `select id, document_id, title, what, user_id, key_id, at
  from knowledge_removals where merchant_id = $1 and id > $2 order by id limit $3`;

/** Whether the notification in this column is the person's. */
type IsTheirs = (column: string) => string;

/** Of one customer, whose conversation is $4: what the assistant asked or answered, and what was learned from them. */
export const recognitionsAbout = (isTheirs: IsTheirs) =>
  EXPORTED_RECOGNITIONS.replace(
    'and id > $2',
    `and id > $2 and (conversation_id = $4 or ${isTheirs('recognitions.notification_id')})`,
  );

export const wordingsFrom = (isTheirs: IsTheirs) => `select id, document_id, text, created_at
  from document_wordings where merchant_id = $1 and id > $2 and ${isTheirs('document_wordings.notification_id')}
  order by id limit $3`;

/** The last document is $2 and its version $3, the limit $4. */
export const versionsFrom = (isTheirs: IsTheirs) =>
  EXPORTED_VERSIONS.replace(
    'order by',
    `and ${isTheirs('document_versions.notification_id')}
  order by`,
  );

/** Of one user, who is $4; $5 for versions. */
export const WORDINGS_OF_USER = wordingsFrom(() => 'user_id = $4');
export const VERSIONS_OF_USER = versionsFrom(() => 'user_id = $5');
export const REMOVALS_OF_USER = EXPORTED_REMOVALS.replace('and id > $2', 'and id > $2 and user_id = $4');
/** Without the customer's question. */
export const RECOGNITIONS_OF_USER = `select id, document_id, outcome, judged_at
  from recognitions where merchant_id = $1 and id > $2 and judged_by = $4 order by id limit $3`;
