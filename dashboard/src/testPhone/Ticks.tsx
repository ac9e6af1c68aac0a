import type { DeliveryState } from '../api/types.ts';

/** One tick: sent. Two: delivered. Two in the accent color: read. Other states have no ticks. */
export function Ticks({ state }: { state: DeliveryState }) {
  if (state !== 'sent' && state !== 'delivered' && state !== 'read') return null;
  return (
    <svg aria-hidden="true" className="ticks" data-state={state} width="18" height="12" viewBox="0 0 18 12">
      <path d="M1 6.5l3.2 3.2L10.5 2" />
      {state !== 'sent' && <path d="M8 9.2l.5.5L15.5 2" />}
    </svg>
  );
}
