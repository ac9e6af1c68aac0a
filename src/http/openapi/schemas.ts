import { isObject } from '../input.ts';
import type { ApiDocument } from './responses.ts';

type Json = { [key: string]: unknown };

const HEADERS = '#/components/headers/';
/** Their values are data, not schemas. */
const DATA_KEYS = new Set(['const', 'default', 'enum', 'example', 'examples', 'info']);

/**
 * Names the schemas of the API document: a schema with a `title` becomes an entry of `components.schemas`, and every
 * place that has it refers to it. Only the document changes: the server validates and serializes with inline schemas.
 */
export function nameSchemas(document: object): ApiDocument {
  const named: Record<string, Json> = {};

  /** In `properties` the keys are names of fields, which may be equal to keywords. */
  const visit = (value: unknown, keysAreNames = false): unknown => {
    if (Array.isArray(value)) return value.map((one) => visit(one));
    if (!isObject(value)) return value;
    const visited: Json = {};
    for (const [key, child] of Object.entries(value)) {
      const isData = !keysAreNames && DATA_KEYS.has(key);
      visited[key] = isData ? child : visit(child, !keysAreNames && key === 'properties');
    }
    return keysAreNames ? visited : refer(visited);
  };

  const refer = ({ title, ...rest }: Json): Json => {
    if (typeof title !== 'string') return referredHeader(rest) ?? { ...rest };
    // A body's examples are next to its schema, and so is the description of a parameter.
    const { examples: _, description, ...schema } = withDiscriminator(rest, named);
    const { description: knownDescription = description, ...known } = named[title] ?? schema;
    if (JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`Two different schemas have the title ${title}.`);
    named[title] = { description: knownDescription, ...schema };
    return { $ref: reference(title) };
  };

  const visited = visit(document) as ApiDocument;
  const schemas = { ...visited.components.schemas, ...named };
  const byName = Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1));
  return { ...visited, components: { ...visited.components, schemas: Object.fromEntries(byName) } };
}

const reference = (title: string) => `#/components/schemas/${title}`;

/** @fastify/swagger takes the reference to a header for the schema of one. */
function referredHeader({ schema }: Json): Json | undefined {
  const isHeader = isObject(schema) && typeof schema.$ref === 'string' && schema.$ref.startsWith(HEADERS);
  return isHeader ? schema : undefined;
}

/** A union of named objects that have different constants in a field: the field decides which of them it is. */
function withDiscriminator(schema: Json, named: Readonly<Record<string, Json>>): Json {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf)) return schema;
  const members = Object.entries(named).filter(([title]) =>
    anyOf.some((one: Json) => one.$ref === reference(title)),
  );
  const fieldsOf = (member: Json) => (member.properties ?? {}) as Record<string, Json>;
  const field = Object.keys(fieldsOf(members[0]?.[1] ?? {})).find((name) => {
    const constants = members.map(([, member]) => fieldsOf(member)[name]?.const);
    return !constants.includes(undefined) && new Set(constants).size === anyOf.length;
  });
  if (field === undefined) return schema;
  const mapping = members.map(([title, member]) => [fieldsOf(member)[field]!.const, reference(title)]);
  return {
    ...rest,
    oneOf: anyOf,
    discriminator: { propertyName: field, mapping: Object.fromEntries(mapping) },
  };
}
