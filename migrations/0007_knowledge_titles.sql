-- An import asks for the newest document of each title. This index serves both the title and the order. Without it
-- SQLite took the index that serves the order alone and read all of the merchant's documents for every title.
drop index documents_title;
create index documents_title on documents (merchant_id, title, updated_at desc, id desc);
