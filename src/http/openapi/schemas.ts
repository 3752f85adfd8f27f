/** Shapes as JSON Schema: those with a name once, among the components, and a reference wherever they are used. */
import { z } from 'zod';

export type Schema = z.core.JSONSchema.BaseSchema;

export interface Schemas {
  /** By name. */
  readonly components: Readonly<Record<string, Schema>>;
  /** Of what a request or an answer holds on the wire. */
  of(shape: z.ZodType): Schema;
}

export const COMPONENTS = '#/components/schemas/';

export function createSchemas(): Schemas {
  const components: Record<string, Schema> = {};
  const known = new Map<z.ZodType, Schema>();
  return {
    components,
    of(shape) {
      const before = known.get(shape);
      if (before !== undefined) return before;
      // What goes in: defaults may be left out. A shape that only code can check says in its `meta` what it is.
      const made = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' });
      const { $schema: _, $defs = {}, ...schema } = relocated(made);
      for (const [name, definition] of Object.entries($defs)) components[name] = definition;
      known.set(shape, schema);
      return schema;
    },
  };
}

const relocated = (schema: Schema): Schema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', `"$ref":"${COMPONENTS}`)) as Schema;
