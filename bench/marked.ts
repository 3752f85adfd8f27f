/** Parts of a document that a command writes, each between two marks of its own; the rest is a person's. */

/** With `content` where the marks of `name` are; at the end, with marks, when there are none. */
export function withPart(document: string, name: string, content: string): string {
  const part = `<!-- ${name} -->\n${content}\n<!-- /${name} -->`;
  const marked = new RegExp(`<!-- ${name} -->[^]*<!-- /${name} -->`);
  // A function, since a replacement text has its own meaning for `$`.
  return marked.test(document) ? document.replace(marked, () => part) : `${document.trimEnd()}\n\n${part}\n`;
}

/** Undefined when the document has no such marks. */
export const partOf = (document: string, name: string): string | undefined =>
  new RegExp(`<!-- ${name} -->\n([^]*)\n<!-- /${name} -->`).exec(document)?.[1];
