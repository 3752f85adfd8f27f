/**
 * A text as a column of Postgres takes it, for what people only read (pure): without NUL, which no text there can hold, and
 * without half characters, which would come back as something else.
 */
export const storable = (text: string): string => text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');
