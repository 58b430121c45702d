import { beforeAll, expect, test } from 'vitest';
import { createMonitor, getMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import { listAudit } from '../../../shared/api/organisations.ts';
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
