-- What is done is listed by the time when it was done, not by the time of the question.

drop index notifications_replied;
drop index notifications_resolved;
create index notifications_replied on notifications (merchant_id, updated_at, id) where outcome = 'answered';
create index notifications_resolved on notifications (merchant_id, updated_at, id) where outcome = 'resolved';
create index notifications_assigned_done on notifications (merchant_id, assigned_to, outcome, updated_at, id)
  where assigned_to is not null and outcome is not null;
