-- SQLite needs none of this: it keeps no old row versions.
-- @postgres
-- Every change leaves the old version of the row in the table and its indexes until the next vacuum, by default after a
-- fifth of the table has changed. A worker that looks for due messages reads all of them: 643 pages after 50,000
-- messages, to find nothing.
alter table deliveries set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
alter table notifications set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
-- New words wait in a list. The write that finds it full sorts them into the index: 146 ms with the default of 4 MB, 29
-- with this limit.
alter index documents_found_by set (gin_pending_list_limit = 256);
alter index answered_questions_found_by set (gin_pending_list_limit = 256);
-- @both
