/** A run as far as it has come: what it has shown, what happened in order of time, and the books. */
import type { ReactElement, Ref } from 'react';
import { Icon } from '../base/icon.tsx';
import { BooksView } from './books-view.tsx';
import { isUnderWay } from './crash-run.ts';
import type { CrashRun } from './crash-run.ts';
import { toPlanWords } from './plan-words.ts';
import { toModelCallWords, toNoteTime, toStateWords } from './run-words.ts';
import { toVerdictWords } from './verdict-words.ts';

interface RunViewProps {
  readonly run: CrashRun;
  readonly ref: Ref<HTMLElement>;
}

export function RunView({ run, ref }: RunViewProps): ReactElement {
  const { state, notes, before, after } = run;
  const books = after ?? before;
  return (
    <section ref={ref} className="crash-run" aria-labelledby="crash-run-title" data-run={run.id} data-state={state}>
      <div className="section-head">
        <h2 className="section-title" id="crash-run-title">
          {isUnderWay(run) ? 'This run' : 'The last run'}
        </h2>
        <p className="section-note">{toPlanWords(run)}</p>
      </div>
      <Outcome run={run} />
      <div className="crash-course">
        <ol className="crash-notes" aria-label="What happened">
          {notes.map((note) => (
            <li key={`${note.at} ${note.text}`}>
              <time dateTime={note.at}>{toNoteTime(note, notes[0] ?? note)}</time>
              <span>{note.text}</span>
            </li>
          ))}
        </ol>
        {books !== undefined && (
          <dl className="crash-facts">
            <div>
              <dt>Model calls</dt>
              <dd>{toModelCallWords(run)}</dd>
            </div>
            <div>
              <dt>Turn</dt>
              <dd>{books.turn.replaceAll('_', ' ')}</dd>
            </div>
          </dl>
        )}
      </div>
      {books !== undefined && <BooksView run={run} />}
    </section>
  );
}

function Outcome({ run }: { readonly run: CrashRun }): ReactElement {
  const { state, problem } = run;
  const verdict = toVerdictWords(run);
  if (verdict === undefined)
    return (
      <div className="crash-outcome is-open">
        <Icon name={state === 'failed' ? 'alert' : 'pulse'} />
        <p>{toStateWords(run)}</p>
        {problem !== undefined && <p className="problem">{problem}</p>}
      </div>
    );
  const { tone, finding, story, lesson } = verdict;
  return (
    <div className={`crash-outcome is-${tone}`} data-verdict={tone}>
      <Icon name={tone === 'held' ? 'check' : 'alert'} />
      <p>
        <strong>{finding}</strong> {story}
      </p>
      <p className="crash-lesson">{lesson}</p>
    </div>
  );
}
