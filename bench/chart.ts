/** Draws a measurement's bars as two pictures for docs/, one for light pages and one for dark. */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Chart } from './report.ts';

interface Colors {
  readonly text: string;
  readonly muted: string;
  readonly ours: string;
  readonly others: string;
}

const themes: Readonly<Record<'light' | 'dark', Colors>> = {
  light: { text: '#1f2328', muted: '#59636e', ours: '#0969da', others: '#b6bec8' },
  dark: { text: '#f0f6fc', muted: '#9198a1', ours: '#4493f8', others: '#4a525d' },
};

const WIDTH = 760;
const LABELS = 240;
const VALUES = 90;
const ROW = 26;
const TOP = 56;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Pure: the same figures make the same picture. Bars begin at nothing and are as wide as their values; the least comes first. */
export function svg({ title, unit, bars }: Chart, note: string, colors: Colors): string {
  const sorted = bars.toSorted((left, right) => left.value - right.value);
  const most = sorted.at(-1)?.value ?? 1;
  const height = TOP + sorted.length * ROW + 4;
  const rows = sorted.map(({ label, value, isOurs = false }, index) => {
    const y = TOP + index * ROW;
    const width = Math.max(1, ((WIDTH - LABELS - VALUES) * value) / most).toFixed(1);
    const [weight, color] = isOurs ? [' font-weight="600"', colors.text] : ['', colors.muted];
    return [
      `  <text x="${LABELS - 10}" y="${y + 14}" text-anchor="end" fill="${color}"${weight}>${escaped(label)}</text>`,
      `  <rect x="${LABELS}" y="${y + 2}" width="${width}" height="16" rx="2" fill="${isOurs ? colors.ours : colors.others}"/>`,
      `  <text x="${(LABELS + Number(width) + 6).toFixed(1)}" y="${y + 14}" fill="${color}"${weight}>${shown(value)} ${escaped(unit)}</text>`,
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="13">
  <text x="0" y="16" font-size="15" font-weight="600" fill="${colors.text}">${escaped(title)}</text>
  <text x="0" y="36" fill="${colors.muted}">${escaped(note)}</text>
${rows.join('\n')}
</svg>
`;
}

/** Three digits: the rest is noise. */
const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** docs/bench-NAME-light.svg and docs/bench-NAME-dark.svg. */
export async function draw(name: string, chart: Chart, note: string): Promise<void> {
  for (const [theme, colors] of Object.entries(themes)) {
    const file = fileURLToPath(new URL(`../docs/bench-${name}-${theme}.svg`, import.meta.url));
    await writeFile(file, svg(chart, note, colors));
  }
}
