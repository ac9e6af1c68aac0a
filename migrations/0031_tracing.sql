-- The trace of the request that wrote a message, as W3C Trace Context writes it, so that the worker's spans join it.
-- Null without tracing.
alter table deliveries add column traceparent text;
