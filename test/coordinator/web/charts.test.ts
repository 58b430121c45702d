import { expect, test } from 'vitest';
import { type Bar, dayStrip } from '../../../coordinator/web/charts.ts';
import { timesIn } from '../../../coordinator/web/times.ts';

test('a strip says how long a monitor was down, not how long the bars of it are', () => {
  const now = Date.parse('2026-11-27T12:00:00Z');
  const down = { from: Date.parse('2026-11-27T08:12:00Z'), to: Date.parse('2026-11-27T08:13:31Z') };
  const bars = Array.from({ length: 48 }, (_, index): Bar => (index === 40 ? 'down' : 'up'));
  const text = dayStrip(bars, [down], timesIn('UTC', now)).toString();
  expect(text).toContain('aria-label="The last 24 hours: Up, 08:00–08:30: down 1 min 31 s"');
  expect(text).toContain('<title>08:00–08:30: down 1 min 31 s</title>');
});
