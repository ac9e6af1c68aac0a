import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  itemsIn,
  listOf,
  withFirstPage,
  withItems,
  withNextPage,
} from '../../dashboard/src/inbox/list/loaded.ts';
import type { View } from '../../dashboard/src/inbox/shownView.ts';
import type { InboxItem } from '../../src/contract/inbox.ts';

const answered = (id: number, second: number): InboxItem =>
  ({
    id,
    outcome: 'answered',
    status: 'answered',
    updated_at: `2026-01-15T09:30:0${second}.000Z`,
    attention: null,
  }) as InboxItem;
const page = (items: InboxItem[], next_cursor: string | null) => ({
  items,
  next_cursor,
  complete: true,
  messages: [],
});

const viewOf = (more: Partial<View>): View => ({
  tab: 'answered',
  type: '',
  assigned: '',
  search: '',
  sort: 'newest',
  ...more,
});

describe('the list of what was answered', () => {
  const view = viewOf({});
  const context = { view, userId: 1 };
  const idsIn = (list: Parameters<typeof itemsIn>[0]) => itemsIn(list).map(({ id }) => id);
  const twoPages = () =>
    withNextPage(
      listOf(page([answered(5, 8), answered(9, 7)], 'more')),
      page([answered(2, 6), answered(7, 5)], null),
    );

  it('has an old question on top when it has just been answered', () => {
    assert.deepEqual(idsIn(withItems(twoPages(), [1], [answered(1, 9)], context)), [1, 5, 9, 2, 7]);
  });

  it('moves a question that was answered again, and keeps it once', () => {
    assert.deepEqual(idsIn(withItems(twoPages(), [7], [answered(7, 9)], context)), [7, 5, 9, 2]);
    const first = page([answered(7, 9), answered(5, 8)], 'more');
    assert.deepEqual(idsIn(withFirstPage(twoPages(), first, view)), [7, 5, 9, 2]);
  });

  it('is in the opposite order with the oldest first', () => {
    const oldest = { view: viewOf({ sort: 'oldest' }), userId: 1 };
    const list = listOf(page([answered(7, 5), answered(2, 6)], null));
    assert.deepEqual(idsIn(withItems(list, [1], [answered(1, 9)], oldest)), [7, 2, 1]);
  });

  it('keeps the order of the questions in a search', () => {
    const search = { view: viewOf({ search: 'tea' }), userId: 1 };
    const list = listOf(page([answered(9, 5), answered(2, 8)], null));
    assert.deepEqual(idsIn(withItems(list, [2], [answered(2, 9)], search)), [9, 2]);
  });
});
