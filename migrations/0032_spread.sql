-- So that the tables can be spread over a cluster by merchant: see docs/scale.md. Each node can only see its own merchants,
-- so all keys of a merchant's table begin with the merchant. SQLite is never spread and keeps its tables.

-- @postgres
-- A channel reports the status of a message by its key alone. The key is random.
alter table deliveries drop constraint deliveries_key_key;
alter table deliveries add constraint deliveries_merchant_id_key_key unique (merchant_id, key);
create index deliveries_key on deliveries using hash (key);

-- The same for a program that shows only its key.
alter table machine_keys drop constraint machine_keys_hash_key;
alter table machine_keys add constraint machine_keys_merchant_id_hash_key unique (merchant_id, hash);
create index machine_keys_hash on machine_keys using hash (hash);

alter table simulator_messages drop constraint simulator_messages_pkey;
alter table simulator_messages add primary key (merchant_id, id);
alter table simulator_messages drop constraint simulator_messages_delivery_key_key;
alter table simulator_messages add constraint simulator_messages_merchant_id_delivery_key_key
  unique (merchant_id, delivery_key);

-- On a cluster, a table of the coordinator that refers to users cannot have an identity. A sequence does the same. It goes
-- on where the identity was: an id is never used twice.
create sequence passkeys_ids;
select setval('passkeys_ids', nextval(pg_get_serial_sequence('passkeys', 'id')), false);
alter table passkeys alter column id drop identity;
alter sequence passkeys_ids owned by passkeys.id;
alter table passkeys alter column id set default nextval('passkeys_ids');
-- @both
