import { addUser, type Deskbell } from './server.ts';

export interface Colleague {
  id: number;
  name: string;
  email: string;
  password: string;
  token: string;
}

/** Somebody else who works for the demo's coffee shop. */
export async function addColleague(
  deskbell: Deskbell,
  name: string,
  role: 'owner' | 'user' = 'user',
): Promise<Colleague> {
  const user = await addUser(deskbell);
  await deskbell.database.run('update users set name = $2, role = $3 where id = $1', [user.id, name, role]);
  return { ...user, name, token: await deskbell.signIn(user.email, user.password) };
}

export const disable = ({ database }: Deskbell, { id }: Pick<Colleague, 'id'>) =>
  database.run(`update users set disabled_at = '2026-01-15T09:30:00.000Z' where id = $1`, [id]);
