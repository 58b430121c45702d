import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { enqueue } from '../../coordinator/database/outbox.ts';
import { createProbe } from '../../probe/app.ts';
import { readConfig } from '../../probe/config.ts';
import { readIfThere } from '../../probe/disk/files.ts';
import { newId } from '../../shared/base/crypto.ts';
import { printProbeCredentials, probeLimits, probePermissions } from '../../shared/bus/identity.ts';
import { enterOnce } from '../../shared/bus/nats.ts';
import { createKey, issueCredentials, keyFromSeed, mintUser, readJwt } from '../../shared/bus/nkeys.ts';
import { eventually } from '../support/eventually.ts';
import { resultsOf } from '../support/monitors.ts';
import { createNetwork, type Network, testLog } from '../support/network.ts';

let network: Network;
let folder: string;
const day = 86_400_000;

beforeAll(async () => {
  network = await createNetwork();
  folder = await mkdtemp(join(tmpdir(), 'antipode-renewal-'));
});
afterAll(async () => {
  await network?.close();
  await rm(folder, { recursive: true, force: true });
});

test('a probe whose credentials have five days left gets new ones with its presence, is on the bus with them, and keeps them', async () => {
  await network.startCoordinator();
  const [probe, key, now] = [newId(), createKey('user'), Date.now()];
  const keys = JSON.stringify([{ key: key.id, until: null }]);
  await network.sql`insert into probes (id, name, continent, keys) values (${probe}, 'Old', 'Africa', ${keys}::text::jsonb)`;
  const permissions = probePermissions({ probe, continent: 'Africa', organisation: null });
  const account = keyFromSeed(network.account.accountSeed, 'account');
  const user = { name: 'Old', user: key.id, account, permissions, limits: probeLimits, expiresAt: now + 5 * day };
  const enrolled = {
    ...{ probe, name: 'Old', continent: 'Africa', organisation: null, nats_url: network.account.url, nats_tls_first: false, nats_ca: null },
    ...{ jwt: mintUser(user, now - 25 * day), base_url: '', anchors: [] },
  };
  const config = readConfig({ PROBE_IDENTITY: JSON.stringify({ v: 1, seed: key.seed, enrolled }), PROBE_DATA_DIR: folder });
  const seen = async () => {
    const [row] = await network.sql<{ last_seen_at: Date | null }[]>`select last_seen_at from probes where id = ${probe}`;
    return row?.last_seen_at?.getTime() ?? 0;
  };

  const app = await createProbe(config, { log: testLog() });
  const renewed = await eventually(() => readIfThere(join(folder, 'renewed.jwt')));
  expect(readJwt(renewed).sub).toBe(key.id);
  expect((readJwt(renewed).exp ?? 0) * 1_000).toBeGreaterThan(now + 29 * day);
  const atRenewal = Date.now();
  await eventually(async () => (await seen()) > atRenewal);
  await app.close();
});

test('a private probe of the version before gets credentials that go through the relay, and its old ones end', async () => {
  const own = await createNetwork();
  const { sql } = own;
  await own.startCoordinator();
  const [probe, now] = [newId(), Date.now()];
  const account = keyFromSeed(own.account.accountSeed, 'account');
  const user = { probe, continent: 'Africa', organisation: own.organisation } as const;
  const { id: key, credentials } = issueCredentials(
    { name: 'Office', account, permissions: probePermissions(user, true), limits: probeLimits },
    now - 3_600_000,
  );
  const keys = JSON.stringify([{ key, until: null }]);
  await sql`insert into probes (id, name, continent, organisation_id, keys, created_at)
    values (${probe}, 'Office', 'Africa', ${own.organisation}, ${keys}::text::jsonb, now() - interval '1 hour')`;
  await own.sql`update installation set signed_since = null`;
  // What it needs on the bus is made for it.
  await enqueue(sql, { topic: 'probe', payload: { probe, change: 'created' }, partition: null, organisation: own.organisation });
  const word = { ...user, name: 'Office', nats_url: own.account.url, nats_credentials: credentials };
  const made = {
    id: probe,
    name: 'Office',
    continent: 'Africa',
    credentials: printProbeCredentials(word),
    folder: join(folder, probe),
  } as const;
  const app = await own.startProbe(made);
  await eventually(async () => (await sql`select 1 from probes where id = ${probe} and relayed_at is not null`).length === 1, 40_000);
  const enter = { url: own.account.url, credentials, name: 'old', tlsFirst: false };
  await eventually(
    () =>
      enterOnce(enter).then(
        () => false,
        () => true,
      ),
    40_000,
  );
  // What it checks goes through the relay from now on.
  const target = await own.startTarget();
  const monitor = await own.addMonitor({ target: target.url(), interval_s: 1, config: { probe } });
  await eventually(async () => (await resultsOf(sql, monitor)).length > 3, 40_000);
  await app.close();
  await own.close();
});
