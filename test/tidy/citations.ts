/** What comments cite exists, and what is promised is cited where it is kept and where it is proved. */
import { type Source, commentsOf } from './sources.ts';

const INVARIANT = /\bI\d+\b/g;
/** A tag is a word in brackets, with or without what it refers to; `[0, 1)` and `[]` are none. */
const TAG = /\[([A-Za-z][^\]\s,:]*)(?::[^\]]*)?\](?!\()/g;
/** Somebody else's notation. */
const QUOTED = /`[^`\n]*`/g;
const KNOWN = /^(?:spec|bench|[A-Za-z][\w./-]*#\d+)$/;

/** The invariants that a document defines. */
export const definedInvariants = (document: string): Set<string> => new Set(document.match(INVARIANT) ?? []);

const tagsOf = ({ text }: Source): string[] =>
  commentsOf(text)
    .map((comment) => comment.replaceAll(QUOTED, ''))
    .flatMap((comment) => [...comment.matchAll(TAG)].map((match) => String(match[1])));

export function unknownTags(sources: readonly Source[], invariants: ReadonlySet<string>): string[] {
  return sources.flatMap((source) =>
    tagsOf(source)
      .filter((tag) => !invariants.has(tag) && !KNOWN.test(tag))
      .map((tag) => `${source.path} cites [${tag}], which nothing defines`),
  );
}

/** In a test the citation may also stand in its name. */
export function uncitedInvariants(
  invariants: ReadonlySet<string>,
  src: readonly Source[],
  tests: readonly Source[],
): string[] {
  const inSrc = new Set(src.flatMap(tagsOf));
  const inTests = new Set(tests.flatMap(({ text }) => [...text.matchAll(/\[(I\d+)\]/g)].map((match) => match[1])));
  return [...invariants].flatMap((invariant) => [
    ...(inSrc.has(invariant) ? [] : [`no line of src keeps ${invariant}`]),
    ...(inTests.has(invariant) ? [] : [`no test proves ${invariant}`]),
  ]);
}
