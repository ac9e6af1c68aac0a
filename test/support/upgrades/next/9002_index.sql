-- @expand 0.2.0
-- @concurrently
create index notifications_next on notifications (merchant_id, next_visits, id);
