import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addressGroup, shortAddress } from './address.ts';

it('counts an IPv4 address alone and an IPv6 network of 64 bits as one caller', () => {
  assert.equal(addressGroup('192.0.2.77'), '192.0.2.77');
  assert.equal(addressGroup('::ffff:192.0.2.77'), '192.0.2.77');
  assert.equal(addressGroup('2001:db8:1:2:aaaa::1'), '2001:db8:1:2::/64');
  assert.equal(addressGroup('2001:db8:1:2:ffff:ffff:ffff:ffff'), addressGroup('2001:db8:1:2::'));
  assert.notEqual(addressGroup('2001:db8:1:3::1'), addressGroup('2001:db8:1:2::1'));
  assert.equal(addressGroup('fe80::1%eth0'), 'fe80::/64');
  assert.equal(addressGroup('192.0.2.77:40000'), '192.0.2.77');
  assert.equal(addressGroup('[2001:db8:1:2::1]:40000'), '2001:db8:1:2::/64');
});

it('shortens an address for people', () => {
  assert.equal(shortAddress('192.0.2.77'), '192.0.2.0/24');
  assert.equal(shortAddress('::ffff:192.0.2.77'), '192.0.2.0/24');
  assert.equal(shortAddress('2001:db8:1:2:aaaa::1'), '2001:db8:1::/48');
  assert.equal(shortAddress('unknown'), 'unknown');
});
