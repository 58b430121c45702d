import { beforeEach, expect, test } from 'vitest';
import { createLog } from '../../../shared/base/log.ts';
import { createDialLog, type DialLog } from '../../../shared/bus/dialling.ts';

let lines: {
  readonly msg: string;
  readonly server?: string;
  readonly err?: { readonly message: string };
  readonly failed_dials?: number;
}[];
let now: number;
let dials: DialLog;

beforeEach(() => {
  lines = [];
  now = 0;
  const log = createLog({ name: 'test', level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  dials = createDialLog(log, 'eu-1', () => now);
});

const fail = (reason = 'connection refused', server = 'bus:4222') => dials.failed(server, new Error(reason));

test('the first failed dial is told at once, with the server and the reason', () => {
  fail();
  expect(lines).toMatchObject([
    { msg: 'the bus cannot be reached', server: 'bus:4222', err: { message: 'connection refused' }, failed_dials: 1 },
  ]);
});

test('a day of them is told at growing distances, with how many there were', () => {
  for (; now < 86_400_000; now += 300) fail();
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.length).toBeLessThan(160);
  expect(lines.slice(0, 5).map(({ failed_dials }) => failed_dials)).toEqual([1, 18, 52, 119, 253]);
});

test('another reason is told at once, and two that take turns are not told each time', () => {
  for (let turn = 0; turn < 10; turn += 1) {
    fail('connection refused');
    fail('no such host', 'other:4222');
  }
  expect(lines.map(({ err }) => err?.message)).toEqual(['connection refused', 'no such host']);
});

test('reasons without end do not fill the log', () => {
  for (let turn = 0; turn < 1_000; turn += 1) fail(`reason ${turn}`);
  expect(lines.length).toBeLessThan(10);
});

test('when it is reached that is told, and the next absence begins anew', () => {
  dials.reached();
  expect(lines).toEqual([]);
  fail();
  fail();
  dials.reached();
  fail();
  expect(lines.map(({ msg, failed_dials }) => [msg, failed_dials])).toEqual([
    ['the bus cannot be reached', 1],
    ['the bus is reached', 2],
    ['the bus cannot be reached', 1],
  ]);
});
