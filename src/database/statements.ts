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
  for (const token of tokensOf(script)) {
    if (token === ';' && depth === 0) {
      finish();
      continue;
    }
    tokens.push(token);
    if (!isWord(token)) continue;
    const word = token.toLowerCase();
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
  tokensOf(statement)
    .filter((token) => !isComment(token) && !isSpace(token))
    .join(' ');

const HAS_BODY = /^create (or replace )?(temp |temporary )?(trigger|function|procedure) /;

const TOKEN = new RegExp(
  [
    // A comment.
    String.raw`--[^\n]*|/\*[\s\S]*?\*/`,
    String.raw`\s+`,
    // In E'…' a backslash escapes the quote; $tag$ ends with the same tag.
    String.raw`\b[eE]'(?:[^'\\]|\\.|'')*'|'[^']*'|"[^"]*"|\`[^\`]*\`|\$(?<tag>(?:[A-Za-z_]\w*)?)\$[\s\S]*?\$\k<tag>\$`,
    // A word.
    String.raw`[A-Za-z_][\w$]*`,
    String.raw`[\s\S]`,
  ].join('|'),
  'g',
);

const tokensOf = (sql: string): string[] => sql.match(TOKEN) ?? [];
const isComment = (token: string) => token.startsWith('--') || token.startsWith('/*');
const isSpace = (token: string) => /^\s/.test(token);
const isWord = (token: string) => /^[A-Za-z_][\w$]*$/.test(token);
