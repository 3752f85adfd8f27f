/** Does a reader that comes back go on where it was (pure)? */
import { finding } from './finding.ts';
import type { Finding } from './finding.ts';

export interface ResumeSeen {
  /** The cursor that was sent, above 0. */
  readonly cursor: number;
  /** What the stream said it goes on after, or `over`: 204, which answers a cursor that has all of a closed session. */
  readonly byHeader: number | 'over' | undefined;
  readonly byQuery: number | 'over' | undefined;
}

const passHeader =
  'pass Last-Event-ID on: nginx does unless proxy_set_header or proxy_pass_request_headers says otherwise; Caddy: no header_up -Last-Event-ID; ' +
  'CDNs: add it to the headers that are forwarded';
const passQuery = 'pass the query of /sessions/…/stream on, and let no cache leave it out of its key';

export function judgeResume({ cursor, byHeader, byQuery }: ResumeSeen): Finding[] {
  const isRight = (after: ResumeSeen['byHeader']): boolean => after === cursor || after === 'over';
  const wentOn = (after: ResumeSeen['byHeader']): string =>
    after === undefined ? 'got no stream' : `was sent everything after ${after}`;
  if (isRight(byHeader) && isRight(byQuery)) {
    return [finding('resumes', `a reader that comes back goes on after ${cursor}, by Last-Event-ID and by ?after=`)];
  }
  return [
    ...(isRight(byHeader)
      ? []
      : [
          finding(
            'last_event_id_lost',
            `a reader that came back with Last-Event-ID: ${cursor} ${wentOn(byHeader)}${isRight(byQuery) ? '; with ?after= it goes on' : ''}`,
            passHeader,
          ),
        ]),
    ...(isRight(byQuery)
      ? []
      : [finding('after_lost', `a reader that came back with ?after=${cursor} ${wentOn(byQuery)}`, passQuery)]),
  ];
}
