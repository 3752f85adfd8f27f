/** The web client is a house of its own: what may be imported where, and which of its files speak of the world outside. */
import { type Source, codeOf } from './sources.ts';
import { importsOf, localImports } from './imports.ts';
import { TIME_OR_CHANCE, type Word, spokenOutside } from './words.ts';

const LIBRARY = 'web-client/src/';
const PAGE = 'web-client/app/';

/** The packages that the library may need, and where. The page may import what it likes. */
const packages: Readonly<Record<string, RegExp>> = {
  'eventsource-parser': /^frames\.ts$/,
  react: /^react\.ts$/,
  ai: /^ai(?:-[a-z0-9-]+)?\.ts$/,
};

const words: readonly Word[] = [
  { what: 'time or chance', pattern: TIME_OR_CHANCE, owners: ['src/clock.ts'] },
  { what: 'an animation frame', pattern: /\brequestAnimationFrame\b/g, owners: ['src/clock.ts', 'app/'] },
  { what: 'a value of the AI SDK', pattern: /^import (?!type\b)[^;]*from 'ai'/gm, owners: [] },
  { what: 'the console', pattern: /\bconsole\./g, owners: [] },
  {
    what: 'markup from text',
    pattern: /\b(?:dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML)\b/g,
    owners: [],
  },
  {
    what: 'what the browser keeps',
    pattern: /\b(?:local|session)Storage\b/g,
    owners: ['src/outgoing-store.ts', 'app/'],
  },
];

export function clientImportBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const breach = (target: string, why: string): string => `${source.path} imports ${target}, which is ${why}`;
    const isLibrary = source.path.startsWith(LIBRARY);
    return [
      ...localImports(source).flatMap((target) => {
        if (target.startsWith(LIBRARY)) return [];
        if (!target.startsWith(PAGE)) return [breach(target, 'outside')];
        return isLibrary ? [breach(target, 'the page')] : [];
      }),
      ...(isLibrary ? bareImports(source) : [])
        .filter((name) => packages[name]?.test(source.path.slice(LIBRARY.length)) !== true)
        .map((name) => breach(name, name in packages ? 'not for this file' : 'no package of the library')),
    ];
  });
}

const bareImports = ({ text }: Source): string[] => importsOf(codeOf(text)).filter((name) => !name.startsWith('.'));

export const clientWordBreaches = (sources: readonly Source[]): string[] =>
  spokenOutside(words, sources, 'web-client/');
