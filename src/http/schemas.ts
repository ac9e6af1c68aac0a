import Fastify, { type FastifyInstance, type FastifySchema } from 'fastify';

/** Input is checked and not changed. */
const AJV_OPTIONS = { coerceTypes: false, removeAdditional: false, useDefaults: false } as const;

interface Route {
  schema: unknown;
  method: string;
  url: string;
}
type Serialize = (data: unknown) => string;
interface Validate {
  (data: unknown): unknown;
  errors?: unknown;
}
interface Compilers {
  serializer: (route: Route) => Serialize;
  validator: (route: Route) => Validate;
}

let compilers: Promise<Compilers> | undefined;

/**
 * Compiles each schema when it is used for the first time. There are a hundred, and compiling all of them took half of
 * the time that a server needs to start.
 */
export async function compileSchemasWhenUsed(app: FastifyInstance): Promise<void> {
  compilers ??= fastifyCompilers();
  const { serializer, validator } = await compilers;
  app.setSerializerCompiler<unknown>((route) => {
    let serialize: Serialize | undefined;
    return (data) => {
      serialize ??= serializer(route);
      return serialize(data);
    };
  });
  app.setValidatorCompiler<unknown>((route) => {
    let compiled: Validate | undefined;
    const validate: Validate = (data) => {
      compiled ??= validator(route);
      const isValid = compiled(data);
      validate.errors = compiled.errors;
      return isValid;
    };
    return validate as never;
  });
}

/** The schemas only document the input. Each route checks it in the order that the contract requires. */
export function checkNothing(app: FastifyInstance): void {
  app.setValidatorCompiler(() => () => true);
}

/** Only bodies are checked by their schemas: a text in the address that is not an id is not found. */
export function checkBodiesOnly(app: FastifyInstance): void {
  const { validatorCompiler } = app;
  app.setValidatorCompiler((route) => (route.httpPart === 'body' ? validatorCompiler!(route) : () => true));
}

/** Fastify's own. An app has them only after it compiled schemas, so this one has some. */
async function fastifyCompilers(): Promise<Compilers> {
  const app = Fastify({ ajv: { customOptions: AJV_OPTIONS } });
  const schema: FastifySchema = { querystring: {}, response: { 200: {} } };
  app.get('/', { schema }, async () => {});
  await app.ready();
  const { serializerCompiler, validatorCompiler } = app;
  return { serializer: serializerCompiler, validator: validatorCompiler } as unknown as Compilers;
}
