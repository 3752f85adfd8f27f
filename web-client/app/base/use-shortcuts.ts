/** Single keys that work wherever nobody is typing. */
import { useEffect, useRef } from 'react';

export type Shortcuts = Readonly<Record<string, () => void>>;

export const shortcutWords: readonly { readonly keys: string; readonly does: string }[] = [
  { keys: 'm', does: 'Write to the agent' },
  { keys: 's', does: 'Stop the agent' },
  { keys: 'a', does: 'What needs attention' },
  { keys: '/', does: 'Search this session' },
  { keys: 'Enter', does: 'In the search: older match; reads further back where there is none' },
  { keys: 'Shift+Enter', does: 'In the search: newer match' },
  { keys: 'g', does: 'Go to a sequence' },
  { keys: 'e', does: 'Jump to the latest' },
  { keys: 't', does: 'Change the theme' },
  { keys: 'Esc', does: 'Leave the search, or the message' },
  { keys: '?', does: 'Show these shortcuts' },
];

export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const run = latest.current[event.key];
      if (run === undefined) return;
      event.preventDefault();
      run();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, []);
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select, [contenteditable], dialog[open]') !== null;
