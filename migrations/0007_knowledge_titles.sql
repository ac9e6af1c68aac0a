-- An import looks up the newest document of each title. This index covers both the title and the order. Without it,
-- SQLite used the index for the order alone, and read all of the merchant's documents for every title.
drop index documents_title;
create index documents_title on documents (merchant_id, title, updated_at desc, id desc);
