/** The text of a message that was not stored yet: a text, or the texts among its parts (pure). */

export function toContentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (Object(part) as { readonly text?: unknown }).text)
    .filter((text) => typeof text === 'string')
    .join('\n');
}
