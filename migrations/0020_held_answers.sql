-- Answers that wait until they can no longer be undone, and what was learned from an answer.

-- Until when an answer can be undone. It is set until its message, its event and its lesson are written.
alter table notifications add column undo_until text;
-- What is left to do then, as JSON, with a random key: no two answers have the same text.
alter table notifications add column held text;
-- One finds the merchants with answers that are due, the other the answers of one merchant.
create index notifications_due on notifications (undo_until, merchant_id) where undo_until is not null;
create index notifications_held on notifications (merchant_id, undo_until, id) where undo_until is not null;

-- How it ended: resolved if nobody replied to the customer.
alter table notifications add column outcome text generated always as (
  case when answer is null then null
    when answer = '{"cancelled":true}' or answer like '%"resolve_only":true}' then 'resolved'
    else 'answered' end)
-- @sqlite
  virtual;
-- @postgres
  stored;
-- @both

-- What the knowledge base learned from the answer. No foreign key: the document may be gone.
alter table answered_questions add column learned text check (learned in ('new', 'replace', 'append', 'wording'));
alter table answered_questions add column document_id bigint;
alter table answered_questions add column document_version bigint;

-- How long the dashboard lets people undo an answer.
alter table merchants add column undo_seconds integer not null default 5 check (undo_seconds between 0 and 60);
