import { expect, test } from 'vitest';
import {
  type Ledger,
  ledgerBar,
  ledgerSum,
} from '../../../../coordinator/monitors/pages/ledger.ts';
import { timesIn } from '../../../../coordinator/web/times.ts';

/** A month that ends, or began, with an outage of six minutes. */

const day = 86_400_000;
const to = Date.parse('2026-12-01T00:00:00Z');
const from = to - 30 * day;
const short = 372_000;

const ledgerOf = (stretches: readonly (readonly ['up' | 'down', number, number])[]): Ledger => {
  const seconds = (wanted: string): number =>
    stretches.reduce((sum, [state, a, b]) => sum + (state === wanted ? (b - a) / 1_000 : 0), 0);
  return {
    monitor: 'any',
    days: 30,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    percent: null,
    up_seconds: seconds('up'),
    down_seconds: seconds('down'),
    maintenance_seconds: 0,
    unknown_seconds: 0,
    paused_seconds: 0,
    left_out: 0,
    stretches: stretches.map(([state, a, b]) => ({
      ...{ state, from: new Date(a).toISOString(), to: new Date(b).toISOString() },
      ...{ incident: null, window: null, window_name: null },
    })),
  };
};

/** Where the outage begins and ends in the bar, of a thousand. */
const downOf = (ledger: Ledger): readonly number[] => {
  const [, left = 0, wide = 0] =
    /fill-down" d="M([\d.]+) 0h([\d.]+)/
      .exec(ledgerBar(ledger, timesIn('UTC', to)).toString())
      ?.map(Number) ?? [];
  return [left, left + wide];
};

test('a monitor that is down now is down at the end of its bar', () => {
  const [begins = 0, ends] = downOf(
    ledgerOf([
      ['down', to - short, to],
      ['up', from, to - short],
    ]),
  );
  expect(ends).toBe(1_000);
  expect(begins).toBeLessThan(1_000);
});

test('an outage in its midst, however short, has room for its edge on both sides', () => {
  const ended = to - 60_000;
  const [begins = 0, ends = 0] = downOf(
    ledgerOf([
      ['up', ended, to],
      ['down', ended - short, ended],
      ['up', from, ended - short],
    ]),
  );
  expect([begins > 900, ends < 1_000]).toEqual([true, true]);
  expect(
    downOf(
      ledgerOf([
        ['up', from + short, to],
        ['down', from, from + short],
      ]),
    )[0],
  ).toBe(0);
});

test('the sum adds up as it is read', () => {
  const sum = ledgerSum(
    ledgerOf([
      ['down', to - short, to],
      ['up', from, to - short],
    ]),
  ).toString();
  expect(
    sum
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  ).toBe(
    'up 29 days 23 h 53 min 48 s + down 6 min 12 s + maintenance 0 + unknown 0 + paused 0 = 30 days',
  );
});
