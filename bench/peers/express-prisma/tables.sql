-- The tables that `prisma migrate` creates for schema.prisma. They are here so that its engine is not downloaded.
create type "Status" as enum ('requested', 'answered');

create table "Merchant" (id serial primary key, name text not null);

create table "User" (
  id serial primary key,
  "merchantId" integer not null references "Merchant" on delete restrict on update cascade,
  email text not null,
  name text not null,
  role text not null,
  "passwordHash" text not null,
  "createdAt" timestamp(3) not null default current_timestamp
);
create unique index "User_email_key" on "User" (email);
create index "User_merchantId_idx" on "User" ("merchantId");

create table "Conversation" (
  id serial primary key,
  "merchantId" integer not null references "Merchant" on delete restrict on update cascade,
  "customerName" text not null,
  "customerPhone" text not null,
  "createdAt" timestamp(3) not null default current_timestamp
);
create index "Conversation_merchantId_idx" on "Conversation" ("merchantId");

create table "Notification" (
  id serial primary key,
  "merchantId" integer not null references "Merchant" on delete restrict on update cascade,
  "conversationId" integer not null references "Conversation" on delete restrict on update cascade,
  type text not null,
  status "Status" not null default 'requested',
  context jsonb not null,
  "requestedFields" text[],
  "answeredFields" text[],
  answer jsonb,
  "createdAt" timestamp(3) not null default current_timestamp,
  "updatedAt" timestamp(3) not null
);
create index "Notification_merchantId_status_id_idx" on "Notification" ("merchantId", status, id desc);

create table "Delivery" (
  id serial primary key,
  "merchantId" integer not null references "Merchant" on delete restrict on update cascade,
  "notificationId" integer not null references "Notification" on delete restrict on update cascade,
  recipient text not null,
  text text not null,
  state text not null default 'queued',
  "createdAt" timestamp(3) not null default current_timestamp
);
create index "Delivery_merchantId_state_idx" on "Delivery" ("merchantId", state);

create table "Document" (
  id serial primary key,
  "merchantId" integer not null references "Merchant" on delete restrict on update cascade,
  title text not null,
  content text not null,
  "createdAt" timestamp(3) not null default current_timestamp,
  "updatedAt" timestamp(3) not null
);
create index "Document_merchantId_updatedAt_idx" on "Document" ("merchantId", "updatedAt");
