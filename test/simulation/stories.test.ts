import { describe, expect, test } from 'vitest';
import { decide } from '../../coordinator/core/decide.ts';
import { createState } from '../../coordinator/core/lifecycle.ts';
import type { MonitorState } from '../../coordinator/core/types.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { nextTurn, placesOf, probeOf, turns } from '../../shared/checks/placement.ts';
import { campaign, shrink } from './campaign.ts';
import { placedOf, watchedOf } from './coordinator.ts';
import { makeStory } from './make-story.ts';
import { boundPerMillion, liveOneSided } from './one-sided.ts';
import { describeStory, type Story } from './story.ts';
import { afterCalm, live } from './world.ts';

describe('the simulation', () => {
  test('every rule holds over some twenty monitor-years of trouble', { timeout: 120_000 }, () => {
    const sum = campaign({ seed: 1, isEnough: ({ monitorDays }) => monitorDays > 20 * 365 });
    expect(sum.failed).toBeNull();
    expect(sum.confirmed).toBeGreaterThan(100);
    expect(sum.alerts).toBeGreaterThan(100);
    expect(sum.fenced).toBeGreaterThan(5);
  });

  test('every fleet of coordinators is at rest 30 s after the last fault', {
    timeout: 120_000,
  }, () => {
    const { failed, stories } = campaign({
      seed: 1,
      tells: 'fleet',
      isEnough: (soFar) => soFar.stories >= 300,
    });
    expect(failed).toBeNull();
    expect(stories).toBe(300);
  });

  test('of 3,000 failures on one continent alone none is taken for an outage, and no real outage is missed', {
    timeout: 120_000,
  }, () => {
    const { outages, checks, ...sum } = liveOneSided(1, 3_000);
    expect(sum).toEqual({ failures: 3_000, false_outages: 0, missed: 0 });
    expect(outages).toBeGreaterThan(5);
    expect(checks).toBeGreaterThan(30_000);
  });

  test('the bound of what was never seen is three of all trials, as the rule of thumb has it', () => {
    expect([0, 1, 3].map((events) => boundPerMillion(events, 1_000_000).toFixed(2))).toEqual([
      '3.00',
      '4.74',
      '7.75',
    ]);
  });

  test('the same seed gives the same life, to the last check', () => {
    const told = (seed: number) => {
      const { record, database } = live(makeStory(seed));
      return JSON.stringify([record, [...database.incidents.values()], [...database.alerts]]);
    };
    expect(told(9)).toBe(told(9));
    expect(told(9)).not.toBe(told(10));
  });

  test('some stories take their turns from the real wheel', { timeout: 60_000 }, () => {
    const stories = Array.from({ length: 200 }, (_, index) => makeStory(index));
    const story =
      stories.find(
        ({ wheel, monitors }) => wheel && monitors.some(({ interval_ms }) => interval_ms <= 30_000),
      ) ?? makeStory(0);
    expect(story.wheel).toBe(true);
    const { record } = live(story);
    expect(record.violations).toEqual([]);
    expect(record.checks).toBeGreaterThan(20);
  });

  test('a story that ends badly is shrunk to a short one that ends the same way', {
    timeout: 120_000,
  }, () => {
    const story = makeStory(1);
    const alertIn = (one: Story) =>
      live(one).record.delivered.length > 0 ? 'somebody was alerted' : undefined;
    const shortest = shrink(story, alertIn);
    expect(shortest.story.happenings.length).toBeLessThanOrEqual(2);
    expect(describeStory(shortest.story).length).toBeLessThan(describeStory(story).length);
    expect(alertIn(shortest.story)).toBe(shortest.fault);
  });
});

test('a calm time that is jumped over leaves the state that deciding every pass leaves', () => {
  const story = makeStory(4);
  const network: Roster = {
    epoch: 1,
    probes: story.probes.map(({ id, index, continent }) => ({
      id,
      name: `probe-${index}`,
      continent,
      organisation: null,
      healthy: true,
      quarantined: false,
    })),
  };
  for (const [monitor, spec] of story.monitors.entries()) {
    const watched = watchedOf(story, spec);
    const placed = placedOf(monitor, watched);
    const until = story.start + 20 * spec.interval_ms;
    const shares = placesOf(placed, network).flatMap((place) => {
      const probe = probeOf(placed, place, network);
      const mine = turns(placed, place, network);
      return probe && mine ? [{ probe, continent: probe.continent, mine }] : [];
    });
    const all = shares
      .flatMap(({ probe, continent, mine }) => {
        const times: number[] = [];
        for (let at = nextTurn(mine, story.start); at <= until; at = nextTurn(mine, at + 1))
          times.push(at);
        return times.map((at) => ({ at, from: { probe: probe.id, name: probe.name, continent } }));
      })
      .toSorted((a, b) => a.at - b.at);
    const pass = (
      state: MonitorState,
      { at, from }: (typeof all)[number],
      seq: number,
    ): MonitorState => {
      const result = {
        seq,
        monitor: spec.id,
        config_version: 1,
        at,
        took_ms: 20,
        outcome: 'ok',
        cause: null,
        phases: null,
        evidence: null,
        look: null,
      } as const;
      const event = {
        is: 'result',
        result: { ...result, from, quarantined: false, handed_over: false },
      } as const;
      return decide(state, event, { now: at + 50, network, newId: () => 'none' }).state;
    };
    const start = createState({ ...watched, created_at: story.start });
    const first = all
      .slice(0, shares.length)
      .reduce((state, each, index) => pass(state, each, index + 1), start);
    const lived = all
      .slice(shares.length)
      .reduce((state, each, index) => pass(state, each, index + 100), first);
    const jumped = afterCalm(monitor, first, network, (id) => {
      const mine = shares.find(({ probe }) => probe.id === id)?.mine;
      return mine && nextTurn(mine, until - mine.period_ms + 1);
    });
    const sorted = (state: MonitorState) => ({
      ...state,
      views: state.views.toSorted((a, b) => (a.from.probe < b.from.probe ? -1 : 1)),
    });
    expect(sorted(jumped)).toEqual(sorted(lived));
  }
});
