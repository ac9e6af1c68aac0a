-- @expand 0.2.0
-- Which process does a job, and until when nobody else does: because it is at work, because it has failed, or because the
-- next time has not come. The key is the merchant, or empty for a job of the whole service.
create table job_leases (
  job text not null,
  key text not null,
  holder text not null,
  until text not null,
  -- Since when every attempt has failed.
  failing_since text,
  primary key (job, key)
);

create index job_leases_until on job_leases (until);
