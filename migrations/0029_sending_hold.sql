-- One row while nothing is sent: after a restore, until the operator releases it, and in a database that was moved.
create table sending_hold (
  id integer primary key check (id = 1),
  held_at text not null,
  reason text not null check (reason in ('restored', 'moved', 'operator')),
  -- Of the backup: when it was made, and the fingerprint of the secret key that it needs.
  backup_made_at text,
  key_fingerprint text
);
