/** Reads out a message when it is complete, and only then: never each token, never the history. */
import { useEffect, useRef, useState } from 'react';
import type { ReactElement } from 'react';
import type { Timeline } from '../../src/timeline.ts';
import { findAnnouncement } from './announcement.ts';

interface AnnouncerProps {
  readonly timeline: Timeline;
  readonly isLive: boolean;
}

export function Announcer({ timeline, isLive }: AnnouncerProps): ReactElement {
  const [text, setText] = useState('');
  const heard = useRef<number>(undefined);
  useEffect(() => {
    const announcement = heard.current === undefined ? undefined : findAnnouncement(timeline.items, heard.current);
    // What came in a replay is history, so the first look is when it goes live.
    if (isLive) heard.current = timeline.last;
    if (isLive && announcement !== undefined) setText(announcement);
  }, [timeline, isLive]);
  return (
    <div className="visually-hidden" aria-live="polite">
      {text}
    </div>
  );
}
