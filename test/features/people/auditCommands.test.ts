import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { COMMANDS } from '../../../src/cli/program.ts';
import type { AuditEvent } from '../../../src/contract/audit.ts';
import { run, settingsOf } from '../../support/command.ts';
import { onEachEngine, raise, useDeskbell } from '../../support/server.ts';

type Event = AuditEvent & { merchant_id: number | null };

/** Commands that change nothing, or only start the server's own work. */
const READING = [
  ...['merchant list', 'user list', 'conversation list', 'knowledge export', 'channel show', 'channel test'],
  ...['delivery list', 'mcp', 'delivery show', 'audit list', 'key list', 'keys list', 'keys status'],
  ...['db status', 'serve', 'work', 'doctor', 'openapi', 'secret'],
];

onEachEngine('the audit log of the command line', (engine) => {
  // No worker: its messages stay where they are.
  const deskbell = useDeskbell(engine, { WORKER: 'false' });
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-audit-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const command = (args: readonly string[], input = '') => run(args, { env: settingsOf(deskbell), input });
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const to = (merchant: number) => ['--merchant', String(merchant)];
  const password = 'correct horse battery staple 7';

  it('every changing command leaves one event with the name of the system’s user', async () => {
    const token = await deskbell.signIn();
    await raise(deskbell, token);
    await deskbell.call('POST', '/api/v1/notification/10/answer', { token, body: { answer: 'Yes.' } });
    const [delivery] = (await deskbell.call('GET', '/api/v1/delivery/', { token })).json;
    const id = String(delivery.id);
    await deskbell.database.run(
      `insert into channel_stops (channel_id, kind, code, stopped_at, until, probes)
        values ('webhook:1', 'refused', '-', '2026', '9999', 0)`,
    );
    const csv = file('customers.csv', 'reference,name,phone\na-1,Lucía,+34611550101\n');
    const faq = file('faq.md', '# When?\n\nAlways.\n');
    const email = 'new@shop.example';
    const [owner, about] = [{ user_id: 4, role: 'owner' }, { conversation_id: 6 }];
    const phone = '+34611550101';
    type Case = [args: string[], what: string, merchant: number | null, about: object, input?: string];
    const commands: Case[] = [
      [['merchant', 'add', 'Shop'], 'merchant.added', 3, {}],
      [['merchant', 'set', '3', '--country', 'ES'], 'merchant.changed', 3, {}],
      [['user', 'add', '--email', email, '--name', 'New', ...to(3)], 'user.added', 3, owner, password],
      [['user', 'password', email], 'user.password_changed', 3, { user_id: 4 }, `${password} again`],
      [['user', 'role', email, 'user'], 'user.role_changed', 3, { user_id: 4, role: 'user' }],
      [['user', 'export', email, join(folder, 'u')], 'user.exported', 3, { user_id: 4 }],
      [['merchant', 'export', '3', join(folder, 'm')], 'merchant.exported', 3, {}],
      [['user', 'disable', email], 'user.disabled', 3, { user_id: 4 }],
      [['user', 'enable', email], 'user.enabled', 3, { user_id: 4 }],
      [['conversation', 'add', '--phone', phone, '--name', 'A', ...to(3)], 'conversation.added', 3, about],
      [['conversation', 'export', '6', join(folder, 'c'), ...to(3)], 'conversation.exported', 3, about],
      [['conversation', 'import', csv, ...to(3)], 'conversations.imported', 3, {}],
      [['knowledge', 'import', faq, ...to(3)], 'documents.imported', 3, {}],
      [['channel', 'set', 'simulator', ...to(3)], 'channel.changed', 3, { channel: 'simulator' }],
      [['channel', 'unset', ...to(3)], 'channel.removed', 3, {}],
      [['channel', 'limit', '10', ...to(3)], 'channel.limit_changed', 3, { limit: 10 }],
      [['channel', 'resume'], 'channel.resumed', null, { channel_id: 'webhook:1' }],
      [['delivery', 'cancel', id, ...to(1)], 'delivery.cancelled', 1, { delivery_id: delivery.id }],
      [['delivery', 'retry', id, ...to(1)], 'delivery.retried', 1, { delivery_id: delivery.id }],
      [['delivery', 'hold'], 'sending.held', null, {}],
      [['delivery', 'release'], 'sending.released', null, {}],
      [['key', 'add', 'Bot', ...to(3)], 'machine_key.added', 3, {}],
      [['key', 'revoke', '1', ...to(3)], 'machine_key.revoked', 3, {}],
      [['backup', join(folder, 'b'), '--json'], 'database.backed_up', null, {}],
      [['keys', 'rotate'], 'key.rotated', null, { keys_removed: 0 }],
    ];
    for (const [args, , , , input] of commands) {
      const { code, stderr } = await command(args, input);
      assert.deepEqual([code, stderr], [0, ''], args.join(' '));
    }
    const listed: Event[] = (await command(['audit', 'list', '--json'])).json;
    const events = listed.filter(({ who }) => who.kind === 'command_line');
    assert.deepEqual(
      events
        .map(({ what, merchant_id, about: { key_id: _, ...about } }) => [what, merchant_id, about])
        .sort(),
      commands.map(([, what, merchant, about]) => [what, merchant, about]).sort(),
    );
    for (const { who } of events)
      assert.deepEqual(who, { kind: 'command_line', user_id: null, name: userInfo().username });

    // The merchant's owner sees that the operator did it, and no name.
    const [retried] = (await deskbell.call('GET', '/api/v1/audit?what=delivery.retried', { token })).json;
    assert.deepEqual(retried.who, { kind: 'operator', user_id: null, name: null });

    // Not run here: the database has the demo and is migrated, the user has no second factor, and other tests delete,
    // restore, move and distribute.
    const once = ['demo', 'db migrate', 'db distribute', 'user reset-factors', 'restore', 'move'];
    once.push('merchant delete', 'user delete', 'conversation delete');
    const changing = commands.map(([[group, name]]) => (group === 'backup' ? group : `${group} ${name}`));
    assert.deepEqual([...changing, ...READING, ...once].sort(), (await commandNames()).sort());
  });
});

/** All commands, as they are called. */
async function commandNames(): Promise<string[]> {
  const names = await Promise.all(
    Object.entries(COMMANDS).map(async ([name, { load }]) => {
      const file = await load();
      return 'commands' in file ? Object.keys(file.commands).map((own) => `${name} ${own}`) : [name];
    }),
  );
  return names.flat();
}
