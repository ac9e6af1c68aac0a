import type { Scope } from '../../src/contract/machineKeys.ts';
import { AURORA, type Deskbell } from './server.ts';

/** A new key of the demo's coffee shop, or of another owner's merchant. */
export async function createKey(
  deskbell: Pick<Deskbell, 'call' | 'signIn'>,
  scopes?: readonly Scope[],
  owner = AURORA,
): Promise<string> {
  const token = await deskbell.signIn(owner.email, owner.password);
  const body = { name: 'Test key', ...(scopes ? { scopes } : {}) };
  const { status, json } = await deskbell.call('POST', '/api/v1/keys', { token, body });
  if (status !== 200) throw new Error(`cannot create a key: ${status} ${json.detail}`);
  return json.key;
}
