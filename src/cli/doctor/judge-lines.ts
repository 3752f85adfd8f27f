/** Do a producer's lines get through while its request lasts (pure)? */
import { finding, inWords } from './finding.ts';
import type { Finding } from './finding.ts';

export interface LinesSeen {
  /** From the first line to its acknowledgement, with the request still open; undefined if none came in time. */
  readonly acknowledgedMs: number | undefined;
  readonly waitedMs: number;
  /** What came instead of an acknowledgement: another status, or why there was no answer. */
  readonly instead: string | undefined;
}

export function judgeLines({ acknowledgedMs, waitedMs, instead }: LinesSeen): Finding {
  if (acknowledgedMs !== undefined) {
    return finding(
      'lines_stream',
      `a producer's line is acknowledged within ${inWords(acknowledgedMs)}, while its request goes on`,
    );
  }
  if (instead !== undefined) {
    return finding(
      'lines_refused',
      `a producer's stream of lines is answered ${instead}`,
      'pass POST /internal/sessions/…/events on to the internal listener as it comes, with its content type',
    );
  }
  return finding(
    'lines_held_back',
    `a producer's line was not acknowledged within ${inWords(waitedMs)}: something collects its request, or the answer`,
    'nginx before the internal listener: proxy_request_buffering off, proxy_http_version 1.1, proxy_buffering off; until then the producer library sends requests of their own',
  );
}
