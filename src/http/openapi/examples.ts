/** What the description shows of a request and its answer: the examples of their shapes, and a command that sends one (pure). */
import type { Contents, PathOperation } from './openapi.ts';
import { resolved } from './page-schema.ts';
import type { Components } from './page-schema.ts';

/** What stands in paths. */
const places: Readonly<Record<string, string>> = { session: 'run-42', turn: '0b6c', producer: 'agent-7', index: '1' };

export function exampleOf(contents: Contents | undefined, components: Components): string | undefined {
  const [content] = Object.values(contents ?? {});
  const [example] = content === undefined ? [] : (resolved(content.schema, components).examples ?? []);
  if (example === undefined) return undefined;
  return typeof example === 'string' ? example.trim() : JSON.stringify(example, null, 2);
}

/** For a shell with the address in `$URL`, and the credential in `$TOKEN` or `$KEY`. */
export function commandOf(
  method: string,
  path: string,
  { security, requestBody, responses }: PathOperation,
  components: Components,
): string {
  const [schemes = {}] = security;
  const credential = 'key' in schemes ? '$KEY' : '$TOKEN';
  const [type = ''] = Object.keys(requestBody?.content ?? {});
  const [shape] = Object.values(requestBody?.content ?? {});
  const [body] = shape === undefined ? [] : (resolved(shape.schema, components).examples ?? []);
  const isStream = responses['200']?.content?.['text/event-stream'] !== undefined;
  const target = path.replaceAll(/\{([a-z]+)\}/g, (_, name: string) => places[name] ?? name);
  const lines = [
    `curl${isStream ? ' -N' : ''}${method === 'get' || body !== undefined ? '' : ` -X ${method.toUpperCase()}`}`,
    ...(security.length === 0 ? [] : [`-H "Authorization: Bearer ${credential}"`]),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: ${type}'`, `-d '${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}'`]),
    `"$URL${target}"`,
  ];
  return lines.join(' \\\n  ');
}
