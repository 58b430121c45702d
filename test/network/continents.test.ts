import { describe, expect } from 'vitest';
import type { Continent } from '../../shared/base/continents.ts';
import { systemClock } from '../../shared/base/time.ts';
import { eventually } from '../support/eventually.ts';
import {
  alertsOf,
  downIsSent,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  watch,
} from '../support/monitors.ts';
import { test } from '../support/network-test.ts';
import { speakAs } from '../support/probes.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/**
 * Continents far away: 75 ms each way, cut off and healed, with clocks that are wrong, and with
 * news from an hour ago.
 */

const hitsFrom = (target: Target, continent: Continent, since: number) =>
  target.hits.filter((hit) => hit.continent === continent && hit.at >= since);

describe.concurrent('a continent 75 ms away', () => {
  test('confirms as any other; cut off it goes on checking, is counted for nothing it cannot say, and when healed nothing is missing', async ({
    network,
  }) => {
    await network.startCoordinator();
    const cable = () => network.startRelay('bus', { delayMs: 75 });
    const [near, far] = [await cable(), await cable()];
    await network.startProbe(await network.makeProbe('Europe'), { url: near.url });
    await network.startProbe(await network.makeProbe('Asia'), { url: far.url });
    const { target, monitor } = await watch(network);

    target.answer(broken);
    const brokenAt = Date.now();
    const incident = await incidentThat(network.sql, monitor, isConfirmed);
    const heardAfter = Date.now() - brokenAt;
    const first = target.hits.find(({ at }) => at >= brokenAt)?.at ?? 0;
    const figures = {
      'first failing check after (ms)': first - brokenAt,
      'confirmed by a check that began so long after it (ms)':
        Number(incident.confirmed_at) - Number(incident.started_at),
      'in the database so long after the target broke (ms)': heardAfter,
    };
    process.stderr.write(
      `two continents, each 75 ms from the bus each way: ${JSON.stringify(figures)}\n`,
    );
    await downIsSent(network.sql, monitor);
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved);

    const known = (await incidentsOf(network.sql, monitor)).length;
    far.cut();
    const cutAt = Date.now();
    target.answer(broken, ['Europe']);
    await eventually(
      () =>
        hitsFrom(target, 'Asia', cutAt).length >= 3 &&
        hitsFrom(target, 'Europe', cutAt).length >= 3,
      40_000,
    );
    // Asia sees that all is well and cannot say so: one continent's word confirms nothing.
    expect(
      (await incidentsOf(network.sql, monitor))
        .slice(known)
        .filter(({ confirmed_at }) => confirmed_at !== null),
    ).toEqual([]);
    target.answer(fine);
    const cutHits = hitsFrom(target, 'Asia', cutAt).length;
    far.heal();
    await eventually(async () => {
      const times = (await resultsOf(network.sql, monitor)).filter(
        ({ continent, at }) => continent === 'Asia' && Number(at) >= cutAt - 200,
      );
      return times.length >= cutHits;
    }, 30_000);
    const all = (await resultsOf(network.sql, monitor)).map(
      ({ continent, at }) => `${continent} ${Number(at)}`,
    );
    expect(new Set(all).size).toBe(all.length);
    expect((await alertsOf(network.sql, monitor)).map(({ event }) => event)).toEqual([
      'down',
      'up',
    ]);
  });
});

describe.concurrent('a probe whose clock is wrong by a minute', () => {
  test('has correct times all the same, a minute ahead or behind', async ({ network }) => {
    await network.startCoordinator();
    for (const [continent, wrongBy] of [
      ['Europe', 60_000],
      ['Asia', -60_000],
    ] as const)
      await network.startProbe(await network.makeProbe(continent), {
        host: { now: () => Date.now() + wrongBy },
      });
    const { target, monitor } = await watch(network);
    target.answer(broken);
    const brokenAt = Date.now();
    const { started_at, confirmed_at } = await incidentThat(network.sql, monitor, isConfirmed);
    // By either of the clocks it would be a minute off.
    for (const at of [started_at, confirmed_at])
      expect(Math.abs(Number(at) - brokenAt)).toBeLessThan(30_000);
  });

  test('from one moment to the next opens nothing, and is right again after its next presence', async ({
    network,
  }) => {
    await network.startCoordinator();
    let wrongBy = 0;
    await network.startProbe(await network.makeProbe('Europe'), {
      host: { now: () => Date.now() + wrongBy },
    });
    await network.startProbe(await network.makeProbe('Asia'), { host: systemClock });
    const { target, monitor } = await watch(network);
    let [jumpedAt, wasWrong] = [0, false];
    const jump = () => {
      wrongBy += 60_000;
      jumpedAt = Date.now();
    };
    jump();
    const isRightAgain = async (): Promise<boolean> => {
      const times = (await resultsOf(network.sql, monitor))
        .filter(({ continent }) => continent === 'Europe')
        .map(({ at }) => Number(at));
      wasWrong ||= times.some((at) => at > Date.now() + 20_000);
      const isRight = times.some((at) => at >= jumpedAt && at < Date.now() + 5_000);
      // The jump itself must have been seen before it can be over; where a word with a coordinator
      // came before the next check, it is made again.
      if (isRight && !wasWrong) jump();
      return isRight && wasWrong;
    };
    await eventually(isRightAgain, 40_000, 100);
    expect(await incidentsOf(network.sql, monitor)).toEqual([]);
    expect(await alertsOf(network.sql, monitor)).toEqual([]);
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed, 40_000);
  });
});

describe.concurrent('a thousand results that come an hour late', () => {
  test('are all in the charts, once; an outage among them alerts no one and leaves nothing open', async ({
    network,
  }) => {
    await network.startCoordinator();
    await network.addProbe('Asia');
    const { monitor } = await watch(network, 1);
    const hourAgo = Date.now() - 3_600_000;
    await network.sql`update monitors set created_at = ${new Date(hourAgo - 60_000)} where id = ${monitor}`;
    const voice = await speakAs(await network.makeProbe('Europe'));
    const late = Array.from({ length: 1_000 }, (_, index) => ({
      seq: index + 1,
      at: hourAgo + index * 1_000,
      outcome: index >= 300 && index < 400 ? ('fail' as const) : ('ok' as const),
    }));
    const parts = Array.from({ length: 5 }, (_, index) =>
      late.slice(index * 200, (index + 1) * 200),
    );
    for (const [index, part] of [...parts.entries(), ...parts.entries()])
      await voice.say(monitor, part, index === 0 ? null : index * 200);
    const old = async () =>
      (await resultsOf(network.sql, monitor)).filter(({ at }) => Number(at) < hourAgo + 1_000_000);
    await eventually(async () => (await old()).length >= 1_000, 30_000);
    expect(await old()).toHaveLength(1_000);
    expect(
      (await incidentsOf(network.sql, monitor)).filter(
        (one) => one.resolved_at === null || one.confirmed_at !== null,
      ),
    ).toEqual([]);
    expect(await alertsOf(network.sql, monitor)).toEqual([]);
    await voice.close();
  });
});
