/** The search field, and what it found. */
import type { KeyboardEvent, ReactElement, RefObject } from 'react';
import { formatInteger, plural } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';
import type { Search } from './use-search.ts';

interface SearchFieldProps {
  readonly search: Search;
  readonly field: RefObject<HTMLInputElement | null>;
  readonly hasOlder: boolean;
  /** The oldest sequence that is loaded. */
  readonly oldest: number | undefined;
}

export function SearchField({ search, field, hasOlder, oldest }: SearchFieldProps): ReactElement {
  const { query, pattern } = search;
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') {
      event.preventDefault();
      if (event.shiftKey) search.newer();
      else search.older();
    } else if (event.key === 'Escape') {
      event.preventDefault();
      search.setQuery('');
      field.current?.blur();
    }
  };
  return (
    <search className="search">
      <div className="field-with-icon">
        <Icon name="search" />
        <input
          ref={field}
          className="field"
          type="text"
          inputMode="search"
          enterKeyHint="search"
          aria-label="Search this session"
          placeholder="Search"
          autoComplete="off"
          spellCheck={false}
          value={query}
          onChange={(event) => search.setQuery(event.target.value)}
          onKeyDown={pressed}
        />
        <kbd aria-hidden="true">/</kbd>
      </div>
      {pattern !== undefined && (
        <div className="search-results">
          <output>{toCountWords(search, hasOlder, oldest)}</output>
          <span className="search-steps">
            {search.isSearchingBack ? (
              <button type="button" className="button quiet" onClick={search.cancel}>
                Cancel
              </button>
            ) : (
              <>
                <button
                  type="button"
                  className="button icon-only"
                  aria-label="Older match"
                  title="Older match (Enter)"
                  onClick={search.older}
                >
                  <Icon name="up" />
                </button>
                <button
                  type="button"
                  className="button icon-only"
                  aria-label="Newer match"
                  title="Newer match (Shift+Enter)"
                  onClick={search.newer}
                >
                  <Icon name="down" />
                </button>
              </>
            )}
            <button
              type="button"
              className="button icon-only"
              aria-label="End the search"
              title="End the search (Esc)"
              onClick={() => search.setQuery('')}
            >
              <Icon name="close" />
            </button>
          </span>
        </div>
      )}
    </search>
  );
}

function toCountWords({ matches, current, isSearchingBack, error }: Search, hasOlder: boolean, oldest = 1): string {
  if (isSearchingBack) return `Searching before ${formatInteger(oldest)}…`;
  if (error !== undefined) return `Older events cannot be read: ${error.message}`;
  const place = current === undefined ? -1 : matches.indexOf(current);
  const found =
    place < 0
      ? plural(matches.length, 'match', 'matches')
      : `${formatInteger(place + 1)} of ${formatInteger(matches.length)}`;
  return hasOlder ? `${found} since ${formatInteger(oldest)}; Enter looks further back` : found;
}
