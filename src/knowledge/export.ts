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
