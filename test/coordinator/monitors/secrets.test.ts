import { beforeAll, expect, test } from 'vitest';
import { sealOpenSecrets } from '../../../coordinator/monitors/secrets.ts';
import {
  createMonitor,
  getMonitor,
  listMonitors,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { listAudit } from '../../../shared/api/organisations.ts';
import { isSecretHeader, secretByNature } from '../../../shared/checks/connection/headers.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
});

const open = {
  headers: { Authorization: 'Basic aHVudGVyMg==', Cookie: 'sid=hunter3', Accept: '*/*' },
};
const masked = { headers: { Authorization: '***', Cookie: '***', Accept: '*/*' } };
const textOf = async (id: string): Promise<string> => {
  const [row] = await bench.sql<
    { text: string }[]
  >`select m::text as text from monitors m where id = ${id}`;
  return row?.text ?? '';
};
const secretsOf = async (id: string): Promise<string> => {
  const [row] = await bench.sql<
    { secrets: Buffer }[]
  >`select secrets from monitors where id = ${id}`;
  return bench.secrets.open(bench.sql, row?.secrets ?? Buffer.alloc(0), `monitor ${id}`);
};

/** A monitor as it was stored before such headers counted as secrets. */
const stored = async (): Promise<string> => {
  const { id } = await bench.call(createMonitor, house.owner, {
    type: 'https',
    target: 'https://shop.example/',
  });
  await bench.sql`update monitors set config = ${JSON.stringify(open)}::text::jsonb where id = ${id}`;
  return id;
};

const seal = () =>
  bench.sql.begin((transaction) =>
    sealOpenSecrets(
      transaction,
      {
        open: ({ id, secrets }) =>
          secrets === null
            ? Promise.resolve('{}')
            : bench.secrets.open(transaction, secrets, `monitor ${id}`),
        seal: (sql, id, text) => bench.secrets.seal(sql, text, `monitor ${id}`),
      },
      10,
    ),
  );

test('headers with credentials are encrypted without being named, and never returned', async () => {
  const made = await bench.call(createMonitor, house.owner, {
    type: 'https',
    target: 'https://shop.example/',
    config: open,
  });
  expect(made.config).toEqual(masked);
  expect(await textOf(made.id)).not.toMatch(/aHVudGVyMg|hunter3/);
  expect(await secretsOf(made.id)).toContain('hunter3');
  const audit = await bench.call(listAudit, house.owner, {});
  expect(JSON.stringify(audit)).not.toMatch(/aHVudGVyMg|hunter3/);
});

test('headers stored before are masked at once, stay unchanged by an update, and are encrypted by housekeeping', async () => {
  const [read, changed, sealed] = [await stored(), await stored(), await stored()];
  expect((await bench.call(getMonitor, house.viewer, { monitor_id: read })).config).toEqual(masked);
  expect(
    JSON.stringify(await bench.call(listMonitors, house.viewer, { limit: 200 })),
  ).not.toContain('hunter3');
  await bench.call(updateMonitor, house.owner, {
    monitor_id: changed,
    config: { ...masked, timeout_ms: 5_000 },
  });
  expect(await textOf(changed)).not.toContain('hunter3');
  expect(await secretsOf(changed)).toContain('hunter3');
  expect(
    await bench.refusal(updateMonitor, house.owner, {
      monitor_id: read,
      target: 'https://elsewhere.example/',
    }),
  ).toBe('config_invalid');

  expect(await seal()).toBe(2);
  expect(await textOf(sealed)).not.toMatch(/aHVudGVyMg|hunter3/);
  expect(JSON.parse(await secretsOf(sealed))).toEqual({
    'headers/authorization': 'Basic aHVudGVyMg==',
    'headers/cookie': 'sid=hunter3',
  });
  expect((await bench.call(getMonitor, house.viewer, { monitor_id: sealed })).config).toEqual(
    masked,
  );
  const told =
    await bench.sql`select payload from outbox where topic = 'monitor' and payload ->> 'monitor' = ${sealed} order by id`;
  expect(told.at(-1)).toEqual({
    payload: { monitor: sealed, change: 'edited', what_is_checked_changed: false },
  });
  const [row] = await bench.sql`select config_version from monitors where id = ${sealed}`;
  expect(row).toEqual({ config_version: 1 });
  expect(await seal()).toBe(0);
});

test('the database and the checks mean the same headers', async () => {
  for (const name of [...secretByNature, 'accept', 'x-trace']) {
    const config = JSON.stringify({ headers: { [name.toUpperCase()]: 'x' } });
    const [row] = await bench.sql<
      { open: boolean }[]
    >`select has_open_secret(${config}::text::jsonb) as open`;
    expect(row?.open, name).toBe(secretByNature.includes(name));
  }
  for (const config of [
    '{}',
    '{"headers":null}',
    '{"headers":["cookie"]}',
    '{"headers":{"cookie":"***"}}',
  ]) {
    const [row] = await bench.sql<
      { open: boolean }[]
    >`select has_open_secret(${config}::text::jsonb) as open`;
    expect(row?.open, config).toBe(false);
  }
});

test('the database recognises a secret as the checks do, and housekeeping encrypts earlier ones', async () => {
  const token = 'a8F3kd92Lq0Zx7Wm41Pt';
  const samples: readonly (readonly [name: string, value: string])[] = [
    ...(
      [
        'X-Secret',
        'My-Token',
        'X-ApiToken',
        'client_secret',
        'X-Monkey',
        'X-Author',
        'Author',
        'X-Key-Id',
      ] as const
    ).map((name) => [name, 'v'] as const),
    ...(
      [
        token,
        'Bearer x',
        'Bearer\u00a0x',
        `${token}\u00e9`,
        'text/html',
        'aaaaaaaaaaaaaaaaaaaaaaaa',
        '',
      ] as const
    ).map((value) => ['X-Plain', value] as const),
    ...(['Accept', 'If-None-Match', 'Content-Type'] as const).map((name) => [name, token] as const),
    ['X-Secret', '***'],
  ];
  for (const [name, value] of samples) {
    const config = { headers: { [name]: value } };
    const [row] = await bench.sql<
      { open: boolean }[]
    >`select has_open_secret(config) or has_likely_secret(config) as open
      from (select ${JSON.stringify(config)}::text::jsonb as config) c`;
    // What the checks take for none must not be found: the house would take it up for ever.
    if (!isSecretHeader(config)(name) || value === '***')
      expect([name, value, row?.open]).toEqual([name, value, false]);
    else if (!value.includes('\u00a0'))
      expect([name, value, row?.open]).toEqual([name, value, true]);
  }
  const { id } = await bench.call(createMonitor, house.owner, {
    type: 'https',
    target: 'https://shop.example/',
  });
  const open = { headers: { 'X-ApiToken': 'hunter6', Accept: '*/*' } };
  await bench.sql`update monitors set config = ${JSON.stringify(open)}::text::jsonb where id = ${id}`;
  expect(await seal()).toBe(1);
  expect(await textOf(id)).not.toContain('hunter6');
  expect(JSON.parse(await secretsOf(id))).toEqual({ 'headers/x-apitoken': 'hunter6' });
  expect(await seal()).toBe(0);
});

test('headers that every request may carry stay readable, however long their values', async () => {
  const headers = {
    Accept: 'application/vnd.github.v3+json',
    'Content-Type': 'application/vnd.api.v2+json',
    'X-Monkey': 'see',
    'X-Author': 'me',
  };
  const { config } = await bench.call(createMonitor, house.owner, {
    type: 'https',
    target: 'https://shop.example/',
    config: { headers },
  });
  expect(config).toEqual({ headers });
});

test('headers whose name or value looks like a secret are secret without being named', async () => {
  const token = 'a8F3kd92Lq0Zx7Wm41Pt';
  const headers = {
    'X-Secret': 'hunter4',
    'X-Custom': token,
    'X-Plain': 'application/json',
    'X-Signed': 'Bearer abc',
  };
  const { id } = await bench.call(createMonitor, house.owner, {
    type: 'https',
    target: 'https://shop.example/',
    config: { headers },
  });
  const shown = {
    'X-Secret': '***',
    'X-Custom': '***',
    'X-Plain': 'application/json',
    'X-Signed': '***',
  };
  expect((await bench.call(getMonitor, house.owner, { monitor_id: id })).config).toMatchObject({
    headers: shown,
  });
  for (const hidden of ['hunter4', token, 'Bearer abc'])
    expect(await textOf(id)).not.toContain(hidden);
  expect(JSON.parse(await secretsOf(id))).toMatchObject({ 'headers/x-custom': token });
  // Sent back as it was shown it stays what it is.
  await bench.call(updateMonitor, house.owner, {
    monitor_id: id,
    config: { headers: { ...shown, 'X-Plain': 'text/html' } },
  });
  expect(JSON.parse(await secretsOf(id))).toMatchObject({
    'headers/x-secret': 'hunter4',
    'headers/x-custom': token,
  });
});
