import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { passwordProblem } from './policy.ts';

const EASY = /^This password is too easy to guess\. Use a few uncommon words\.$/;
const NAMES = /^This password is too easy to guess: it is made of your name, /;
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
    ['qwertyuiop', EASY],
    ['qwerty-qwerty', EASY],
    ['password1234', EASY],
    ['P@ssw0rd1234', EASY],
    ['a'.repeat(40), EASY],
    ['contraseña2026', NAMES],
    ['tostadero1', NAMES],
    ['café-tostadero', NAMES],
    ['Tostadero.Café_1', NAMES],
    ['AlmaReyes2026', NAMES],
    ['alma-reyes-1', NAMES],
    ['alma.reyes@tostadero.example', NAMES],
    ['deskbell123', NAMES],
    ['deskbell-deskbell', NAMES],
  ];
  for (const [password, problem] of refused) {
    it(`refuses "${password.slice(0, 40)}"`, async () =>
      assert.match((await passwordProblem(password, KNOWN)) ?? 'accepted', problem));
  }

  it('takes names into account', async () => {
    assert.equal(await passwordProblem('tostadero-umbrella-9', []), undefined);
    assert.match((await passwordProblem('tostaderoreyes', KNOWN)) ?? 'accepted', NAMES);
    assert.equal(await passwordProblem('tostadero-umbrella-9', KNOWN), undefined);
    assert.equal(await passwordProblem('tostaderoreyes', []), undefined);
  });
});
