import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readBackup } from '../../../coordinator/backups/restore.ts';
import { writeBackup } from '../../../coordinator/backups/write.ts';
import { migrate } from '../../../coordinator/database/migrate.ts';
import { setAside } from '../../../coordinator/engine/queries.ts';
import { createOrganisationLookup } from '../../../coordinator/gate/lookups.ts';
import { openNotice } from '../../../coordinator/health/notices.ts';
import { countRefused } from '../../../coordinator/health/refusals.ts';
import {
  type OperatorDependencies,
  runUnderstood,
  understand,
} from '../../../coordinator/operator/command-line.ts';
import { userNamed } from '../../../coordinator/people/queries.ts';
import { createTokens } from '../../../coordinator/tokens/authenticate.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { gateBench } from '../../support/gate.ts';
import { testSecretKey } from '../../support/people.ts';
import { runProgram } from '../../support/processes.ts';
import { createAccount, createDatabase, environmentOf } from '../../support/services.ts';

const bench = gateBench();
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-operator-'));
});
afterAll(() => rm(folder, { recursive: true }));

const dependencies = (): OperatorDependencies => ({
  gate: bench.gate,
  organisations: createOrganisationLookup(bench.sql),
  userNamed: (email) => userNamed(bench.sql, email),
  migrate: () => migrate(bench.sql),
  backup: (file, progress) => writeBackup(bench.sql, file, progress),
  backups: { nightly: async () => ({}), drillNewest: async () => ({}), takeUp: async () => 0 },
  restore: (file, replace, progress) => readBackup(bench.sql, file, replace, progress),
  keys: { SECRET_KEY: testSecretKey, NATS_CREDENTIALS: '-----BEGIN NATS USER JWT-----\nx\n' },
  rotateKey: () => bench.secrets.rotate(bench.sql),
  replaceSecretKey: (progress) => bench.secrets.replaceSecretKey(bench.sql, progress),
});

type Said = { readonly code: number; readonly out: string; readonly err: string };

const run = async (...argv: readonly string[]): Promise<Said> => {
  const said = { out: '', err: '' };
  const out = (text: string) => {
    said.out += text;
  };
  const err = (text: string) => {
    said.err += text;
  };
  const understood = understand(argv, { out, err, watched: false });
  const code =
    typeof understood === 'number'
      ? understood
      : await runUnderstood(understood, dependencies(), { out, err, watched: false });
  return { code, ...said };
};

/** The one object that --json prints. */
const json = async (...argv: readonly string[]): Promise<Record<string, unknown>> => {
  const { code, out, err } = await run(...argv, '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out.trimEnd().split('\n')).toHaveLength(1);
  return JSON.parse(out);
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const authenticated = async (token: unknown) => {
  const tokens = createTokens({
    sql: bench.sql,
    secretKey: testSecretKey,
    clock: systemClock,
    log: createLog({ name: 't', level: 'silent' }),
  });
  return tokens.authenticate(`Bearer ${text(token)}`).finally(tokens.close);
};

describe('the operator', () => {
  test('makes an organisation, a user and a token that works, and takes each away again', async () => {
    const { id } = await json(
      'organisation',
      'create',
      '--name',
      'Harbour',
      '--time-zone',
      'europe/berlin',
    );
    expect(
      await bench.sql`select name, plan, time_zone from organisations where id = ${text(id)}`,
    ).toEqual([{ name: 'Harbour', plan: 'self_hosted', time_zone: 'Europe/Berlin' }]);
    const ada = ['--email', 'ada@harbour.example', '--organisation', 'harbour'];
    await json('user', 'create', ...ada, '--password', 'correct horse', '--role', 'owner');
    for (const verb of ['mark', 'unmark'])
      expect((await json('user', verb, '--email', 'ada@harbour.example')).is_operator).toBe(
        verb === 'mark',
      );
    const made = await json('token', 'create', ...ada, '--name', 'CI', '--scope', 'read_write');
    expect(await authenticated(made.token)).toMatchObject({
      organisation: { id, name: 'Harbour' },
      role: 'owner',
      scope: 'read_write',
    });
    const listed = await json('token', 'list', '--organisation', 'Harbour');
    expect(listed).toMatchObject({
      items: [{ id: made.id, name: 'CI', scope: 'read_write' }],
      next_cursor: null,
    });
    expect(JSON.stringify(listed)).not.toContain(text(made.token));
    await json('token', 'revoke', '--id', text(made.id));
    await expect(authenticated(made.token)).rejects.toThrow('unknown');
    const second = await json('token', 'create', ...ada, '--name', 'CI', '--scope', 'read');
    expect((await json('member', 'role', ...ada, '--role', 'viewer')).role).toBe('viewer');
    await expect(authenticated(second.token)).rejects.toThrow('unknown');
    const third = await json('token', 'create', ...ada, '--name', 'CI', '--scope', 'read');
    await json('member', 'remove', ...ada);
    await expect(authenticated(third.token)).rejects.toThrow('unknown');
    expect((await run('member', 'remove', ...ada)).err).toContain('(member_not_found)');
    expect((await json('member', 'role', ...ada, '--role', 'admin')).role).toBe('admin');
  });

  test('watches with monitors and probes, and reads the address of a heartbeat', async () => {
    const { id: organisation } = await json('organisation', 'create', '--name', 'Watch');
    const probe = await json('probe', 'create', '--name', 'Oslo', '--continent', 'Europe');
    expect(text(probe.credentials).length).toBeGreaterThan(100);
    const own = await json(
      'probe',
      'create',
      '--name',
      'Cellar',
      '--continent',
      'Europe',
      '--organisation',
      'Watch',
    );
    const list = await json('probe', 'list');
    expect(list.items).toMatchObject([
      { id: probe.id, name: 'Oslo', organisation: null },
      { id: own.id, organisation },
    ]);
    expect((await json('probe', 'rotate', '--id', text(own.id))).credentials).not.toBe(
      own.credentials,
    );
    expect((await json('probe', 'revoke', '--id', text(own.id))).id).toBe(own.id);
    expect((await run('probe', 'revoke', '--id', text(own.id))).err).toContain('(probe_not_found)');
    expect((await run('probe', 'create', '--name', 'Oslo', '--continent', 'Europe')).err).toContain(
      '(name_taken)',
    );
    expect((await run('probe', 'create', '--name', 'Mars', '--continent', 'Mars')).err).toContain(
      '(continent_unknown)',
    );

    const here = ['--organisation', text(organisation)];
    const wanted = [
      '--type',
      'https',
      '--target',
      'https://example.com',
      '--interval-s',
      '30',
      '--config',
      '{"expected_status":[200]}',
    ];
    const https = await json('monitor', 'create', ...here, ...wanted);
    expect(https).toMatchObject({
      name: 'example.com',
      interval_s: 30,
      config: { expected_status: [200] },
    });
    const ping = await json(
      'monitor',
      'create',
      ...here,
      '--type',
      'heartbeat',
      '--name',
      'Nightly',
    );
    expect((await json('monitor', 'beat-address', '--id', text(ping.id))).address).toMatch(
      /^https:\/\/antipode\.test\/beat\/\S+$/,
    );
    expect((await run('monitor', 'beat-address', '--id', text(https.id))).err).toContain(
      '(not_a_heartbeat)',
    );
    const rotated = await json(
      'monitor',
      'rotate-beat-address',
      '--id',
      text(ping.id),
      '--overlap-s',
      '0',
    );
    expect(Date.parse(text(rotated.old_until))).toBe(bench.now);
    expect((await json('monitor', 'beat-address', '--id', text(ping.id))).address).toBe(
      rotated.address,
    );
    const day = await json('monitor', 'rotate-beat-address', '--id', text(ping.id));
    expect(Date.parse(text(day.old_until))).toBe(bench.now + 86_400_000);
    expect(
      (await run('monitor', 'rotate-beat-address', '--id', text(ping.id), '--overlap-s', '86401'))
        .err,
    ).toContain('overlap');
    expect(await json('monitor', 'beats', '--id', text(ping.id))).toEqual({
      items: [],
      next_cursor: null,
    });
    expect((await run('monitor', 'beats', '--id', text(https.id))).err).toContain(
      '(not_a_heartbeat)',
    );
    expect(
      (await json('status-page', 'create', ...here, '--name', 'Status', '--slug', 'watch')).slug,
    ).toBe('watch');
    expect(
      (await run('status-page', 'create', ...here, '--name', 'Status', '--slug', 'watch')).err,
    ).toContain('(slug_taken)');
  });

  test('shows an incident with its evidence', async () => {
    const monitor = await json(
      'monitor',
      'create',
      '--organisation',
      'Watch',
      '--type',
      'heartbeat',
      '--name',
      'Seen',
    );
    const id = newId();
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, cause, scope, layer)
      select ${id}, organisation_id, id, now(), '{"class":"probe_internal","params":{}}', 'everywhere', 'http' from monitors where id = ${text(monitor.id)}`;
    await bench.sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms, evidence)
      values (${id}, 'matrix', 'Asia', 'Singapore', now(), 0, 12.5, null), (${id}, 'seen', 'Europe', 'Oslo', now(), 1, 99, '{"status":503}')`;
    expect(await json('incident', 'show', '--id', id)).toMatchObject({
      id,
      monitor_name: 'Seen',
      cause: 'The probe failed in its own code',
      scope: 'everywhere',
      layer: 'http',
      checks: [
        { part: 'seen', probe: 'Oslo', outcome: 'fail', evidence: { status: 503 } },
        { part: 'matrix', probe: 'Singapore', outcome: 'ok', evidence: null },
      ],
    });
    expect((await run('incident', 'show', '--id', newId())).err).toContain('(incident_not_found)');
    expect((await run('incident', 'show', '--id', 'seven')).code).toBe(1);
  });

  test('reads the notices: open ones with what to do, resolved ones, and refused messages', async () => {
    const probe = newId();
    expect(await openNotice(bench.sql, 'probe_lost', probe, 'The probe Oslo is silent')).toBe(true);
    expect(await openNotice(bench.sql, 'probe_lost', probe, 'The probe Oslo is still silent')).toBe(
      false,
    );
    await bench.sql`insert into notices (kind, subject, message, began_at, ended_at) values
      ('bus_silent', 'bus', 'Most fell silent', now() - interval '3 days', now() - interval '2 days'),
      ('bus_silent', 'bus', 'Long ago', now() - interval '20 days', now() - interval '19 days')`;
    const notices = await json('notice', 'list');
    expect(notices).toMatchObject({
      open: 1,
      items: [
        {
          kind: 'probe_lost',
          subject: probe,
          message: 'The probe Oslo is still silent',
          ended_at: null,
        },
        { kind: 'bus_silent', message: 'Most fell silent', what_to_do: null },
      ],
    });
    expect((await run('notice', 'list')).out).toContain(
      'Start the probe again with the same data folder',
    );
    expect((await json('notice', 'list', '--days', '30')).items).toHaveLength(3);
    await countRefused(bench.sql, [
      { probe, reason: 'not_signed', count: 2 },
      { probe: 'unknown', reason: 'unknown_probe', count: 1 },
    ]);
    await countRefused(bench.sql, [{ probe, reason: 'not_signed', count: 3 }]);
    await bench.sql`insert into refused (day, probe, reason, count) values ((now() at time zone 'UTC')::date - 30, ${probe}, 'malformed', 9)`;
    expect(await json('refused', 'list')).toMatchObject({
      count: 6,
      items: [
        {
          probe,
          reason: 'not_signed',
          count: 5,
          meaning: expect.stringContaining('someone may impersonate it'),
        },
        { probe: 'unknown', probe_name: null, count: 1 },
      ],
    });
    expect((await json('refused', 'list', '--days', '40', '--probe', probe)).count).toBe(14);
  });

  test('lists messages that were set aside, retries them, and deletes them', async () => {
    const subject = (partition: string) => `result.europe.${partition}.${newId()}`;
    for (const data of [Buffer.from('{"v":1}'), Buffer.from([0xff, 0x00])]) {
      const message = { subject: subject('7'), reason: 'it cannot be', data };
      await setAside(bench.sql, message);
      // It came again after a kill.
      await setAside(bench.sql, message);
    }
    await setAside(bench.sql, {
      subject: 'nonsense',
      reason: 'no partition',
      data: Buffer.from('x'),
    });
    const { items, count } = await json('set-aside', 'list');
    expect(count).toBe(3);
    const [last = 0, second = 0, first = 0] = z
      .array(z.object({ id: z.number() }))
      .parse(items)
      .map(({ id }) => id);
    expect(await json('set-aside', 'show', '--id', String(first))).toMatchObject({
      data: '{"v":1}',
      encoding: 'text',
      bytes: 7,
      attempts: 0,
    });
    expect(await json('set-aside', 'show', '--id', String(second))).toMatchObject({
      data: '/wA=',
      encoding: 'base64',
    });
    expect(await json('set-aside', 'retry', '--id', String(first))).toEqual({ asked: [first] });
    expect(await json('set-aside', 'retry', '--all')).toEqual({ asked: [second] });
    expect(
      await bench.sql`select payload, partition from outbox where topic = 'set_aside' order by id`,
    ).toEqual([
      { payload: { id: first }, partition: 7 },
      { payload: { id: second }, partition: 7 },
    ]);
    expect(await json('set-aside', 'drop', '--id', String(last))).toEqual({ dropped: [last] });
    expect((await run('set-aside', 'drop', '--id', String(last))).err).toContain(
      '(set_aside_not_found)',
    );
    expect((await run('set-aside', 'show', '--id', '999999')).err).toContain(
      '(set_aside_not_found)',
    );
    for (const flags of [[], ['--id', String(first), '--all']])
      expect((await run('set-aside', 'drop', ...flags)).err).toContain('give its id');
    expect(await json('set-aside', 'drop', '--all')).toEqual({ dropped: [first, second] });
  });

  test('may leave an organisation without an owner, as the account pages may not', async () => {
    await json('organisation', 'create', '--name', 'Orphan');
    const last = ['--email', 'last@orphan.example', '--organisation', 'Orphan'];
    await json('user', 'create', ...last, '--password', 'correct horse', '--role', 'owner');
    expect((await json('member', 'role', ...last, '--role', 'member')).role).toBe('member');
  });

  test('rotates the key, backs up, and is not let restore over what there is', async () => {
    await json(
      'monitor',
      'create',
      '--organisation',
      'Watch',
      '--type',
      'https',
      '--target',
      'https://example.com',
      '--config',
      '{"bearer_token":"x"}',
    );
    expect((await json('key', 'rotate')).rewritten).toBeGreaterThan(0);
    expect((await json('secret-key', 'replace')).rewritten).toBe(0);
    const file = join(folder, 'all.backup');
    expect(await json('backup', '--file', file)).toMatchObject({ file });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const refused = await run('restore', '--file', file);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('not empty');
    expect((await run('restore', '--file', join(folder, 'none'))).err).toContain('ENOENT');
    expect(await json('restore', '--file', file, '--replace')).toMatchObject({ file });
  });
});

test('an organisation is named without case, and one that is spelt the same goes before others', async () => {
  const made = await json('organisation', 'create', '--name', 'watch');
  const into = (name: string) =>
    run('status-page', 'create', '--organisation', name, '--name', 'x', '--slug', 'of-watch');
  expect((await into('WATCH')).err).toContain('Several organisations are called "WATCH"');
  expect(await into('watch')).toMatchObject({ code: 0 });
  const [row] = await bench.sql`select organisation_id from status_pages where slug = 'of-watch'`;
  expect(row).toEqual({ organisation_id: made.id });
});

describe('an invalid command line', () => {
  test.each<[line: string, says: string]>([
    ['notice list --days 0', '--days: Input should be greater than or equal to 1'],
    ['set-aside show --id one', '--id takes a number, not "one"'],
    ['probe revoke --id 17', '--id: Input should be a valid UUID'],
    ['refused list --probe 17', '--probe: Input should be a valid UUID'],
    [
      'monitor create --organisation Watch --type https --target x --interval-s often',
      '--interval-s takes a number, not "often"',
    ],
    [
      'monitor create --organisation Watch --type dns --config {"n":9007199254740993}',
      'is not kept exactly',
    ],
    [
      'monitor create --organisation Watch --type https --target x --config {',
      '--config is not valid JSON',
    ],
  ])('%s', async (line, says) => {
    expect(await run(...line.split(' '))).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining(says),
    });
  });

  test('that is valid and refused by the service ends with 1 and the code', async () => {
    const said = await run(
      'monitor',
      'create',
      '--organisation',
      'Watch',
      '--type',
      'https',
      '--target',
      'nonsense',
    );
    expect(said.code).toBe(1);
    expect(said.err).toMatch(/^`target` must be .*\(target_invalid\)\n$/);
    expect(
      (
        await run(
          'user',
          'create',
          '--organisation',
          'Nowhere',
          '--email',
          'a@b.c',
          '--password',
          'xxxxxxxxxxx',
          '--role',
          'owner',
        )
      ).err,
    ).toContain('(organisation_not_found)');
  });
});

test('the command runs as a process of its own on an empty database, and prints for people', async () => {
  const [database, account] = [await createDatabase(), await createAccount()];
  const env = {
    ...environmentOf(database, account),
    SECRET_KEY: testSecretKey,
    PATH: process.env.PATH ?? '',
  };
  const main = join(import.meta.dirname, '../../../coordinator/main.ts');
  const typed = (...words: string[]) =>
    runProgram([process.execPath, main, 'operator', ...words], { env });
  const { out } = await typed('organisation', 'create', '--name', 'Alone');
  expect(out).toMatch(/^id +[0-9a-f-]{36}\nname +Alone\nplan +self_hosted\ntime_zone +UTC\n$/);
  expect(await typed('probe', 'lst')).toMatchObject({ code: 2 });
  await database.drop();
});
