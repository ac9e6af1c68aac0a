/** Keeps below what WhatsApp allows, so that it need not refuse. Each process counts for itself. */

interface Bucket {
  /** Takes one and says 0, or says in how many milliseconds there will be one. */
  take(atMs: number): number;
  isFull(atMs: number): boolean;
}

export function createBucket(capacity: number, perSecond: number): Bucket {
  let held = capacity;
  let since: number | undefined;
  const refill = (atMs: number) => {
    const elapsed = Math.max(0, atMs - (since ?? atMs));
    held = Math.min(capacity, held + (elapsed * perSecond) / 1000);
    since = atMs;
  };
  return {
    take(atMs) {
      refill(atMs);
      // A hair of tolerance: the refills are sums of fractions.
      if (held < 1 - 1e-9) return Math.ceil(((1 - held) * 1000) / perSecond - 1e-6);
      held -= 1;
      return 0;
    },
    isFull(atMs) {
      refill(atMs);
      return held >= capacity;
    },
  };
}

export interface Pace {
  /** For one more message from this number. */
  number: Pick<Bucket, 'take'>;
  /** For one more message to this customer. */
  customer(phone: string): Pick<Bucket, 'take'>;
}

/** Together 80: in no second does a number send more than WhatsApp takes. */
const NUMBER = { burst: 5, perSecond: 75 };
const CUSTOMER = { burst: 45, perSecond: 1 / 6 };
const CUSTOMERS_KEPT = 10_000;

export function createPace(now: () => Date): Pace {
  const customers = new Map<string, Bucket>();
  return {
    number: createBucket(NUMBER.burst, NUMBER.perSecond),
    customer(phone) {
      const known = customers.get(phone);
      if (known) return known;
      if (customers.size >= CUSTOMERS_KEPT) forgetRested(customers, now().getTime());
      const bucket = createBucket(CUSTOMER.burst, CUSTOMER.perSecond);
      customers.set(phone, bucket);
      return bucket;
    },
  };
}

/** A full bucket is as good as none. */
function forgetRested(customers: Map<string, Bucket>, atMs: number): void {
  for (const [phone, bucket] of customers) if (bucket.isFull(atMs)) customers.delete(phone);
}
