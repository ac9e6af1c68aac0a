import type { Person } from './people.ts';

const OFFERED_MAX = 5;

const folded = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/** The @name that is being written at the cursor. */
export function mentionAt(text: string, cursor: number): { at: number; name: string } | undefined {
  const match = /(?<![\p{L}\p{N}._-])@([\p{L}\p{N}]*)$/u.exec(text.slice(Math.max(0, cursor - 60), cursor));
  return match ? { at: cursor - match[0].length, name: match[1]! } : undefined;
}

export const peopleFor = (name: string, people: readonly Person[]): readonly Person[] =>
  people
    .filter((person) =>
      folded(person.name)
        .split(' ')
        .some((word) => word.startsWith(folded(name))),
    )
    .slice(0, OFFERED_MAX);
