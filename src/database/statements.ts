/**
 * Splits a script into its statements, for both engines. A `;` ends a statement unless it is inside quotes, a comment,
 * a `$$` body or the `begin … end` of a trigger or function.
 */
export function splitStatements(script: string): string[] {
  const statements: string[] = [];
  let tokens: string[] = [];
  let words = '';
  let depth = 0;
  const finish = () => {
    if (words) statements.push(tokens.join('').trim());
    tokens = [];
    words = '';
    depth = 0;
  };
  for (const { kind, text } of tokensOf(script)) {
    if (text === ';' && depth === 0) {
      finish();
      continue;
    }
    tokens.push(text);
    if (kind !== 'word') continue;
    const word = text.toLowerCase();
    words += `${word} `;
    if (!HAS_BODY.test(words)) continue;
    if (word === 'begin' || word === 'case') depth += 1;
    if (word === 'end') depth -= 1;
  }
  finish();
  return statements;
}

/** The same for two statements that differ only in comments and white space. For comparing, not for running. */
export const canonicalText = (statement: string): string =>
  [...tokensOf(statement)]
    .filter(({ kind }) => kind !== 'comment' && kind !== 'space')
    .map(({ text }) => text)
    .join(' ');

const HAS_BODY = /^create (or replace )?(temp |temporary )?(trigger|function|procedure) /;

const TOKEN = new RegExp(
  [
    String.raw`(?<comment>--[^\n]*|/\*[\s\S]*?\*/)`,
    String.raw`(?<space>\s+)`,
    // In E'…' a backslash escapes the quote; $tag$ ends with the same tag.
    String.raw`(?<quoted>\b[eE]'(?:[^'\\]|\\.|'')*'|'[^']*'|"[^"]*"|\`[^\`]*\`|\$(?<tag>(?:[A-Za-z_]\w*)?)\$[\s\S]*?\$\k<tag>\$)`,
    String.raw`(?<word>[A-Za-z_][\w$]*)`,
    String.raw`[\s\S]`,
  ].join('|'),
  'g',
);

type Token = { kind: 'comment' | 'space' | 'quoted' | 'word' | 'other'; text: string };

function* tokensOf(sql: string): Generator<Token> {
  for (const { 0: text, groups = {} } of sql.matchAll(TOKEN)) {
    const kind = (['comment', 'space', 'quoted', 'word'] as const).find((name) => groups[name] !== undefined);
    yield { kind: kind ?? 'other', text };
  }
}
