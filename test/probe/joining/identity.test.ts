import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connect } from '../../../coordinator/database/connect.ts';
import { createProbeIdentities } from '../../../coordinator/probes/identities.ts';
import { readConfig } from '../../../probe/config.ts';
import { judgeClock, judgeNode } from '../../../probe/joining/checklist.ts';
import { refuseHome } from '../../../probe/joining/install.ts';
import { keyOf, openIdentity, writeIdentity } from '../../../probe/joining/join.ts';
import { announcementKeys } from '../../../shared/bus/announcement.ts';
import { createKey } from '../../../shared/bus/nkeys.ts';
import { withoutTemporal } from '../../support/eventually.ts';
import { testSecretKey } from '../../support/people.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-identity-'));
});
afterEach(() => rm(folder, { recursive: true }));

const ca = '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n';
/** Connects to nothing as long as nothing is asked. */
const noDatabase = connect('postgres://nobody@127.0.0.1:1/none', { name: 'test', connections: 1 });
const enrolledAs = async (key: string) => {
  const of = { name: 'Nairobi', continent: 'Africa', organisation: null } as const;
  const place = { natsUrl: 'tls://bus.example:443', tlsFirst: true, ca, anchors: () => ['anchor.example:443'] };
  const signing = { secretKeys: [testSecretKey], requireSigned: 'true' } as const;
  const identities = createProbeIdentities({
    account: createKey('account'),
    clock: { now: () => 1_800_000_000_000 },
    ...place,
    ...signing,
  });
  const probe = '01a20648-85be-74ad-b540-3666ea0a5231';
  return { probe, ...of, base_url: 'https://antipode.example', ...(await identities.welcome(noDatabase, probe, of, key)) };
};

describe('the identity of a host', () => {
  test('is made once, readable by its owner alone, and the same at the next try', async () => {
    const path = join(folder, 'deep', 'identity.json');
    const made = await openIdentity(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await openIdentity(path)).toEqual(made);
    expect(made.enrolled).toBeNull();
  });

  test('with what the coordinator answered is all that a probe needs: key, bus, TLS first, the pinned authority', async () => {
    const path = join(folder, 'identity.json');
    const made = await openIdentity(path);
    const key = keyOf(made);
    await writeIdentity(path, { ...made, enrolled: { ...(await enrolledAs(key.id)), anchors: ['anchor.example:443'] } });
    const config = readConfig({ PROBE_IDENTITY_FILE: path, PROBE_DATA_DIR: folder });
    expect(config).toMatchObject({ PROBE_NATS_TLS_FIRST: true, PROBE_NATS_CA: ca });
    expect(config.PROBE_CREDENTIALS).toMatchObject({ name: 'Nairobi', continent: 'Africa', nats_url: 'tls://bus.example:443' });
    expect(config.PROBE_CREDENTIALS.nats_credentials).toContain(key.seed);
    expect(config.PROBE_CREDENTIALS).toMatchObject({ require_signed: true, signing_keys: [announcementKeys([testSecretKey])[0]?.id] });
    const other = '-----BEGIN CERTIFICATE-----\ny\n-----END CERTIFICATE-----';
    expect(readConfig({ PROBE_IDENTITY_FILE: path, PROBE_DATA_DIR: folder, PROBE_NATS_CA: other }).PROBE_NATS_CA).toBe(other);
    expect(config.authorities).toBeUndefined();
    await writeIdentity(path, { ...made, enrolled: { ...(await enrolledAs(key.id)), anchors: [] }, authorities: other });
    expect(readConfig({ PROBE_IDENTITY_FILE: path, PROBE_DATA_DIR: folder }).authorities).toBe(other);
  });

  test('that nobody enrolled, that is none, or beside a word of the operator: refused in words', async () => {
    const path = join(folder, 'identity.json');
    await openIdentity(path);
    const reading =
      (more: object = {}) =>
      () =>
        readConfig({ PROBE_IDENTITY_FILE: path, PROBE_DATA_DIR: folder, ...more });
    expect(reading()).toThrow('is of no probe yet');
    expect(reading({ PROBE_CREDENTIALS: 'x' })).toThrow('are both set; keep one');
    const { seed } = JSON.parse(await readFile(path, 'utf8'));
    await writeFile(path, `half of it ${seed}`);
    expect(reading()).toThrow('is not the text of the file');
    await expect(openIdentity(path)).rejects.toThrow('move it away');
    await expect(openIdentity(path)).rejects.not.toThrow(seed);
  });
});

test('a clock that is right within five seconds is well; another says which way it is off, and what to do', () => {
  expect(judgeClock(undefined).well).toBe(true);
  expect(judgeClock(-4_900)).toEqual({ well: true, words: "4.9 s ahead of the coordinator's" });
  expect(judgeClock(7_200_000)).toMatchObject({ well: false, words: expect.stringContaining('7200.0 s behind') });
  expect(judgeClock(7_200_000).words).toContain('timedatectl set-ntp true');
});

test('a Node without Temporal is said to judge no cron schedules, and is well all the same', () => {
  expect(judgeNode()).toEqual({ well: true, words: process.versions.node });
  withoutTemporal(() => {
    expect(judgeNode().well).toBe(true);
    expect(judgeNode().words).toContain('heartbeats with a cron schedule cannot be judged from here');
  });
});

test('a service cannot use a Node that lies in somebody’s home', () => {
  expect(() => refuseHome('/root/.nvm/versions/node/v26/bin/node')).toThrow('install Node for the whole machine');
  expect(() => refuseHome('/usr/bin/node')).not.toThrow();
});
