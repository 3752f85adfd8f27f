/** What the measurements stand on: that frames are counted whole, answers are read whole, and verdicts and pictures follow the figures. */
import { describe, expect, test } from 'vitest';
import { svg } from '../../bench/chart.ts';
import { parseAnswer } from '../../bench/load/connection.ts';
import { FrameCounter, agesMs } from '../../bench/load/frame-counter.ts';
import { frameOf, machineMs, stampedData } from '../../bench/peers/payload.ts';
import { isMet, median, quantile } from '../../bench/report.ts';

describe('the reader', () => {
  const frames = Buffer.concat([1, 2, 3].map((sequence) => frameOf(sequence, stampedData())));

  test('counts each event once, wherever the reads cut the stream', () => {
    for (let first = 0; first <= frames.length; first += 1) {
      for (const second of [first, first + 1, first + 5, first + 40, first + 300]) {
        const counter = new FrameCounter();
        const cuts = [frames.subarray(0, first), frames.subarray(first, second), frames.subarray(second)];
        for (const cut of cuts) counter.add(cut);
        expect(counter.frames, `cut at ${first} and ${second}`).toBe(3);
      }
    }
  });

  test('counts a stream that comes byte by byte', () => {
    const counter = new FrameCounter();
    for (const byte of frames) counter.add(Buffer.from([byte]));
    expect(counter.frames).toBe(3);
  });

  test('takes the age of every event', () => {
    const ages = agesMs(Buffer.concat([frames, frameOf(4, stampedData(machineMs() - 60_000))]));
    expect(ages).toHaveLength(4);
    expect(ages.at(-1)).toBeGreaterThanOrEqual(60_000);
  });
});

describe('an answer', () => {
  test.each([
    ['a length', 'HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello', 'hello'],
    ['no body', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
    ['no chunks', 'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', '0\r\n\r\n'],
    [
      'chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
      '5\r\nhello\r\n0\r\n\r\n',
    ],
  ])('with %s is there when its last byte is, and not before', (_, text, body) => {
    for (let end = 0; end < text.length; end += 1)
      expect(parseAnswer(text.slice(0, end)), `${end} bytes`).toBeUndefined();
    expect(parseAnswer(text)?.body).toBe(body);
  });

  test('of a stream has no end', () => {
    expect(
      parseAnswer('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 1\ndata: {}\n\n'),
    ).toBeUndefined();
  });
});

describe('a report', () => {
  test('says of a target whether it is met, at its bound too, and never without a figure', () => {
    expect(isMet({ what: 'x', seen: 2, atMost: 2 })).toBe(true);
    expect(isMet({ what: 'x', seen: 2.01, atMost: 2 })).toBe(false);
    expect(isMet({ what: 'x', seen: 9, atLeast: 10 })).toBe(false);
    expect(isMet({ what: 'x', seen: Number.NaN, atMost: 2 })).toBe(false);
  });

  test('takes medians and quantiles of what is in no order', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(quantile([5, 1, 4, 2, 3], 0.99)).toBe(5);
  });

  test('draws a bar as wide as its value, and ours in its own colour', () => {
    const colors = { text: 'a', muted: 'b', ours: 'blue', others: 'grey' };
    const bars = [
      { label: 'they & <all>', value: 100 },
      { label: 'we', value: 25, isOurs: true },
    ];
    const widths = [
      ...svg({ title: 't', unit: 'µs', bars }, 'n', colors).matchAll(
        /width="([0-9.]+)" height="16" rx="2" fill="(\w+)"/g,
      ),
    ];
    expect(widths.map(([, width, fill]) => [Number(width), fill])).toEqual([
      [107.5, 'blue'],
      [430, 'grey'],
    ]);
    expect(svg({ title: 't', unit: 'µs', bars }, 'n', colors)).toContain('they &amp; &lt;all>');
  });
});
