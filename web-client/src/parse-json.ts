/** Somebody else's text is not trusted to be JSON. */

/** Undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
