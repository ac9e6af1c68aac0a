import { isDeepStrictEqual } from 'node:util';
import { type TObject, type TSchema, Type } from 'typebox';

/** The API's schemas, in the form that a model reads. */

/** A required field. The copy does not have the mark of an optional one. */
export const field = (schema: TSchema, changes: TSchema): TSchema => ({ ...schema, ...changes });

export const optionalField = (schema: TSchema, changes: TSchema) => Type.Optional(field(schema, changes));

export const withoutExamples = <T extends TSchema>(schema: T): T => ({ ...schema, examples: undefined });

/** One object instead of a union: clients of 2025 require an object, and the reply to `ask` is 3 kB instead of 11 kB. */
export function oneObject(union: { anyOf: readonly TSchema[] }, meaning: string): TSchema {
  const statuses: string[] = [];
  const fields = new Map<string, TSchema[]>();
  for (const { status, ...others } of union.anyOf.map((one) => (one as TObject).properties)) {
    statuses.push((status as unknown as { const: string }).const);
    for (const [name, schema] of Object.entries(others)) {
      const known = fields.get(name) ?? [];
      if (!known.some((one) => isDeepStrictEqual(one, schema))) known.push(schema);
      fields.set(name, known);
    }
  }
  const optional = [...fields].map(([name, [first, ...more]]) => [
    name,
    Type.Optional(more.length === 0 ? first! : Type.Union([first!, ...more])),
  ]);
  return Type.Object({
    status: Type.Enum(statuses, { type: 'string', description: meaning }),
    ...Object.fromEntries(optional),
  });
}
