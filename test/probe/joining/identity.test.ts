import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createProbeIdentities } from '../../../coordinator/probes/identities.ts';
import { readConfig, settingsGiven } from '../../../probe/config.ts';
import { checklist, judgeClock, judgeNode, type Line } from '../../../probe/joining/checklist.ts';
import { refuseHome } from '../../../probe/joining/install.ts';
import {
  keyOf,
  openIdentity,
  settingIn,
  withSettings,
  writeIdentity,
} from '../../../probe/joining/join.ts';
import { announcementKeys } from '../../../shared/bus/announcement.ts';
import { createKey, formatCredentials } from '../../../shared/bus/nkeys.ts';
import { withoutTemporal } from '../../support/eventually.ts';
import { testSecretKey } from '../../support/people.ts';
import { freePort } from '../../support/services.ts';

describe('identity', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-identity-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const ca = '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n';
  const enrolledAs = async (key: string) => {
    const of = { name: 'Nairobi', continent: 'Africa', organisation: null } as const;
    const place = {
      natsUrl: () => 'tls://bus.example:443',
      ca,
      anchors: () => ['anchor.example:443'],
    };
    const secretKeys = [testSecretKey];
    const identities = createProbeIdentities({
      account: createKey('account'),
      clock: { now: () => 1_800_000_000_000 },
      ...place,
      secretKeys,
    });
    const probe = '01a20648-85be-74ad-b540-3666ea0a5231';
    return {
      probe,
      ...of,
      base_url: 'https://antipode.example',
      ...identities.welcome(probe, of, key),
    };
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
      await writeIdentity(path, {
        ...made,
        enrolled: { ...(await enrolledAs(key.id)), anchors: ['anchor.example:443'] },
      });
      const config = readConfig({ PROBE_IDENTITY_FILE: path, PROBE_DATA_DIR: folder });
      expect(config).toMatchObject({ PROBE_NATS_CA: ca });
      expect(config.PROBE_CREDENTIALS).toMatchObject({
        name: 'Nairobi',
        continent: 'Africa',
        nats_url: 'tls://bus.example:443',
      });
      expect(config.PROBE_CREDENTIALS.nats_credentials).toContain(key.seed);
      expect(config.PROBE_CREDENTIALS).toMatchObject({
        signing_keys: [announcementKeys([testSecretKey])[0]?.id],
      });
      const other = '-----BEGIN CERTIFICATE-----\ny\n-----END CERTIFICATE-----';
      expect(
        readConfig({ PROBE_IDENTITY_FILE: path, PROBE_DATA_DIR: folder, PROBE_NATS_CA: other })
          .PROBE_NATS_CA,
      ).toBe(other);
      expect(config.authorities).toBeUndefined();
      await writeIdentity(path, {
        ...made,
        enrolled: { ...(await enrolledAs(key.id)), anchors: [] },
        authorities: other,
      });
      expect(readConfig({ PROBE_IDENTITY_FILE: path, PROBE_DATA_DIR: folder }).authorities).toBe(
        other,
      );
    });

    test('without enrolment, invalid, or beside settings of the operator: refused in words', async () => {
      const path = join(folder, 'identity.json');
      await openIdentity(path);
      const reading =
        (more: object = {}) =>
        () =>
          readConfig({ PROBE_IDENTITY_FILE: path, PROBE_DATA_DIR: folder, ...more });
      expect(reading()).toThrow('has not joined yet');
      expect(reading({ PROBE_CREDENTIALS: 'x' })).toThrow('are both set; keep one');
      const { seed } = JSON.parse(await readFile(path, 'utf8'));
      await writeFile(path, `half of it ${seed}`);
      expect(reading()).toThrow('is not the text of the file');
      await expect(openIdentity(path)).rejects.toThrow('move it away');
      await expect(openIdentity(path)).rejects.not.toThrow(seed);
    });
  });

  test('a clock that is right within five seconds is accepted; another is reported with its direction, and what to do', () => {
    expect(judgeClock(undefined).well).toBe(true);
    expect(judgeClock(-4_900)).toEqual({ well: true, words: "4.9 s ahead of the coordinator's" });
    expect(judgeClock(7_200_000)).toMatchObject({
      well: false,
      words: expect.stringContaining('7200.0 s behind'),
    });
    expect(judgeClock(7_200_000).words).toContain('timedatectl set-ntp true');
  });

  test('a Node without Temporal is reported to judge no cron schedules, and accepted all the same', () => {
    expect(judgeNode()).toEqual({ well: true, words: process.versions.node });
    withoutTemporal(() => {
      expect(judgeNode().well).toBe(true);
      expect(judgeNode().words).toContain(
        'heartbeats with a cron schedule cannot be judged from here',
      );
    });
  });

  test('a service cannot use a Node in a user’s home', () => {
    expect(() => refuseHome('/root/.nvm/versions/node/v26/bin/node')).toThrow(
      'install Node system-wide',
    );
    expect(() => refuseHome('/usr/bin/node')).not.toThrow();
  });
});

describe('checklist', () => {
  test('a host without a network reads for each check what to do, each with an exit code of its own', async () => {
    const nobody = `127.0.0.1:${await freePort()}`;
    const { seed } = createKey('user');
    const lines: Line[] = [];
    for await (const line of checklist({
      clockOffset: 60_000,
      entrance: { url: `nats://${nobody}`, credentials: formatCredentials({ jwt: 'x.y.z', seed }) },
      baseUrl: 'https://antipode.example',
      anchors: [nobody],
      folder: join(tmpdir(), crypto.randomUUID()),
      spoolMb: 1,
    }))
      lines.push(line);
    expect(lines.map(({ what, exit }) => [what, exit])).toEqual([
      ['node', 0],
      ['clock', 10],
      ['dns', 11],
      ['addresses', 12],
      ['bus', 13],
      ['anchors', 14],
      ['disk', 15],
    ]);
    const ill = new Map(lines.filter(({ well }) => !well).map(({ what, words }) => [what, words]));
    expect(ill.get('clock')).toContain('60.0 s behind');
    expect(ill.get('bus')).toContain('Open the way to that host and port');
    expect(ill.get('anchors')).toContain(`${nobody}: ECONNREFUSED`);
    expect(ill.get('disk')).toContain('cannot be written to');
  });
});

describe('the settings of a probe that systemd runs', () => {
  test('are those of the shell, of a probe alone, and neither its identity nor its folders', () => {
    const shell = {
      PATH: '/bin',
      PROBE_SPOOL_MB: '64',
      PROBE_DATA_DIR: '/x',
      PROBE_IDENTITY_FILE: '/y',
      PROBE_ALLOW_CIDRS: '',
      LOG_LEVEL: 'debug',
    };
    expect(settingsGiven(shell)).toEqual({ PROBE_SPOOL_MB: '64', LOG_LEVEL: 'debug' });
    expect(() => settingsGiven({ PROBE_ALLOW_CIDRS: 'here', LOG_LEVEL: 'loud' })).toThrow(
      /PROBE_ALLOW_CIDRS: must be addresses[\s\S]*LOG_LEVEL/,
    );
  });

  test('are written beside existing ones, and replace those of the same name', () => {
    const before = '# mine\nPROBE_PING_PORT=8090\nPROBE_SPOOL_MB=10\n\n';
    const after = withSettings(before, {
      PROBE_SPOOL_MB: '64',
      PROBE_ALLOW_CIDRS: '10.0.0.0/8,fd00::/8',
    });
    expect(after).toBe(
      '# mine\nPROBE_PING_PORT=8090\nPROBE_SPOOL_MB=64\nPROBE_ALLOW_CIDRS=10.0.0.0/8,fd00::/8\n',
    );
    expect(settingIn(after, 'PROBE_SPOOL_MB')).toBe('64');
    expect(settingIn(after, 'PROBE_CONCURRENCY')).toBeUndefined();
    expect(withSettings(after, { PROBE_SPOOL_MB: '64' }).endsWith('PROBE_SPOOL_MB=64\n')).toBe(
      true,
    );
  });

  test('survive what is in them: several lines, and what a reader would take for its own', () => {
    const certificate = '-----BEGIN CERTIFICATE-----\nMII+/=\n-----END CERTIFICATE-----';
    const text = withSettings(undefined, { PROBE_NATS_CA: certificate, PROBE_PING_HOST: 'a b' });
    expect(parseEnv(text)).toEqual({ PROBE_NATS_CA: certificate, PROBE_PING_HOST: 'a b' });
    expect(withSettings('', { LOG_LEVEL: '"$x`\\' })).toContain(String.raw`LOG_LEVEL="\"\$x\`\\"`);
  });
});
