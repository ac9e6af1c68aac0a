import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readPostgresAddress } from './address.ts';

it('reads the hosts of an address as libpq does', () => {
  const cases: Record<string, [string, number, string][]> = {
    'postgres://u:a,b%40@one:5001,two/db?sslmode=require': [
      ['one', 5001, 'postgres://u:a,b%40@one:5001/db?sslmode=require&uselibpqcompat=true'],
      ['two', 5432, 'postgres://u:a,b%40@two:5432/db?sslmode=require&uselibpqcompat=true'],
    ],
    'postgresql://[::1]:5433,[2001:db8::2]/db': [
      ['::1', 5433, 'postgresql://[::1]:5433/db'],
      ['2001:db8::2', 5432, 'postgresql://[2001:db8::2]:5432/db'],
    ],
    'postgres://%2Frun%2Fpostgresql,127.0.0.1?user=u': [
      ['/run/postgresql', 5432, 'postgres://%2Frun%2Fpostgresql:5432?user=u'],
      ['127.0.0.1', 5432, 'postgres://127.0.0.1:5432?user=u'],
    ],
  };
  for (const [url, hosts] of Object.entries(cases)) {
    const read = readPostgresAddress(url).hosts.map(({ host, port, url }) => [host, port, url]);
    assert.deepEqual(read, hosts);
  }
});

it('looks for the server that accepts writes, unless the address says any', () => {
  const target = (query: string) => readPostgresAddress(`postgres://one,two/db${query}`).target;
  assert.equal(target(''), 'read-write');
  assert.equal(target('?target_session_attrs=read-write'), 'read-write');
  assert.equal(target('?sslmode=require&target_session_attrs=any'), 'any');
});
