/** The command line needs only these, not the schemas. */
export const DELIVERY_STATES = [
  'queued',
  'sending',
  'waiting',
  'sent',
  'delivered',
  'read',
  'failed',
  'cancelled',
] as const;
