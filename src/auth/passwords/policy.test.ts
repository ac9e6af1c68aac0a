import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { passwordProblem } from './policy.ts';

const KNOWN = ['alma.reyes@tostadero.example', 'Alma Reyes', 'Café Tostadero'];

describe('the password policy', () => {
  for (const password of [
    'correct horse battery staple',
    'jR8#kd92kslq',
    'Wlazł kotek na płotek',
    '合言葉は山と川ですよね今日も',
  ]) {
    it(`accepts "${password}"`, async () => assert.equal(await passwordProblem(password, KNOWN), undefined));
  }

  const refused: [password: string, problem: RegExp][] = [
    ['xK9#pQ2!v', /^A password needs at least 10 characters\.$/],
    // Nine characters, of two code units each.
    ['😀'.repeat(9), /^A password needs at least 10 characters\.$/],
    ['q'.repeat(1025), /^A password may have at most 1024 characters\.$/],
    ['qwertyuiop', /^This password is too easy to guess: this is a frequently used password\./],
    ['password1234', /^This password is too easy to guess: this is similar to a commonly used password\./],
    ['P@ssw0rd1234', /^This password is too easy to guess: /],
    ['a'.repeat(40), /^This password is too easy to guess: repeated characters/],
    ['tostadero1', /^This password is too easy to guess: /],
    ['AlmaReyes2026', /^This password is too easy to guess: /],
    ['alma.reyes@tostadero.example', /^This password is too easy to guess: /],
    ['deskbell123', /^This password is too easy to guess: /],
  ];
  for (const [password, problem] of refused) {
    it(`refuses "${password.slice(0, 40)}"`, async () =>
      assert.match((await passwordProblem(password, KNOWN)) ?? 'accepted', problem));
  }

  it('takes names into account', async () => {
    assert.equal(await passwordProblem('tostadero-umbrella-9', []), undefined);
    assert.match((await passwordProblem('tostaderoreyes', KNOWN)) ?? 'accepted', /too easy/);
    assert.equal(await passwordProblem('tostaderoreyes', []), undefined);
  });
});
