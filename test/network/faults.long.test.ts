import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { App } from '../../coordinator/app.ts';
import { connect } from '../../coordinator/database/connect.ts';
import { retrySetAside } from '../../coordinator/engine/queries.ts';
import { operate } from '../../coordinator/operator/operate.ts';
import { hourOf } from '../../coordinator/results/chunk.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { eventually, passed } from '../support/eventually.ts';
import { canMakeDisks, createSmallDisk, type SmallDisk } from '../support/hosts.ts';
import {
  alertsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  seenFrom,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { speakAs } from '../support/probes.ts';
import { hasBinaries } from '../support/services.ts';
import { type MortalServices, startMortalServices } from '../support/services-run.ts';
import { storedChecks } from '../support/stored-checks.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** Whom Postgres runs as where the tests run as root, and only root may mount disks. */
const noOne = 65_534;

/** What happens when parts fail: each fault for real. docs/troubleshooting.md names each of them. */
describe('faults', () => {
  let mortal: MortalServices;
  let network: Network;
  let coordinator: App;
  let target: Target;
  let monitor: string;

  beforeAll(async () => {
    mortal = await startMortalServices();
    network = await createNetwork({ services: mortal.services });
    target = await network.startTarget();
    coordinator = await network.startCoordinator();
    await network.addProbes('Asia', 'Europe');
    monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
  });
  afterAll(async () => {
    await network.close();
    await mortal.stop();
  });

  /** Every check that the target saw up to now is stored, once. */
  const everythingArrives = async (): Promise<void> => {
    const seen = target.hits.filter(({ url }) => url === '/').length;
    await eventually(async () => (await resultsOf(network.sql, monitor)).length >= seen, 40_000);
    const times = (await resultsOf(network.sql, monitor)).map(
      ({ continent, at }) => `${continent} ${Number(at)}`,
    );
    expect(new Set(times).size).toBe(times.length);
  };

  const moreHits = async (count: number): Promise<void> => {
    const from = target.hits.length;
    await eventually(() => target.hits.length >= from + count, 30_000);
  };

  describe.runIf(hasBinaries())('the network survives', () => {
    test('a nats-server that is killed: probes go on checking, and what they saw arrives when it is back', async () => {
      await mortal.nats.kill();
      await moreHits(4);
      await mortal.nats.start();
      await everythingArrives();
    });

    test('a bus whose store is wiped: assignments and unsent results come back from Postgres and the disks', async () => {
      await mortal.nats.kill();
      await moreHits(4);
      await mortal.nats.wipe();
      await mortal.nats.start();
      await everythingArrives();
      // A probe that knows nothing learns all of it from the new bus.
      const fresh = await network.addProbe('North America');
      await eventually(
        () => target.hits.some(({ continent }) => continent === 'North America'),
        30_000,
      );
      const added = await network.addMonitor({ target: target.url('/added'), interval_s: 1 });
      await seenFrom(network.sql, added, 3);
      await network.deleteMonitor(added);
      await fresh.close();
    });

    test('a Postgres that is killed: nothing that was seen is lost, and the outage of that time is dated right', async () => {
      await mortal.postgres.kill();
      target.answer(broken);
      await moreHits(4);
      await mortal.postgres.start();
      await incidentThat(network.sql, monitor, isConfirmed, 40_000);
      await everythingArrives();
      // Later checks may arrive before the first: the outage is then dated anew.
      const failed = (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1);
      const first = Math.min(...failed.map(({ at }) => Number(at)));
      await incidentThat(
        network.sql,
        monitor,
        (each) => isConfirmed(each) && Number(each.started_at) === first,
      );
      target.answer(fine);
      await incidentThat(network.sql, monitor, isResolved, 40_000);
    });

    test('both at once, and the coordinator too', async () => {
      await Promise.all([mortal.nats.kill(), mortal.postgres.kill()]);
      await moreHits(2);
      await coordinator.close().catch(() => undefined);
      await Promise.all([mortal.postgres.start(), mortal.nats.start()]);
      coordinator = await network.startCoordinator();
      await everythingArrives();
    });

    test('a message that cannot be worked on: it is set aside and shown, those behind it are not held up, and it counts once when it is retried in the end', async () => {
      const voice = await speakAs(await network.makeProbe('Europe'));
      const before = (await resultsOf(network.sql, monitor)).length;
      const at = Date.now();
      // Nothing else is as long.
      await network.sql`alter table journal add constraint no_poison
        check (octet_length(data) < 3000)`;
      const evidence = { body: randomBytes(6_000).toString('hex') };
      const other = { took_ms: 5, phases: null };
      await voice.say(monitor, [{ seq: 1, at, outcome: 'ok', ...other }]);
      await voice.say(
        monitor,
        [
          {
            seq: 2,
            at: at + 1,
            outcome: 'fail',
            ...other,
            cause: { class: 'poison', params: {} },
            evidence,
          },
        ],
        1,
      );
      await voice.say(monitor, [{ seq: 3, at: at + 2, outcome: 'ok', ...other }], 2);
      await eventually(
        async () => (await network.sql`select 1 from set_aside`).length === 1,
        40_000,
      );
      await eventually(async () => {
        const [row] = await network.sql<{ seq: number }[]>`
        select max(seq) as seq from watermarks where generation = ${voice.generation} and partition = ${partitionOf(monitor)}`;
        return row?.seq === 3;
      }, 40_000);
      expect((await resultsOf(network.sql, monitor)).length).toBeGreaterThanOrEqual(before + 2);
      const [aside] = await network.sql`select subject, reason from set_aside`;
      expect(aside?.reason).toContain('no_poison');
      const asked = async () =>
        network.sql.begin((transaction) => retrySetAside(transaction, null));
      await asked();
      await eventually(
        async () =>
          (await network.sql`select 1 from set_aside where attempts = 1 and retry_asked_at is null`)
            .length === 1,
      );
      await network.sql`alter table journal drop constraint no_poison`;
      const poison = async () =>
        (await storedChecks(network.sql, { monitor })).filter(({ cause }) => cause === 'poison');
      expect((await poison()).length).toBe(0);
      await Promise.all([asked(), asked()]);
      await eventually(async () => (await network.sql`select 1 from set_aside`).length === 0);
      expect((await poison()).length).toBe(1);
      await voice.close();
    });
  });
});

/**
 * Disks that are full, at the probe and at the database, and a bus that was wiped when nothing was
 * left to say.
 */
describe('disks', () => {
  let disk: SmallDisk | undefined;
  let mortal: MortalServices;
  let network: Network;
  let target: Target;

  beforeAll(async () => {
    mortal = await startMortalServices();
    network = await createNetwork({ services: mortal.services });
    target = await network.startTarget();
    await network.startCoordinator({ timing: { digestMs: 2_000 } });
    await network.addProbe('Europe');
  });
  afterAll(async () => {
    disk?.close();
    await network.close();
    await mortal.stop();
  });

  const moreHits = async (path: string, count: number): Promise<void> => {
    const hits = () => target.hits.filter(({ url }) => url === path).length;
    const from = hits();
    await eventually(() => hits() >= from + count, 30_000);
  };

  const everythingArrives = async (monitor: string, path: string): Promise<void> => {
    const seen = target.hits.filter(({ url }) => url === path).length;
    await eventually(async () => (await resultsOf(network.sql, monitor)).length >= seen, 40_000);
    const times = (await resultsOf(network.sql, monitor)).map(
      ({ continent, at }) => `${continent} ${Number(at)}`,
    );
    expect(new Set(times).size).toBe(times.length);
  };

  describe.runIf(hasBinaries() && canMakeDisks())('a full disk', () => {
    test('at a probe: it continues to check, reports from memory, and nothing is missing when there is space again', async () => {
      const made = await network.makeProbe('Asia');
      const small = createSmallDisk(join(mortal.folder, 'probe-disk'), 512);
      const probe = await network.startProbe({ ...made, folder: join(small.folder, 'data') });
      const monitor = await network.addMonitor({ target: target.url('/probe'), interval_s: 1 });
      await seenFrom(network.sql, monitor, 2);
      await small.fill();
      target.answer(broken);
      await moreHits('/probe', 4);
      await incidentThat(network.sql, monitor, isConfirmed);
      target.answer(fine);
      await incidentThat(network.sql, monitor, isResolved);
      await everythingArrives(monitor, '/probe');
      await small.free();
      await moreHits('/probe', 4);
      await everythingArrives(monitor, '/probe');
      await network.deleteMonitor(monitor);
      await probe.close();
      // Otherwise it would be counted on until it is taken for lost.
      await network.revokeProbe(made.id);
      small.close();
    });

    test('at the database: probes keep what it cannot store, and all of it is there, at its time, when there is space again', async () => {
      await network.addProbe('Asia');
      const monitor = await network.addMonitor({ target: target.url('/database'), interval_s: 1 });
      await seenFrom(network.sql, monitor, 2);
      const small = createSmallDisk(join(mortal.folder, 'tablespace'), 1_024, noOne);
      disk = small;
      const hour = new Date(hourOf(Date.now())).toISOString();
      const name = `journal_${hour.slice(0, 13).replaceAll(/[-T]/g, '')}`;
      // The files of a database are not to be moved while it runs, but a table may be put on
      // another disk.
      await network.sql.unsafe(`create tablespace small location '${small.folder}'`);
      await network.sql.unsafe(`alter table ${name} set tablespace small`);
      await small.fill();
      // What is left of the last page holds some more rows: only then is the disk full to Postgres,
      // too.
      await network.sql
        .unsafe(
          `insert into journal select '${hour}', 0, n, 0, repeat('x', 500)::bytea from generate_series(1, 20) n`,
        )
        .catch(() => undefined);
      await expect(
        network.sql.unsafe(
          `insert into journal select '${hour}', 0, n, 0, repeat('x', 500)::bytea from generate_series(1, 50) n`,
        ),
      ).rejects.toMatchObject({ code: '53100' });
      target.answer(broken);
      await moreHits('/database', 4);
      const firstBroken = target.hits.findLast(({ url }) => url === '/database')?.at ?? 0;
      await small.free();
      const incident = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
      expect(Number(incident.started_at)).toBeLessThan(firstBroken);
      await everythingArrives(monitor, '/database');
      target.answer(fine);
      await incidentThat(network.sql, monitor, isResolved, 40_000);
      expect(await network.sql`select 1 from set_aside`).toHaveLength(0);
      await network.sql.unsafe(`alter table ${name} set tablespace pg_default`);
      await network.sql.unsafe('drop tablespace small');
      await network.deleteMonitor(monitor);
    });
  });

  describe.runIf(hasBinaries())('a bus that was wiped', () => {
    test('while the last monitor was deleted: probes that held it drop it, although nothing is left to be sent to them', async () => {
      const monitor = await network.addMonitor({ target: target.url('/last'), interval_s: 1 });
      await seenFrom(network.sql, monitor, 1);
      await mortal.nats.kill();
      await mortal.nats.wipe();
      await network.deleteMonitor(monitor);
      await moreHits('/last', 2);
      await mortal.nats.start();
      // Two turns of everybody without a single check.
      await eventually(
        () => (target.hits.findLast(({ url }) => url === '/last')?.at ?? 0) < Date.now() - 5_000,
        60_000,
      );
    });
  });
});

/**
 * The recipe of docs/troubleshooting-database.md, "Back to a moment": a base backup, the database's own log, and a moment.
 */
describe('the recipe of the documentation', () => {
  let mortal: MortalServices;
  let network: Network;
  let archive: string;

  beforeAll(async () => {
    if (!hasBinaries()) return;
    archive = await mkdtemp(join(tmpdir(), 'antipode-archive-'));
    if (process.getuid?.() === 0) await chown(archive, noOne, noOne);
    await chmod(archive, 0o700);
    mortal = await startMortalServices({
      archive_mode: 'on',
      archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
    });
    network = await createNetwork({ services: mortal.services });
  });
  afterAll(async () => {
    await network?.close();
    await mortal?.stop();
    if (archive) await rm(archive, { recursive: true });
  });

  /** As pg_basebackup does, which the embedded Postgres has not. */
  const takeBase = async (folder: string): Promise<void> => {
    const sql = connect(mortal.services.postgres.url, { name: 'base backup', connections: 1 });
    try {
      await sql`select pg_backup_start('base', true)`;
      execFileSync('cp', ['-a', mortal.data, folder]);
      const [row] = await sql<{ labelfile: string }[]>`select labelfile from pg_backup_stop(false)`;
      for (const left of ['postmaster.pid', 'postmaster.opts', 'pg_wal'])
        await rm(join(folder, left), { recursive: true, force: true });
      await mkdir(join(folder, 'pg_wal'), { mode: 0o700 });
      await writeFile(join(folder, 'backup_label'), row?.labelfile ?? '');
    } finally {
      await sql.end();
    }
  };

  const goBackTo = async (base: string, moment: string): Promise<void> => {
    await mortal.postgres.kill();
    await rename(mortal.data, `${mortal.data}.lost`);
    const settings = [
      `restore_command = 'cp ${archive}/%f %p'`,
      `recovery_target_time = '${moment}'`,
      "recovery_target_action = 'promote'",
      '',
    ].join('\n');
    await writeFile(join(base, 'postgresql.auto.conf'), settings);
    await writeFile(join(base, 'recovery.signal'), '');
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${noOne}:${noOne}`, base]);
    await rename(base, mortal.data);
    await mortal.postgres.start();
  };

  describe.runIf(hasBinaries())('a database restored to a moment by its own log', () => {
    test('has what was before and not what came after; nothing is sent again, and open incidents end', async () => {
      const { sql } = network;
      const [early, late] = [await network.startTarget(), await network.startTarget()];
      const coordinator = await network.startCoordinator();
      await network.addProbe('Europe');
      await network.addProbe('Asia');
      const base = `${mortal.data}.base`;
      await takeBase(base);

      const before = await network.addMonitor({ target: early.url(), interval_s: 1 });
      await seenFrom(sql, before, 2);
      early.answer(broken);
      const outage = await incidentThat(sql, before, isConfirmed);
      await eventually(async () => (await alertsOf(sql, before))[0]?.state === 'due');
      const [moment] = await sql<{ at: string }[]>`select clock_timestamp()::text as at`;
      const after = await network.addMonitor({ target: late.url(), interval_s: 1 });
      await seenFrom(sql, after, 2);
      late.answer(broken);
      await incidentThat(sql, after, isConfirmed);

      await coordinator.close();
      const [wal] = await sql<{ name: string }[]>`select pg_walfile_name(pg_switch_wal()) as name`;
      await eventually(async () => {
        const [row] = await sql<
          { last: string | null }[]
        >`select last_archived_wal as last from pg_stat_archiver`;
        return (row?.last ?? '') >= (wal?.name ?? 'missing');
      });
      await goBackTo(base, moment?.at ?? '');

      const monitors = await eventually(() => sql<{ id: string }[]>`select id from monitors`);
      expect(monitors.map(({ id }) => id)).toEqual([before]);
      const said: string[] = [];
      const streams = {
        out: (text: string) => void said.push(text),
        err: (text: string) => void said.push(text),
        watched: false,
      };
      // A coordinator of that moment stands there as at work until its sign of life is old.
      const code = await eventually(
        async () =>
          (await operate(['backups', 'recovered'], network.environment, streams)) === 0
            ? 'done'
            : undefined,
        60_000,
      );
      expect([code, said.at(-1)]).toEqual([
        'done',
        expect.stringContaining('Start the coordinators'),
      ]);

      await network.startCoordinator();
      early.answer(fine);
      const ended = await incidentThat(sql, before, isResolved, 60_000);
      expect(ended).toMatchObject({
        id: outage.id,
        started_at: outage.started_at,
        confirmed_at: outage.confirmed_at,
      });
      expect(await sql<{ id: string }[]>`select id from incidents`).toEqual([{ id: outage.id }]);
      await eventually(async () => (await alertsOf(sql, before)).length === 2);
      expect((await alertsOf(sql, before)).map(({ event }) => event).toSorted()).toEqual([
        'down',
        'up',
      ]);
      // Nobody checks what this database does not know.
      await eventually(async () => {
        const count = late.hits.length;
        await passed(3_000);
        return late.hits.length === count;
      }, 60_000);
    });
  });
});
