import { beforeAll, describe, expect, test } from 'vitest';
import type { HeldWarning } from '../../../coordinator/core/types.ts';
import { toldAs } from '../../../coordinator/core/warnings.ts';
import { executeAll } from '../../../coordinator/database/connect.ts';
import { listDashboard } from '../../../coordinator/monitors/contract.ts';
import {
  openWarnings,
  type WarningWrite,
  writeCertificates,
  writeWarnings,
} from '../../../coordinator/warnings/writes.ts';
import { listEvents } from '../../../shared/api/events.ts';
import { listCertificates } from '../../../shared/api/expiry.ts';
import { createGroup, getGroup } from '../../../shared/api/groups.ts';
import {
  createMonitor,
  getMonitor,
  getMonitorStatus,
  listMonitors,
} from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation } from '../../support/people.ts';

/** Warnings as programs read them (rule 44), over rows as the engine writes them. */

const bench = gateBench();
beforeAll(() => bench.addProbe('Europe'));

const begun = (monitor: string, change: Partial<HeldWarning> = {}): WarningWrite => ({
  monitor,
  change: 'begun',
  warning: {
    id: newId(),
    code: 'slow',
    details: { took_ms: 3_000, limit_ms: 2_000 },
    since: Date.now() - 60_000,
    begun_at: Date.now() - 30_000,
    below_since: null,
    told: [toldAs({})],
    views: [],
    ...change,
  },
  ended_at: null,
});
/** In one transaction, as the engine does: the second statement counts on the first. */
const write = (writes: readonly WarningWrite[]) =>
  bench.sql.begin((transaction) => executeAll(writeWarnings(transaction, writes)));

const shop = async () => {
  const of = await createTestOrganisation(bench.sql);
  const group = await bench.call(createGroup, of.owner, { name: 'Shop' });
  const make = (name: string) =>
    bench.call(createMonitor, of.owner, {
      type: 'https',
      target: `https://${name}.example.com/`,
      name,
      group: group.id,
    });
  return { of, group, till: await make('till'), cart: await make('cart') };
};

describe('rule 44: a warning', () => {
  test('is a field of its monitor, of its status and of its group, and changes no status', async () => {
    const { of, group, till } = await shop();
    const warning = begun(till.id);
    await write([warning]);
    const told = {
      code: 'slow',
      since: new Date(warning.warning.since).toISOString(),
      text: 'Response took 3 s, longer than 2 s',
      details: { took_ms: 3_000, limit_ms: 2_000 },
      monitor: till.id,
    };
    const { status } = till;
    expect(await bench.call(getMonitor, of.viewer, { monitor_id: till.id })).toMatchObject({
      status,
      warnings: [told],
    });
    expect(await bench.call(getMonitorStatus, of.viewer, { monitor_id: till.id })).toMatchObject({
      status,
      warnings: [told],
    });
    expect(await bench.call(getGroup, of.viewer, { group_id: group.id })).toMatchObject({
      warned: 1,
      warnings: [told],
    });
    await write([{ ...warning, change: 'ended', ended_at: Date.now() }]);
    expect(await bench.call(getMonitor, of.viewer, { monitor_id: till.id })).toMatchObject({
      warnings: [],
    });
  });

  test('filters lists of monitors, by its code or whatever it is', async () => {
    const { of, till, cart } = await shop();
    await write([
      begun(till.id),
      begun(cart.id, { code: 'redirects_insecurely', details: { redirect: 1 } }),
    ]);
    const names = async (warning: 'any' | 'slow' | 'domain_expires') =>
      (await bench.call(listMonitors, of.viewer, { warning })).items.map(({ name }) => name);
    expect(await names('any')).toEqual(['till', 'cart']);
    expect(await names('slow')).toEqual(['till']);
    expect(await names('domain_expires')).toEqual([]);
    const { counts, items } = await bench.call(listDashboard, of.viewer, { warning: 'slow' });
    expect(counts.warned).toBe(1);
    expect(items.map(({ name, warnings }) => [name, warnings.length])).toEqual([['till', 1]]);
  });

  test('is an event when it begins, when it becomes more urgent, and when it ends', async () => {
    const { of, till } = await shop();
    const first = begun(till.id, { code: 'certificate_expires', details: { stage: 14 } });
    await write([first]);
    const deeper = { ...first.warning, details: { stage: 7 } };
    await write([{ ...first, change: 'deepened', warning: deeper }]);
    await write([{ ...first, change: 'ended', warning: deeper, ended_at: Date.now() }]);
    await eventually(async () => {
      const { items } = await bench.call(listEvents, of.viewer, { monitor: till.id });
      expect(items.map(({ event, warning }) => [event, warning])).toEqual([
        ['monitor.created', null],
        ['warning.started', 'certificate_expires'],
        ['warning.changed', 'certificate_expires'],
        ['warning.ended', 'certificate_expires'],
      ]);
      return true;
    });
  });

  test('that lasts is loaded by the next owner of its partition; one that ended is not', async () => {
    const { till, cart } = await shop();
    const lasts = begun(till.id, {
      code: 'certificate_expires',
      details: { ends_at: 1, stage: 14 },
      told: [toldAs({ ends_at: 1, stage: 14 }), toldAs({ ends_at: 1, stage: 7 })],
    });
    const over = begun(cart.id);
    await write([lasts, over]);
    const deeper = { ...lasts.warning, details: { ends_at: 1, stage: 7 } };
    await write([{ ...lasts, change: 'deepened', warning: deeper }]);
    await write([{ ...lasts, change: 'changed' }]);
    await write([{ ...over, change: 'ended', ended_at: Date.now() }]);
    const all = await Promise.all(
      Array.from({ length: 32 }, (_, partition) => openWarnings(bench.sql, partition)),
    );
    const held = all.flatMap((each) => [...each]);
    expect(held.find(([monitor]) => monitor === till.id)?.[1]).toEqual([lasts.warning]);
    expect(held.some(([monitor]) => monitor === cart.id)).toBe(false);
  });

  test('that ends while another of its code begins leaves one open', async () => {
    const { till } = await shop();
    const first = begun(till.id);
    await write([first]);
    await write([begun(till.id), { ...first, change: 'ended', ended_at: Date.now() }]);
    const rows = await bench.sql`select ended_at from warnings where monitor_id = ${till.id}
      order by key`;
    expect(rows.map(({ ended_at }) => ended_at !== null)).toEqual([true, false]);
  });
});

test('certificates are listed by their end, each as it was seen last', async () => {
  const { of, till, cart } = await shop();
  const now = Date.now();
  const note = { fingerprint: 'AA', issuer: 'Some <CA>', starts_at: now - 1_000 };
  await executeAll(
    writeCertificates(bench.sql, [
      { ...note, monitor: till.id, at: now, ends_at: now + 90_000 },
      { ...note, monitor: cart.id, at: now, ends_at: now + 50_000 },
      { ...note, monitor: newId(), at: now, ends_at: now },
    ]),
  );
  await executeAll(
    writeCertificates(bench.sql, [
      { ...note, monitor: till.id, at: now - 5_000, ends_at: now + 10_000 },
      { ...note, monitor: cart.id, at: now + 5_000, ends_at: now + 99_000 },
    ]),
  );
  const { items } = await bench.call(listCertificates, of.viewer, {});
  expect(items.map(({ name, ends_at }) => [name, Date.parse(ends_at) - now])).toEqual([
    ['till', 90_000],
    ['cart', 99_000],
  ]);
});
