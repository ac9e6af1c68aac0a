import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CHANNEL_NAMES, channelTypeOf, DESCRIPTORS } from './descriptors.ts';

describe('the channels', () => {
  it('are found by the first part of an id', () => {
    for (const [id, name] of [
      ['simulator', 'simulator'],
      ['webhook:0123456789abcdef', 'webhook'],
      ['whatsapp:106540352242922', 'whatsapp'],
      ['pigeon:1', undefined],
      ['', undefined],
    ] as const) {
      assert.equal(channelTypeOf(id)?.name, name);
    }
  });

  it('have their own names and environment variables', () => {
    const variables = DESCRIPTORS.flatMap(({ fields }) => fields.map(({ variable }) => variable));
    for (const names of [CHANNEL_NAMES, variables]) assert.equal(new Set(names).size, names.length);
    for (const name of CHANNEL_NAMES) assert.match(name, /^[a-z][a-z\d]*$/);
  });

  it('agree about an option that several of them have', () => {
    const fields = DESCRIPTORS.flatMap(({ fields: own }) => own);
    const shapeOf = (field: (typeof fields)[number]) =>
      field.kind === 'flag' ? 'flag' : field.secret ? 'secret' : 'text';
    for (const [option, uses] of Map.groupBy(fields, ({ option: name }) => name)) {
      assert.equal(new Set(uses.map(shapeOf)).size, 1, option);
      assert.notEqual(option, 'merchant');
    }
  });

  it('have defaults that pass their own check', () => {
    for (const field of DESCRIPTORS.flatMap(({ fields }) => fields)) {
      if (field.kind === 'text' && field.default !== undefined) assert.ok(field.isValid(field.default));
    }
  });
});
