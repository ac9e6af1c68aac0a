import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chainSql, groupSql, type Step } from './chain.ts';

const delivery: Step = {
  name: 'delivery',
  sql: 'insert into a values ($1, $2) returning id',
  params: [1, 2],
};
const event: Step = {
  name: 'event',
  after: 'delivery',
  sql: 'insert into delivery_events select $1, id from delivery',
  params: [3],
};

describe('a chain as one statement', () => {
  it('numbers the parameters of all steps', () => {
    assert.equal(
      chainSql([delivery, event]),
      'with delivery as (insert into a values ($1, $2) returning id), ' +
        'event as (insert into delivery_events select $3, id from delivery as delivery) select * from delivery',
    );
  });

  it('refuses a step that does not read from the step it builds on, whatever other names contain', () => {
    for (const sql of [
      'insert into delivery_events values ($1)',
      'insert into a select $1 from delivery_events',
      'insert into delivery select $1',
    ]) {
      assert.throws(
        () => chainSql([delivery, { ...event, sql }]),
        /^Error: event does not read from delivery$/,
      );
    }
  });

  it('keeps the chains of a group separate', () => {
    const sql = groupSql([delivery, event], 2, 100);
    for (const part of [
      'delivery_0 as (insert into a values ($1, $2) returning id)',
      'event_0 as (insert into delivery_events select $3, id from delivery_0 as delivery)',
      'delivery_1 as (insert into a values ($4, $5) returning id)',
      'event_1 as (insert into delivery_events select $6, id from delivery_1 as delivery)',
    ]) {
      assert.ok(sql.includes(part), `${part} in ${sql}`);
    }
  });
});
