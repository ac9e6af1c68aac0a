-- How fast WhatsApp's numbers send, shared by all workers. recipient is a customer's number, or '' for the whole number;
-- free_at_ms is the time from which it is free again, in milliseconds since 1970.
create table send_pace (
  channel_id text not null,
  recipient text not null,
  free_at_ms bigint not null,
  primary key (channel_id, recipient)
);
create index send_pace_idle on send_pace (free_at_ms);
