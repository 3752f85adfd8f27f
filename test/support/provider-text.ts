/** What models said in recorded streams, delta by delta; without recordings, made-up deltas of the same nature. */
import { recordedStreams } from './streams.ts';

/** Of an OpenAI chat completion, an OpenAI response, an Anthropic message or a Gemini answer. */
interface Chunk {
  readonly type?: string;
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly delta?: string | { readonly text?: string };
  readonly candidates?: readonly { readonly content?: { readonly parts?: readonly { readonly text?: string }[] } }[];
}

function textOf({ type, choices, delta, candidates }: Chunk): string {
  if (choices !== undefined) return choices[0]?.delta?.content ?? '';
  if (type === 'response.output_text.delta' && typeof delta === 'string') return delta;
  if (type === 'content_block_delta' && typeof delta === 'object') return delta.text ?? '';
  return candidates?.[0]?.content?.parts?.map(({ text = '' }) => text).join('') ?? '';
}

/** Half an emoji a delta, line breaks of every kind, space that a page must not fold, and what looks like markup. */
const awkward = [
  'two  spaces,\ttab\r\n',
  '\n\n',
  'half \ud83d',
  '\ude00 and \ud83d\udc69\u200d',
  '\ud83d\ude80, e\u0301',
  ' \u2028\u2029\u0085 ',
  '<b>&amp;</b> `',
  '``` **a\n',
  '  | b |\n',
  'שלום \u202eabc\u202c ',
  '数字',
  '。\n',
  'data: 1\n\nid: 7\n',
];

/** Pieces of one to seven characters out of words, as a tokenizer cuts them. */
function generated(): string[] {
  const words =
    'Number your events, and you can afford to lose them on the wire.\n\n- **One** of `many`: 42 % of it'.repeat(24);
  return words.match(/\s*\S{1,6}|\s+$/gu) ?? [];
}

/** Every delta of every recording, one answer of many hundred pieces. */
export function answerDeltas(): readonly string[] {
  const recorded = recordedStreams()?.flatMap(({ chunks }) =>
    chunks.map((chunk) => textOf(JSON.parse(chunk) as Chunk)),
  );
  const deltas = (recorded ?? generated()).filter((text) => text !== '');
  if (deltas.length < 300) throw new Error(`the recordings hold ${deltas.length} deltas of text, too few to cut into`);
  const middle = Math.floor(deltas.length / 2);
  return [...deltas.slice(0, middle), ...awkward, ...deltas.slice(middle), ...awkward];
}
