import { betterAuth } from 'better-auth';
import pg from 'pg';

const { DATABASE_URL, POOL_SIZE, PORT, BETTER_AUTH_SECRET } = process.env;

export const auth = betterAuth({
  baseURL: `http://127.0.0.1:${PORT ?? 0}`,
  secret: BETTER_AUTH_SECRET,
  database: new pg.Pool({ connectionString: DATABASE_URL, max: Number(POOL_SIZE) }),
  emailAndPassword: { enabled: true },
  // No rate limit, as everywhere in this benchmark.
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
});
