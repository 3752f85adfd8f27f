/** A text as a column of Postgres takes it, for what people only read: without NUL, which no text there can hold (pure). */
export const storable = (text: string): string => text.replaceAll('\u0000', '\ufffd');
