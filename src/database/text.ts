import type { Engine } from './database.ts';

/** PostgreSQL stores neither NUL nor half a surrogate pair. With this, both engines store the same text. */
export const storableText = (text: string) => text.toWellFormed().replaceAll('\0', '\ufffd');

/** SQL: a text as JSON, or `null`. */
export const JSON_TEXT: Readonly<Record<Engine, (text: string) => string>> = {
  sqlite: (text) => `json_quote(${text})`,
  postgres: (text) => `coalesce(cast(to_json(${text}) as text), 'null')`,
};
