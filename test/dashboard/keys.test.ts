import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keyNames } from '../../dashboard/src/shortcuts/keyNames.ts';

const names = (
  key: string,
  code: string,
  modifiers: { shift?: true; ctrl?: true; altGr?: true; alt?: true } = {},
) =>
  keyNames({
    key,
    code,
    shiftKey: modifiers.shift ?? false,
    ctrlKey: modifiers.ctrl ?? modifiers.altGr ?? false,
    metaKey: false,
    altKey: modifiers.alt ?? modifiers.altGr ?? false,
    getModifierState: (name) => name === 'AltGraph' && modifiers.altGr === true,
  });

describe('the names of keys', () => {
  it('are Latin letters and symbols as the keyboard has them', () => {
    assert.deepEqual(names('j', 'KeyJ'), ['j']);
    assert.deepEqual(names('J', 'KeyJ', { shift: true }), ['j']);
    // Dvorak, AZERTY and QWERTZ.
    assert.deepEqual(names('j', 'KeyC'), ['j']);
    assert.deepEqual(names('t', 'KeyK'), ['t']);
    assert.deepEqual(names('z', 'KeyW'), ['z']);
    assert.deepEqual(names('?', 'Minus', { shift: true }), ['?']);
    assert.deepEqual(names('Enter', 'Enter'), ['Enter']);
  });

  it('are their place on the keyboard where the letter is not Latin', () => {
    assert.deepEqual(names('о', 'KeyJ'), ['j']);
    assert.deepEqual(names('О', 'KeyJ', { shift: true }), ['j']);
    assert.deepEqual(names('ت', 'KeyJ'), ['j']);
    assert.deepEqual(names('л', 'KeyK', { ctrl: true }), ['mod+k']);
    assert.deepEqual(names('؟', 'Slash', { shift: true }), ['?']);
    assert.deepEqual(names('ظ', 'Slash'), ['/']);
    assert.deepEqual(names('№', 'Digit3', { shift: true }), ['#']);
    assert.deepEqual(names('١', 'Digit1'), ['1']);
  });

  it('are also digits where the keyboard writes them with Shift', () => {
    assert.deepEqual(names('&', 'Digit1'), ['&', '1']);
    assert.deepEqual(names('1', 'Digit1', { shift: true }), ['1']);
  });

  it('are symbols that need AltGr or the option key, and nothing else with Alt', () => {
    assert.deepEqual(names('#', 'Digit3', { altGr: true }), ['#']);
    assert.deepEqual(names('#', 'Digit3', { alt: true }), ['#']);
    assert.deepEqual(names('j', 'KeyJ', { alt: true }), []);
  });
});
