/** A schema for people: the words of its type, and a row for each of its members. */
import { html } from 'hono/html';
import { COMPONENTS } from './schemas.ts';
import type { Schema } from './schemas.ts';

export type Html = ReturnType<typeof html>;
export type Components = Readonly<Record<string, Schema>>;

/** Paragraphs, and what stands between backticks as code. */
export const prose = (text: string): Html[] =>
  text === '' ? [] : text.split('\n\n').map((paragraph) => html`<p>${inline(paragraph)}</p>`);

export const inline = (text: string): (Html | string)[] =>
  text.split('`').map((part, place) => (place % 2 === 1 ? html`<code>${part}</code>` : part));

const nameOf = ({ $ref }: Schema): string | undefined =>
  $ref?.startsWith(COMPONENTS) === true ? $ref.slice(COMPONENTS.length) : undefined;

export function resolved(schema: Schema, components: Components): Schema {
  const name = nameOf(schema);
  return name === undefined ? schema : (components[name] ?? {});
}

/** Every member is a schema here; JSON Schema would have `true` and `false`, too. */
const asSchema = (schema: unknown): Schema => (typeof schema === 'object' ? (schema as Schema) : {});

const variantsOf = ({ anyOf, oneOf }: Schema): Schema[] => (anyOf ?? oneOf ?? []).map(asSchema);

export function typeOf(schema: Schema): Html | string {
  const name = nameOf(schema);
  if (name !== undefined) return html`<a href="#shape-${name}">${name}</a>`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum !== undefined) {
    return html`${schema.enum.map((value, place) => html`${place > 0 ? ' or ' : ''}<code>${String(value)}</code>`)}`;
  }
  const variants = variantsOf(schema);
  if (variants.length > 0) return html`${variants.map((one, place) => html`${place > 0 ? ' or ' : ''}${typeOf(one)}`)}`;
  if (schema.type === 'array') return html`list of ${manyOf(asSchema(schema.items))}`;
  if (schema.format === 'date-time') return 'time';
  return String(schema.type ?? 'any JSON');
}

/** `strings`, where the type is one word. */
function manyOf(schema: Schema): Html | string {
  const type = typeOf(schema);
  return typeof type === 'string' && schema.type === type ? `${type}s` : type;
}

/** What bounds it, in a few words. */
function boundsOf(schema: Schema): string {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  return [
    between(minimum, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum),
    between(minLength, maxLength, 'characters'),
    between(minItems, maxItems, 'of them'),
    schema.default === undefined ? '' : `${JSON.stringify(schema.default)} if left out`,
  ]
    .filter((text) => text !== '')
    .join('; ');
}

function between(least: number | undefined, most: number | undefined, unit = ''): string {
  const isFrom = least !== undefined && least !== Number.MIN_SAFE_INTEGER;
  if (!isFrom && most === undefined) return '';
  const words = most === undefined ? `from ${least}` : isFrom ? `${least} to ${most}` : `at most ${most}`;
  return `${words} ${unit}`.trimEnd();
}

/** Nothing where the schema has no members. */
export function membersOf(schema: Schema, components: Components): Html | '' {
  const target = resolved(schema, components);
  const variants = variantsOf(target).filter(hasMembers);
  if (variants.length > 1) {
    return html`<div class="variants">${variants.map((one) => html`<div>${membersOf(one, components)}</div>`)}</div>`;
  }
  const [holder] = [target, ...variants].filter(({ properties }) => properties !== undefined);
  const entries = Object.entries(holder?.properties ?? {});
  if (entries.length === 0) return '';
  const required = new Set(holder?.required);
  return html`<ul class="members">
    ${entries.map(([name, member]) => row(name, asSchema(member), required.has(name), components))}
  </ul>`;
}

const hasMembers = ({ properties }: Schema): boolean => Object.keys(properties ?? {}).length > 0;

/** A member, a parameter or a header. */
export function row(name: string, schema: Schema, isRequired: boolean, components: Components): Html {
  const bounds = boundsOf(schema);
  // What has a name of its own is shown with it.
  const inner = schema.type === 'array' ? asSchema(schema.items) : schema;
  const members = nameOf(inner) === undefined ? membersOf(inner, components) : '';
  return html`<li>
    <div class="member">
      <code class="name">${name}</code> <span class="type">${typeOf(schema)}</span>
      ${isRequired ? html`<span class="required">required</span>` : html`<span class="optional">may be missing</span>`}
      ${bounds === '' ? '' : html`<span class="bounds">${bounds}</span>`}
    </div>
    ${schema.description === undefined ? '' : html`<p class="about">${inline(schema.description)}</p>`} ${members}
  </li>`;
}
