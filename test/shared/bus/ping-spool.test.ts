import { appendFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import type { PingMessage } from '../../../shared/bus/messages.ts';
import { openPingSpool, type SpooledPing } from '../../../shared/bus/ping-spool.ts';
import { pingFingerprint } from '../../../shared/checks/heartbeat/config.ts';
import { silentLog } from '../../probe/support/surroundings.ts';
import { canMakeDisks, createSmallDisk } from '../../support/hosts.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const folder = async (): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), 'antipode-beats-'));
  ends.push(() => rm(made, { recursive: true, force: true }));
  return made;
};

const entry = (at: number, more: Partial<PingMessage> = {}): SpooledPing => ({
  organisation: newId(),
  monitor: newId(),
  ping: {
    v: 1,
    id: newId(),
    key: pingFingerprint('a'),
    kind: 'success',
    exit_code: null,
    at,
    rid: null,
    method: 'GET',
    body: '',
    ear: 'eu',
    ...more,
  },
});

describe('pings on the disk', () => {
  test('come back in order after a restart, also behind a line that a crash cut off', async () => {
    const path = join(await folder(), 'beats.jsonl');
    const before = await openPingSpool(path, silentLog);
    const kept = [entry(1), entry(2), entry(3)];
    await Promise.all(kept.map(before.append));
    await before.close();
    await appendFile(path, JSON.stringify(entry(4)).slice(0, 50));
    const after = await openPingSpool(path, silentLog);
    await after.append(entry(5));
    await after.close();
    const again = await openPingSpool(path, silentLog);
    const handed: number[] = [];
    await again.drain(async ({ ping }) => void handed.push(ping.at));
    expect(handed).toEqual([1, 2, 3, 5]);
    await again.close();
    const empty = await openPingSpool(path, silentLog);
    expect(empty.waiting()).toBe(0);
    await empty.close();
  });

  test('stay until they are handed over, whatever comes meanwhile', async () => {
    const spool = await openPingSpool(join(await folder(), 'beats.jsonl'), silentLog);
    ends.push(spool.close);
    const monitor = newId();
    await Promise.all([1, 2, 3].map((at) => spool.append({ ...entry(at), monitor })));
    const handed: number[] = [];
    expect([spool.holds(monitor), spool.holds(newId())]).toEqual([true, false]);
    await expect(
      spool.drain(async ({ ping }) => {
        if (ping.at === 2) throw new Error('the bus is away again');
        handed.push(ping.at);
      }),
    ).rejects.toThrow('away');
    expect(spool.waiting()).toBe(2);
    const late = spool.append({ ...entry(4), monitor });
    await Promise.all([late, spool.drain(async ({ ping }) => void handed.push(ping.at))]);
    await spool.drain(async ({ ping }) => void handed.push(ping.at));
    expect(handed).toEqual([1, 2, 3, 4]);
    expect([spool.waiting(), spool.holds(monitor)]).toEqual([0, false]);
  });
});

describe.runIf(canMakeDisks())('pings on a disk that is full', () => {
  test('are refused while it is, and those behind them are read again after a crash', async () => {
    const small = createSmallDisk(join(await folder(), 'disk'), 64);
    ends.push(async () => small.close());
    const path = join(small.folder, 'beats.jsonl');
    const spool = await openPingSpool(path, silentLog);
    const long = { body: 'x'.repeat(9_000) };
    await spool.append(entry(1, long));
    await small.fill();
    // The last page of the file has room for a part of it.
    await expect(spool.append(entry(2, long))).rejects.toThrow('ENOSPC');
    await small.free();
    await Promise.all([3, 4].map((at) => spool.append(entry(at))));
    await spool.append(entry(5));
    await spool.close();
    const after = await openPingSpool(path, silentLog);
    ends.push(after.close);
    const handed: number[] = [];
    await after.drain(async ({ ping }) => void handed.push(ping.at));
    expect(handed).toEqual([1, 3, 4, 5]);
  });
});

describe('many pings on the disk', () => {
  test('are sent in parallel, so that none waits for those before it; those of one monitor in order', async () => {
    const spool = await openPingSpool(join(await folder(), 'beats.jsonl'), silentLog);
    ends.push(spool.close);
    const monitors = Array.from({ length: 50 }, () => newId());
    await Promise.all(
      [1, 2, 3].flatMap((at) => monitors.map((monitor) => spool.append({ ...entry(at), monitor }))),
    );
    const handed: string[] = [];
    const all = Promise.withResolvers<void>();
    const under = new Set<string>();
    await spool.drain(async ({ monitor, ping }) => {
      expect(under.has(monitor)).toBe(false);
      under.add(monitor);
      // Nobody goes on before the first ping of every monitor is on its way.
      if (under.size === monitors.length) all.resolve();
      await all.promise;
      under.delete(monitor);
      handed.push(`${monitor} ${ping.at}`);
    });
    for (const monitor of monitors)
      expect(handed.filter((one) => one.startsWith(monitor))).toEqual(
        [1, 2, 3].map((at) => `${monitor} ${at}`),
      );
    expect(spool.waiting()).toBe(0);
  });

  test('that come all the time do not let a file grow without limit, and waiting ones are found after a crash', async () => {
    const path = join(await folder(), 'beats.jsonl');
    const spool = await openPingSpool(path, silentLog);
    const body = 'x'.repeat(10_000);
    const said = Array.from({ length: 1_000 }, (_, at) => entry(at, { body }));
    await Promise.all(said.map(spool.append));
    const handed = new Set<number>();
    const coming: Promise<void>[] = [];
    let rounds = 0;
    const draining = spool.drainTogether(async (waiting) => {
      rounds += 1;
      // Some come while these are under way, and some while the file is written anew.
      for (let count = 0; count < 5; count += 1) {
        const next = entry(said.length, { body });
        said.push(next);
        coming.push(spool.append(next));
      }
      await coming.at(-3);
      if (rounds > 300) throw new Error('the way is gone');
      const some = waiting.slice(0, 100);
      for (const { ping } of some) handed.add(ping.at);
      return { handed: new Set(some.map(({ ping }) => ping.id)), failures: [] };
    });
    await expect(draining).rejects.toThrow('gone');
    await Promise.all(coming);
    expect(said.length * body.length).toBeGreaterThan(24_000_000);
    expect((await stat(path)).size).toBeLessThan(9_000_000);
    await spool.close();
    const after = await openPingSpool(path, silentLog);
    const left = new Set<number>();
    await after.drain(async ({ ping }) => void left.add(ping.at));
    await after.close();
    expect(said.filter(({ ping }) => !handed.has(ping.at) && !left.has(ping.at))).toEqual([]);
    expect(left.size).toBeGreaterThan(0);
    expect((await stat(path)).size).toBe(0);
  });

  test('are kept where the sending failed, and no others', async () => {
    const spool = await openPingSpool(join(await folder(), 'beats.jsonl'), silentLog);
    ends.push(spool.close);
    const [bad, good] = [newId(), newId()];
    for (const at of [1, 2])
      for (const monitor of [bad, good]) await spool.append({ ...entry(at), monitor });
    const handed: string[] = [];
    const handOver = async ({ monitor, ping }: SpooledPing): Promise<void> => {
      if (monitor === bad && handed.length < 2) throw new Error('refused');
      handed.push(`${monitor} ${ping.at}`);
    };
    await expect(spool.drain(handOver)).rejects.toThrow('refused');
    expect(spool.waiting()).toBe(2);
    await spool.drain(handOver);
    expect(handed).toEqual([`${good} 1`, `${good} 2`, `${bad} 1`, `${bad} 2`]);
  });
});
