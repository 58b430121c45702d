import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configs } from '../../support/channels.ts';
import { type Answer, lists, missing, type Service, startService } from './service.ts';
import { addresses } from './things.ts';
import type { Resources } from './workspace.ts';

/**
 * Each resource, and each kind of monitor and channel, is created, changed, mended, imported and
 * deleted; after each apply there is nothing to do.
 */
describe.skipIf(missing !== undefined)('what Terraform manages', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  }, 1_200_000);
  afterAll(() => service?.close());

  const apply = async (resources: Resources): Promise<void> => {
    service.workspace.write(resources);
    await service.workspace.apply();
  };
  const isDone = async (): Promise<void> => expect(await service.workspace.plan()).toEqual({});
  const each = (resources: Resources, action: string) =>
    Object.fromEntries(addresses(resources).map((address) => [address, action]));

  /** Without keys that end, which are listed for some time. */
  const standing = async (list: (typeof lists)[number]) =>
    (await service.all(list)).filter(({ until = null }) => until === null);

  /** What people set of everything that there is; the rest changes by itself. */
  const everything = async (): Promise<Readonly<Record<string, readonly object[]>>> =>
    Object.fromEntries(
      await Promise.all(
        lists.map(async (list) => [list, (await standing(list)).map(setOf)] as const),
      ),
    );

  test('is created as it is written', async () => {
    await apply(service.first);
    await isDone();
    const { monitors } = await everything();
    expect(monitors).toContainEqual(
      expect.objectContaining({
        type: 'https',
        target: 'https://shop.example',
        external_id: 'shop/https',
        config: {},
      }),
    );
  });

  test('is changed, down to each key of each kind', async () => {
    await apply(service.second);
    await isDone();
    const { monitors = [], channels = [] } = await everything();
    expect(await service.workspace.stateOf('antipode_status_page.shop')).toMatchObject({
      domain: 'Status.shop.example',
      domain_record_name: '_antipode.status.shop.example',
    });
    for (const [kind, written] of Object.entries(service.second.antipode_monitor ?? {})) {
      const config: object = Object(written)[kind];
      const answered = monitors.find((one) => Object(one).type === kind);
      expect(Object.keys(Object(answered).config).toSorted()).toEqual(
        Object.keys(config).toSorted(),
      );
    }
    expect(Object(monitors.find((one) => Object(one).type === 'https')).config.json).toEqual([
      { path: '$.status', equals: 'ok' },
      { path: '$.count', equals: 3 },
      { path: '$.open', equals: true },
      { path: '$.code', equals: '7' },
      { path: '$.load', gt: 0.1, lt: 9.25 },
    ]);
    expect(channels.map((one) => Object(one).kind).toSorted()).toEqual(
      Object.keys(configs).toSorted(),
    );
  });

  test('is mended where someone else changed it', async () => {
    const before = await everything();
    for (const list of ['groups', 'monitors', 'channels', 'maintenance', 'status-pages'] as const)
      for (const one of await service.all(list))
        await service.call('PATCH', `${list}/${one.id}`, otherwise[list](one));
    for (const { id } of await standing('ping-keys'))
      await service.call('POST', `ping-keys/${id}/rotate`, { overlap_s: 60 });
    for (const { id } of await service.all('probes/invitations'))
      await service.call('DELETE', `probes/invitations/${id}`);
    expect(await service.workspace.plan()).toEqual({
      ...each(service.second, 'update'),
      'antipode_ping_key.jobs': 'create',
      'antipode_probe_invitation.office': 'create',
    });
    await service.workspace.apply();
    await isDone();
    // The key that someone made of ours is theirs.
    const { 'ping-keys': keys, ...rest } = await everything();
    expect(rest).toEqual(without(before, 'ping-keys'));
    expect(keys).toHaveLength(2);
  });

  test('is created again where someone else deleted it', async () => {
    for (const list of lists.toReversed())
      for (const { id } of await standing(list)) await service.call('DELETE', `${list}/${id}`);
    expect(await service.workspace.plan()).toEqual(each(service.second, 'create'));
    await service.workspace.apply();
    await isDone();
  });

  test('gives up what is no longer written', async () => {
    await apply(service.first);
    await isDone();
    const { 'status-pages': pages, monitors } = await everything();
    expect(pages).toEqual([
      expect.objectContaining({ description: null, accent: null, monitors: [], groups: [] }),
    ]);
    for (const monitor of monitors ?? [])
      expect(monitor).toMatchObject({ config: {}, group: null, tags: [], enabled: true });
  });

  test('is imported by its id, and by its external id', async () => {
    const ids = await Promise.all(
      addresses(service.first).map(async (address) => {
        const { id, external_id } = await service.workspace.stateOf(address);
        return { to: address, id: external_id ?? id };
      }),
    );
    await service.workspace.forget();
    service.workspace.write(service.first, { import: ids });
    // Answers hide secrets, do not say whether a message was tried, and have times in UTC.
    const channels = { antipode_channel: service.first.antipode_channel ?? {} };
    expect(await service.workspace.plan()).toEqual({
      ...each(channels, 'update'),
      'antipode_maintenance_window.weekly': 'update',
    });
    await service.workspace.apply();
    await isDone();
  });

  test('is deleted', async () => {
    await apply({});
    expect(Object.values(await everything()).flat()).toEqual([]);
  });
});

/** What no one sets: ids, and what changes by itself or is counted. */
const byItself: readonly string[] = [
  'id',
  'created_at',
  'status',
  'since',
  'last_checked_at',
  'warnings',
  'next_occurrences',
  'repeats',
  'shown',
  'expires_at',
  'delivering',
  'failure',
  'last_delivered_at',
  'p95_ms',
  // Its record is another one when it is connected again.
  'domain',
];

const setOf = (answer: Answer): object => without(answer, ...byItself);

const without = <Value>(
  all: Readonly<Record<string, Value>>,
  ...names: readonly string[]
): Readonly<Record<string, Value>> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)));

/** Another value of what someone sets, and what was there is gone. */
const otherwise = {
  groups: () => ({ name: `Other ${Math.random()}`, description: '', external_id: '' }),
  monitors: ({ type }: Answer) => ({
    name: 'Other',
    interval_s: 7_200,
    enabled: true,
    config: { timeout_ms: 4_000 },
    ungroup: true,
    affects_group_status: true,
    external_id: `other/${String(type)}`,
    tags: ['other'],
    runbook: 'Another',
    depends_on_monitors: [],
    depends_on_groups: [],
  }),
  channels: () => ({
    name: 'Other',
    covers: 'all',
    monitors: [],
    groups: [],
    delay_s: 5,
    reminder_s: 0,
    hours: { spans: [] },
    warnings: true,
  }),
  maintenance: ({ starts_at }: Answer) => ({
    name: 'Other',
    ends_at: String(starts_at).replace(/T.*/, 'T23:00:00Z'),
  }),
  'status-pages': () => ({
    name: 'Other',
    description: '',
    language: 'fr',
    accent: '',
    access: 'public',
    domain: '',
    enabled: true,
    rows: [],
  }),
} as const;
