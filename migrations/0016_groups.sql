-- Groups of questions that mean the same are computed when somebody looks. Stored is only what the merchant decided: a
-- notification that is answered by itself.
create table ungrouped_notifications (
  merchant_id bigint not null,
  notification_id bigint not null,
  -- Who decided it. No foreign keys: the decision stays when they are gone.
  user_id bigint,
  key_id bigint,
  created_at text not null,
  primary key (merchant_id, notification_id),
  foreign key (merchant_id, notification_id) references notifications (merchant_id, id) on delete cascade
);
