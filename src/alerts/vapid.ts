import type { Database } from '../database/database.ts';
import type { Sealed, Vault } from '../secrets.ts';

/** The key pair with which push services recognise this server: the only SQL on vapid_keys. */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

interface Row {
  public_key: string;
  sealed_private_key: string;
}

const PURPOSE = 'vapid private key';

export const SEALED_VAPID_KEYS: Sealed = {
  table: 'vapid_keys',
  about: 'key for push services',
  key: { id: 0 },
  column: 'sealed_private_key',
  purposeOf: () => PURPOSE,
};

/** Made when it is first needed. If several processes need it at the same time, the first one makes it. */
export function createVapidKeys(database: Database, vault: Vault, now: () => Date): () => Promise<VapidKeys> {
  let keys: VapidKeys | undefined;
  const find = () => database.one<Row>('select public_key, sealed_private_key from vapid_keys where id = 1');

  return async () => {
    if (keys) return keys;
    let row = await find();
    if (!row) {
      const { default: webPush } = await import('web-push');
      const made = webPush.generateVAPIDKeys();
      await database.run(
        `insert into vapid_keys (id, public_key, sealed_private_key, created_at) values (1, $1, $2, $3)
          on conflict (id) do nothing`,
        [made.publicKey, vault.seal(made.privateKey, PURPOSE), now().toISOString()],
      );
      row = (await find())!;
    }
    keys = { publicKey: row.public_key, privateKey: vault.open(row.sealed_private_key, PURPOSE) };
    return keys;
  };
}
