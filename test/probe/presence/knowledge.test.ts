import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAnnouncementReader } from '../../../probe/presence/announcements.ts';
import {
  openNetworkKnowledge,
  openOwnCredentials,
  watchBusEndpoints,
} from '../../../probe/presence/knowledge.ts';
import { createSupervisor } from '../../../shared/actor/supervisor.ts';
import { createLog } from '../../../shared/base/log.ts';
import { announcementKeys, createAnnounce } from '../../../shared/bus/announcement.ts';
import { isRenewalDue, probePermissions } from '../../../shared/bus/identity.ts';
import {
  createKey,
  formatCredentials,
  mintUser,
  parseCredentials,
} from '../../../shared/bus/nkeys.ts';
import { deriveNetworkKey, sealBox, sealKeyTo } from '../../../shared/checks/sealed-secrets.ts';
import { eventually } from '../../support/eventually.ts';
import { assignmentOf } from '../support/checkers.ts';
import { silentLog as log } from '../support/surroundings.ts';

describe('what a probe knows of its network', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-knowledge-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const open = () => openNetworkKnowledge({ folder, signingKeys: ['given'], log });
  const key = deriveNetworkKey('secret of the installation', 'Europe', 1);
  const nothing = { base_url: '', anchors: [], seal_keys: {}, signing: { keys: ['newer'] } };

  const secretMonitor = () => {
    const open = assignmentOf('https://a.example/', {
      config: { basic_auth: { username: 'me', password: '***' } },
    });
    return {
      ...open,
      sealed: sealBox(key, JSON.stringify({ 'basic_auth/password': 'hush' }), open.monitor),
    };
  };

  test('is restored after a restart, keys included', async () => {
    const knowledge = await open();
    expect(knowledge.trust()).toEqual(['given']);
    knowledge.learn({
      ...nothing,
      base_url: 'https://a.example',
      anchors: ['a.example:443'],
      seal_keys: { [key.id]: sealKeyTo(knowledge.sealKey, key) },
    });
    await knowledge.settled();
    const again = await open();
    expect([again.baseUrl(), again.anchors(), again.sealKey]).toEqual([
      'https://a.example',
      ['a.example:443'],
      knowledge.sealKey,
    ]);
    expect(again.trust()).toEqual(['newer']);
    expect(again.unseal(secretMonitor()).config).toEqual({
      basic_auth: { username: 'me', password: 'hush' },
    });
  });

  test('is never on disk with a key or a secret in clear', async () => {
    const knowledge = await open();
    knowledge.learn({ ...nothing, seal_keys: { [key.id]: sealKeyTo(knowledge.sealKey, key) } });
    await knowledge.settled();
    const disk = await readFile(join(folder, 'network.json'), 'utf8');
    expect(disk).not.toContain(key.bytes.toString('base64'));
    expect(disk).not.toContain(key.bytes.toString('hex'));
  });

  test('loses a key when the coordinator no longer names it', async () => {
    const knowledge = await open();
    knowledge.learn({ ...nothing, seal_keys: { [key.id]: sealKeyTo(knowledge.sealKey, key) } });
    knowledge.learn(nothing);
    expect(() => knowledge.unseal(secretMonitor())).toThrow(key.id);
    await knowledge.settled();
  });

  test('keeps a key that is named no more for as long as something is held under it, also over a restart', async () => {
    const next = deriveNetworkKey('secret of the installation', 'Europe', 2);
    const knowledge = await open();
    const held = secretMonitor();
    knowledge.learn({ ...nothing, seal_keys: { [key.id]: sealKeyTo(knowledge.sealKey, key) } });
    const reply = { ...nothing, seal_keys: { [next.id]: sealKeyTo(knowledge.sealKey, next) } };
    knowledge.learn(reply, () => new Set([key.id]));
    await knowledge.settled();
    const again = await open();
    expect(again.unseal(held).config).toEqual({ basic_auth: { username: 'me', password: 'hush' } });
    again.learn(reply, () => new Set([next.id]));
    expect(() => again.unseal(held)).toThrow(key.id);
    await again.settled();
    expect(await readFile(join(folder, 'network.json'), 'utf8')).not.toContain(key.id);
  });

  test('asks for a key that something is sealed with, until it gets it', async () => {
    const knowledge = await open();
    expect(knowledge.isWanting()).toBe(false);
    knowledge.want(key.id);
    knowledge.learn(nothing);
    expect(knowledge.isWanting()).toBe(true);
    knowledge.learn({ ...nothing, seal_keys: { [key.id]: sealKeyTo(knowledge.sealKey, key) } });
    knowledge.want(key.id);
    expect(knowledge.isWanting()).toBe(false);
    await knowledge.settled();
  });

  test('leaves an assignment without secrets as it is', async () => {
    const assignment = assignmentOf('https://a.example/');
    expect((await open()).unseal(assignment)).toBe(assignment);
  });

  test('starts empty when its file is damaged', async () => {
    await writeFile(join(folder, 'network.json'), '{"v":1,');
    expect((await open()).anchors()).toEqual([]);
  });
});

describe('credentials of a probe', () => {
  const day = 86_400_000;
  const account = createKey('account');
  const key = createKey('user');
  const began = 1_800_000_000_000;

  const jwtUntil = (
    days: number | undefined,
    of: {
      readonly account?: typeof account;
      readonly user?: string;
    } = {},
  ): string =>
    mintUser(
      {
        name: 'p',
        user: of.user ?? key.id,
        account: of.account ?? account,
        permissions: probePermissions({ probe: 'p', continent: 'Europe', organisation: 'o' }),
        ...(days === undefined ? {} : { expiresAt: began + days * day }),
      },
      began,
    );

  let folder: string;
  let entered: number;
  const bus = {
    reconnect: async () => {
      entered += 1;
    },
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-own-'));
    entered = 0;
  });
  afterEach(() => rm(folder, { recursive: true }));

  const open = (jwt: string) =>
    openOwnCredentials({
      folder,
      given: formatCredentials({ jwt, seed: key.seed }),
      log,
    });

  test('are due when two thirds of their life are over, and not before', () => {
    const life = { issued_at: began, ends_at: began + 30 * day };
    expect(isRenewalDue(life, began + 20 * day - 1)).toBe(false);
    expect(isRenewalDue(life, began + 20 * day)).toBe(true);
    expect(isRenewalDue(life, began + 40 * day)).toBe(true);
  });

  test('that have ended say what to do, and joining again brings newer ones than those on the disk', async () => {
    const own = await open(jwtUntil(30));
    expect(own.ended(began + 30 * day - 1)).toBeUndefined();
    expect(own.ended(began + 30 * day)).toContain('antipode-probe.mjs join');
    expect((await open(jwtUntil(undefined))).ended(began + 900 * day)).toBeUndefined();
    own.hear({ jwt: jwtUntil(50) }, bus);
    await eventually(() => entered === 1);
    const joined = await open(jwtUntil(90));
    expect(joined.ended(began + 60 * day)).toBeUndefined();
  });

  test('that never end are not reported as ending, nor replaced', async () => {
    const own = await open(jwtUntil(undefined));
    expect(own.described()).toEqual({});
    own.hear({ jwt: jwtUntil(60) }, bus);
    expect(parseCredentials(own.text()).jwt).toBe(jwtUntil(undefined));
    expect(entered).toBe(0);
  });

  test('are renewed: first on the disk, then the bus is entered again; and a later start uses them', async () => {
    const own = await open(jwtUntil(30));
    expect(own.described()).toMatchObject({
      credentials: { key: key.id, issued_at: began, ends_at: began + 30 * day },
    });
    own.hear({ jwt: jwtUntil(50) }, bus);
    await eventually(() => entered === 1);
    expect(parseCredentials(own.text())).toEqual({ jwt: jwtUntil(50), seed: key.seed });
    expect((await stat(join(folder, 'renewed.jwt'))).mode & 0o777).toBe(0o600);
    expect((await open(jwtUntil(30))).text()).toBe(own.text());
    // Whoever was given newer ones than those on the disk goes on with these.
    expect(parseCredentials((await open(jwtUntil(80))).text()).jwt).toBe(jwtUntil(80));
  });

  test('of another key, of another account, shorter ones, or an invalid JWT change nothing', async () => {
    const own = await open(jwtUntil(30));
    const others = [
      jwtUntil(50, { user: createKey('user').id }),
      jwtUntil(50, { account: createKey('account') }),
      jwtUntil(20),
      'x',
    ];
    for (const jwt of others) own.hear({ jwt }, bus);
    own.hear({}, bus);
    expect(parseCredentials(own.text()).jwt).toBe(jwtUntil(30));
    expect(entered).toBe(0);
    await expect(readFile(join(folder, 'renewed.jwt'))).rejects.toThrow();
  });

  test('that cannot be read on the disk are replaced by the configured ones', async () => {
    await writeFile(join(folder, 'renewed.jwt'), 'half of it');
    expect(parseCredentials((await open(jwtUntil(30))).text()).jwt).toBe(jwtUntil(30));
  });
});

describe('announcements', () => {
  const keys = announcementKeys(['a'.repeat(32)]);
  const log = createLog({ name: 'test', level: 'silent' });

  test('an announcement to a probe counts on its own subject alone, as the server delivers it, and not after a newer one', () => {
    let now = 100_000;
    const reader = createAnnouncementReader({
      trust: () => keys.map(({ id }) => id),
      now: () => now,
      log: log,
    });
    const announce = createAnnounce(keys, () => now);
    const signed = (subject: string) => {
      const data = Buffer.from('{}');
      const [headers = {}] = announce([{ subject, data }]);
      return { subject, data, header: (name: string) => headers[name] };
    };
    const earlier = signed('look.p');
    expect(reader.readNow(earlier, 'look.p')).toBe(true);
    // What the server delivers of a stream keeps the subject that it has there.
    expect(reader.readNow(signed('assign.europe.m'), 'look.p')).toBe(false);
    expect(reader.readNow(signed('look.q'), 'look.p')).toBe(false);
    expect(reader.refused()).toBe(2);
    now += 10_000;
    expect(reader.readNow(signed('look.p'), 'look.p')).toBe(true);
    expect(reader.readNow(earlier, 'look.p')).toBe(false);
    expect(reader.refused()).toBe(3);
  });
});

test('a bus of its own is closed to checks, and the coordinators’ address, where it comes in by a websocket, is not', async () => {
  const supervisor = createSupervisor<'bus addresses'>(log);
  const closed = async (url: string) => (await watchBusEndpoints(url, supervisor, log)).bus();
  expect(await closed('nats://127.0.0.1:4223')).toEqual([{ address: '127.0.0.1', port: 4_223 }]);
  expect(await closed('ws://127.0.0.1:8080/bus')).toEqual([]);
  expect(await closed('wss://antipode.invalid/bus')).toEqual([]);
  await supervisor.close();
});
