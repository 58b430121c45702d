import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../coordinator/database/connect.ts';
import { operate } from '../../coordinator/operator/operate.ts';
import { eventually, passed } from '../support/eventually.ts';
import { alertsOf, incidentThat, isConfirmed, isResolved, seenFrom } from '../support/incidents.ts';
import { type MortalServices, startMortalServices } from '../support/mortal-services.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { hasBinaries } from '../support/services.ts';
import { broken, fine } from '../support/targets.ts';

/** The recipe of RUNBOOK, "Back to a moment": a base backup, the database's own log, and a moment. */

/** Whom Postgres runs as where the tests run as root. */
const noOne = 65_534;

let mortal: MortalServices;
let network: Network;
let archive: string;

beforeAll(async () => {
  if (!hasBinaries()) return;
  archive = await mkdtemp(join(tmpdir(), 'antipode-archive-'));
  if (process.getuid?.() === 0) await chown(archive, noOne, noOne);
  await chmod(archive, 0o700);
  mortal = await startMortalServices({ archive_mode: 'on', archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f` });
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
    for (const left of ['postmaster.pid', 'postmaster.opts', 'pg_wal']) await rm(join(folder, left), { recursive: true, force: true });
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

describe.runIf(hasBinaries())('a database brought back to a moment by its own log', () => {
  test('has what was before and not what came after; nothing is told anew, and what was begun ends', async () => {
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
      const [row] = await sql<{ last: string | null }[]>`select last_archived_wal as last from pg_stat_archiver`;
      return (row?.last ?? '') >= (wal?.name ?? 'missing');
    });
    await goBackTo(base, moment?.at ?? '');

    const monitors = await eventually(() => sql<{ id: string }[]>`select id from monitors`);
    expect(monitors.map(({ id }) => id)).toEqual([before]);
    const said: string[] = [];
    const streams = { out: (text: string) => void said.push(text), err: (text: string) => void said.push(text), watched: false };
    // A coordinator of that moment stands there as at work until its sign of life is old.
    const code = await eventually(
      async () => ((await operate(['backups', 'recovered'], network.environment, streams)) === 0 ? 'done' : undefined),
      60_000,
    );
    expect([code, said.at(-1)]).toEqual(['done', expect.stringContaining('Start the coordinators')]);

    await network.startCoordinator();
    early.answer(fine);
    const ended = await incidentThat(sql, before, isResolved, 60_000);
    expect(ended).toMatchObject({ id: outage.id, started_at: outage.started_at, confirmed_at: outage.confirmed_at });
    expect(await sql<{ id: string }[]>`select id from incidents`).toEqual([{ id: outage.id }]);
    await eventually(async () => (await alertsOf(sql, before)).length === 2);
    expect((await alertsOf(sql, before)).map(({ event }) => event).toSorted()).toEqual(['down', 'up']);
    // Nobody checks what this database does not know.
    await eventually(async () => {
      const count = late.hits.length;
      await passed(3_000);
      return late.hits.length === count;
    }, 60_000);
  });
});
