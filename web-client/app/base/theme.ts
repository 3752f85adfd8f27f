/** Dark, light, or as the system has it; kept in this browser. */
import { readStored, writeStored } from './stored.ts';

export type Theme = 'system' | 'light' | 'dark';

const themes: readonly Theme[] = ['system', 'light', 'dark'];

export function readTheme(): Theme {
  const stored = readStored('theme');
  return themes.find((theme) => theme === stored) ?? 'system';
}

export const followingTheme = (theme: Theme): Theme => themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system';

/** The stylesheet does the rest. */
export function showTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === 'system') delete dataset['theme'];
  else dataset['theme'] = theme;
}

export function keepTheme(theme: Theme): void {
  writeStored('theme', theme === 'system' ? undefined : theme);
  showTheme(theme);
}
