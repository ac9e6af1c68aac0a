-- Vectors of documents, for meaning across languages. Both tables stay empty without EMBEDDINGS_URL.

-- One row per document, deleted with it.
create table document_vectors (
  merchant_id bigint not null,
  document_id bigint not null,
  -- What they were made with and from. If the document or the setting differs, they are made again.
  model text not null,
  document_version integer not null,
  document_updated_at text not null,
  -- JSON: by the hash of each text, its vector as signed bytes in base64; empty if the endpoint refused the text.
  vectors text not null,
  -- The merchant's number of this change. A process that has loaded the others loads those with higher numbers.
  change bigint not null,
  primary key (merchant_id, document_id),
  foreign key (merchant_id, document_id) references documents (merchant_id, id) on delete cascade
);
create index document_vectors_change on document_vectors (merchant_id, change, document_id);

-- How far a worker has got with a merchant's documents.
create table vector_progress (
  merchant_id bigint not null references merchants (id) on delete cascade,
  model text not null,
  -- The version of the merchant's documents that all have vectors.
  complete_version text not null default '',
  -- The version that the current walk over the documents began with, and the last document that is done.
  walk_version text not null default '',
  position bigint not null default 0,
  -- The worker that works on it, until when.
  lease text not null default '',
  leased_until text not null default '',
  -- The number of the last change.
  change bigint not null default 0,
  primary key (merchant_id)
);
