import { describe, expect, test } from 'vitest';
import { mainPage, servicePage } from '../../../../coordinator/status-pages/public/render.ts';
import { dayState, daysTogether } from '../../../../coordinator/status-pages/public/snapshot.ts';
import { dayUp, pageNow, publicMonitor, publicPage, publicView } from '../../../support/web.ts';

const hour = 3_600_000;

describe('the days of a group', () => {
  test('were down where any of its services was, for as long as the longest outage', () => {
    const of = (downs: readonly number[]) => ({
      days: downs.map((down, at) => ({ ...dayUp(at), up: 24 * hour - down, down })),
    });
    expect(daysTogether([of([0, hour, 2 * hour]), of([0, 3 * hour, 0])])).toEqual([
      { from: 0, up: 48 * hour, down: 0, maintenance: 0, unknown: 0 },
      { from: 1, up: 44 * hour, down: 3 * hour, maintenance: 0, unknown: 0 },
      { from: 2, up: 46 * hour, down: 2 * hour, maintenance: 0, unknown: 0 },
    ]);
  });

  test('take what was maintained and not known from all, and none from a service without it', () => {
    const worked = { ...dayUp(0), up: 0, maintenance: hour, unknown: 2 * hour };
    expect(daysTogether([{ days: [worked] }, { days: [worked] }, { days: [] }])).toEqual([
      { from: 0, up: 0, down: 0, maintenance: 2 * hour, unknown: 4 * hour },
    ]);
    expect(daysTogether([])).toEqual([]);
  });
});

describe('a day', () => {
  test('is one of an outage, else of maintenance, however short, else what most of it was', () => {
    const of = (shares: object) => dayState({ ...dayUp(0), up: 20 * hour, ...shares });
    expect(of({ down: 1, maintenance: hour })).toBe('down');
    expect(of({ maintenance: 1 })).toBe('maintenance');
    expect(of({ unknown: hour })).toBe('up');
    expect(of({ unknown: 21 * hour })).toBe('unknown');
    expect(of({ up: 0 })).toBe('none');
  });
});

describe('the page of a service', () => {
  test('names uptime by the days that were measured', () => {
    const spansOf = (measured: number) => {
      const days = Array.from({ length: 90 }, (_, at) =>
        at < 90 - measured ? { ...dayUp(at), up: 0 } : dayUp(at),
      );
      const rows = [{ ...publicMonitor('Checkout', { days }), id: 'it' }];
      const text = servicePage(publicView(publicPage({ rows })), '/style.css', 'it') ?? '';
      return [...text.matchAll(/Uptime, (\d+)/g)].map(([, days]) => Number(days));
    };
    expect(spansOf(90)).toEqual([7, 30, 90]);
    expect(spansOf(65)).toEqual([7, 30, 65]);
    expect(spansOf(20)).toEqual([7, 20]);
    expect(spansOf(3)).toEqual([3]);
  });
});

describe('a group on a page', () => {
  /** Whether each group is open, by the services of the first. */
  const openGroups = (count: number, state: 'up' | 'down' = 'up') => {
    const services = Array.from({ length: count }, (_, at) =>
      publicMonitor(`Service ${at}`, { isUnder: true, ...(at === 0 && { state }) }),
    );
    const rows = [
      { kind: 'group', name: 'Shop' } as const,
      ...services,
      { kind: 'group', name: 'Mail' } as const,
      publicMonitor('Inbox', { isUnder: true }),
    ];
    const text = mainPage(publicView(publicPage({ rows })), '/style.css');
    return [...text.matchAll(/<details class="card group"( open)?>/g)].map(
      ([, open]) => open !== undefined,
    );
  };

  test('is folded on a page of more than twelve services, unless it has trouble', () => {
    expect(openGroups(11)).toEqual([true, true]);
    expect(openGroups(12)).toEqual([false, false]);
    expect(openGroups(12, 'down')).toEqual([true, false]);
  });

  test('shows while it is folded the outages of all its services in one line of bars', () => {
    const days = Array.from({ length: 90 }, (_, at) => dayUp(pageNow - (90 - at) * 24 * hour));
    const worse = days.map((each, at) => (at === 40 ? { ...each, down: hour } : each));
    const rows = [
      { kind: 'group', name: 'Shop' } as const,
      publicMonitor('Checkout', { isUnder: true, days }),
      publicMonitor('Search', { isUnder: true, days: worse }),
    ];
    const text = mainPage(publicView(publicPage({ rows })), '/style.css');
    const head = /<summary class="line">.*?<\/summary>/s.exec(text)?.[0];
    expect(head).toContain('an outage on 1 day, up on 89 days');
  });
});
