import { expect, test } from 'vitest';
import { areaPath, type Bar, dayStrip } from '../../../coordinator/web/charts.ts';
import { timesIn } from '../../../coordinator/web/times.ts';

test('a strip says how long a monitor was down, not how long the bars of it are', () => {
  const now = Date.parse('2026-11-27T12:00:00Z');
  const down = { from: Date.parse('2026-11-27T08:12:00Z'), to: Date.parse('2026-11-27T08:13:31Z') };
  const bars = Array.from({ length: 24 }, (_, index): Bar => (index === 20 ? 'down' : 'up'));
  const text = dayStrip(bars, [down], timesIn('UTC', now)).toString();
  expect(text).toContain('aria-label="The last 24 hours: Up, 08:00–09:00: down 1 min 31 s"');
  expect(text).toContain('<title>08:00–09:00: down 1 min 31 s</title>');
});

test('a shade lies between its lows and its highs, and has a hole where nothing was measured', () => {
  const points = [
    { at: 0, low: 10, high: 30 },
    { at: 1, low: 12, high: 33 },
    { at: 9, low: 5, high: 6 },
  ];
  const path = areaPath(
    points,
    (at) => at * 10,
    (value) => 100 - value,
    2,
  );
  expect(path).toBe('M0 70l10 -3V88l-10 2zM90 94V95z');
});
