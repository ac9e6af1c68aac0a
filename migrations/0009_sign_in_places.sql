-- From where a user has signed in: limits that others can use up do not apply there. The place is a keyed hash of the
-- address, so the table does not tell where somebody was.
create table sign_in_places (
  user_id bigint not null references users (id) on delete cascade,
  place text not null,
  last_at text not null,
  primary key (user_id, place)
);
create index sign_in_places_expiry on sign_in_places (last_at);

-- Failures are also counted per address over all accounts, and per account over all addresses.
create index sign_in_failures_address on sign_in_failures (address, failed_at);
create index sign_in_failures_all on sign_in_failures (account, failed_at);
