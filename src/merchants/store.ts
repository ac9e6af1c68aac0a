import type { Queries } from '../database/database.ts';

export interface Merchant {
  id: number;
  name: string;
  created_at: string;
}

export async function insertMerchant(queries: Queries, name: string, at: Date): Promise<Merchant> {
  const [row] = await queries.run<Merchant>(
    'insert into merchants (name, created_at) values ($1, $2) returning id, name, created_at',
    [name, at.toISOString()],
  );
  if (!row) throw new Error('an insert gives its row');
  return row;
}

export function listMerchants(queries: Queries): Promise<Merchant[]> {
  return queries.all('select id, name, created_at from merchants order by id');
}

export function findMerchant(queries: Queries, id: number): Promise<Merchant | undefined> {
  return queries.one('select id, name, created_at from merchants where id = $1', [id]);
}
