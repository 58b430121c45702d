import { beforeEach, describe, expect, test } from 'vitest';
import {
  applyImport,
  previewImport,
  showImport,
  undoImport,
} from '../../../coordinator/imports/contract.ts';
import { forgetImports } from '../../../coordinator/imports/queries.ts';
import { createSecretsAtRest } from '../../../coordinator/secrets/at-rest.ts';
import { listChannels } from '../../../shared/api/channels.ts';
import { listGroups } from '../../../shared/api/groups.ts';
import {
  createMonitor,
  deleteMonitor,
  listMonitors,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { gateBench } from '../../support/gate.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
beforeEach(async () => {
  house = await createTestOrganisation(bench.sql);
});

const hook = 'https://hooks.slack.com/services/T0/B0/abcdefghij';
const backup = {
  notificationList: [
    { id: 1, name: 'Chat', config: JSON.stringify({ type: 'slack', slackwebhookURL: hook }) },
  ],
  monitorList: [
    { id: 1, name: 'Web', type: 'group' },
    {
      id: 2,
      name: 'Front',
      type: 'http',
      url: 'https://front.example/',
      parent: 1,
      notificationIDList: { 1: true },
    },
    {
      id: 3,
      name: 'Sign-in',
      type: 'http',
      url: 'https://in.example/',
      authMethod: 'basic',
      basic_auth_user: 'u',
      basic_auth_pass: 'old-secret',
    },
    { id: 4, name: 'Job', type: 'push', interval: 3_600 },
    { id: 5, name: 'Box', type: 'docker' },
  ],
};

const preview = (document: unknown = backup, source = 'uptime-kuma', of = house) =>
  bench.call(previewImport, of.admin, {
    source,
    document: typeof document === 'string' ? document : JSON.stringify(document),
  });

const monitorNames = async (): Promise<readonly string[]> =>
  (await bench.call(listMonitors, house.owner, {})).items.map(({ name }) => name);

describe('an import', () => {
  test('is a draft that nobody reads in the database, also under a new key', async () => {
    const uuid = '8c1f2a34-5b6d-4e7f-8a9b-0c1d2e3f4a5b';
    const checks = [{ name: 'Job', timeout: 3_600, ping_url: `https://hc-ping.com/${uuid}` }];
    const { id } = await preview({ checks }, 'healthchecks');
    await createSecretsAtRest(testSecretKey).rotate(bench.sql);
    const [row] = await bench.sql<{ objects: Buffer }[]>`
      select objects from imports where id = ${id}`;
    expect(row?.objects.includes(uuid)).toBe(false);
    await bench.call(applyImport, house.admin, { import_id: id, values: {} });
    expect((await bench.sql`select 1 from ping_aliases`).length).toBe(1);
    await forgetImports(bench.sql, bench.now - 1);
    expect((await bench.call(showImport, house.admin, { import_id: id })).state).toBe('applied');
    await forgetImports(bench.sql, bench.now + 1);
    expect(await bench.refusal(showImport, house.admin, { import_id: id })).toBe(
      'import_not_found',
    );
  });

  test('is shown before anything is made, without its secrets', async () => {
    const draft = await preview();
    expect(draft).toMatchObject({ source: 'uptime-kuma', state: 'draft', undo_until: null });
    expect(draft.objects.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'groups Web',
      'monitors Front',
      'monitors Sign-in',
      'monitors Job',
      'channels Chat',
    ]);
    expect(draft.omissions).toContainEqual(expect.objectContaining({ of: ['Box'] }));
    expect(draft.variables.map(({ name }) => name)).toEqual([
      'SIGN_IN_PASSWORD',
      'CHAT_SLACKWEBHOOKURL',
    ]);
    expect(await monitorNames()).toEqual([]);
    for (const table of ['imports', 'audit_log'])
      expect(JSON.stringify(await bench.sql`select * from ${bench.sql(table)}`)).not.toMatch(
        /old-secret|abcdefghij/,
      );
    expect(await bench.call(showImport, house.member, { import_id: draft.id })).toEqual(draft);
  });

  test('makes everything, leaves it to the pages, and is undone without touching anything else', async () => {
    await bench.call(createMonitor, house.member, {
      type: 'https',
      target: 'https://mine.example/',
      name: 'Mine',
    });
    const { id: import_id } = await preview();
    const values = { SIGN_IN_PASSWORD: 'new-secret', CHAT_SLACKWEBHOOKURL: hook };
    const applied = await bench.call(applyImport, house.admin, { import_id, values });
    expect(applied).toMatchObject({ state: 'applied', undo_until: expect.any(String) });
    expect(await monitorNames()).toEqual(['Mine', 'Front', 'Sign-in', 'Job']);
    expect((await bench.call(listChannels, house.owner, {})).items).toMatchObject([
      { name: 'Chat', covers: 'chosen' },
    ]);
    const { items } = await bench.call(listMonitors, house.owner, {});
    expect(items[2]?.config).toMatchObject({ basic_auth: { username: 'u', password: '***' } });
    expect(
      await bench.sql`select * from file_objects where organisation_id = ${house.organisation}`,
    ).toEqual([]);
    await expect(bench.call(applyImport, house.admin, { import_id, values })).rejects.toMatchObject(
      { code: 'import_invalid' },
    );

    const [, front, signIn] = items;
    await bench.call(updateMonitor, house.member, { monitor_id: front?.id ?? '', name: 'Renamed' });
    await bench.call(deleteMonitor, house.member, { monitor_id: signIn?.id ?? '' });
    const undone = await bench.call(undoImport, house.admin, { import_id });
    expect(undone).toMatchObject({ state: 'undone', undo_until: null });
    expect(await monitorNames()).toEqual(['Mine']);
    expect((await bench.call(listGroups, house.owner, {})).items).toEqual([]);
    expect((await bench.call(listChannels, house.owner, {})).items).toEqual([]);
    await expect(bench.call(undoImport, house.admin, { import_id })).rejects.toMatchObject({
      code: 'nothing_to_undo',
    });
  });

  test('leaves out what needs a secret that is not given, and says so', async () => {
    const { id: import_id } = await preview();
    const { omissions } = await bench.call(applyImport, house.admin, { import_id, values: {} });
    expect(await monitorNames()).toEqual(['Front', 'Sign-in', 'Job']);
    expect((await bench.call(listChannels, house.owner, {})).items).toEqual([]);
    expect(omissions).toContainEqual({
      why: 'without basic_auth, because it is not given.',
      of: ['sign-in'],
    });
    expect(omissions).toContainEqual({
      why: 'skipped: secret missing.',
      of: ['chat'],
    });
  });

  test('moves what it can where a secret is none, lists the rest, and is undone', async () => {
    const { id: import_id } = await preview();
    const values = { CHAT_SLACKWEBHOOKURL: 'https://elsewhere.example/' };
    const applied = await bench.call(applyImport, house.admin, { import_id, values });
    expect(applied.state).toBe('applied');
    expect(applied.objects.map(({ name }) => name)).toEqual(['Web', 'Front', 'Sign-in', 'Job']);
    expect(await bench.call(showImport, house.admin, { import_id })).toEqual(applied);
    expect(await monitorNames()).toEqual(['Front', 'Sign-in', 'Job']);
    expect((await bench.call(listChannels, house.owner, {})).items).toEqual([]);
    expect(applied.omissions).toContainEqual({
      why: 'config.url must begin with https://hooks.slack.com/services/.',
      of: ['chat'],
    });
    await bench.call(undoImport, house.admin, { import_id });
    expect(await monitorNames()).toEqual([]);
  });

  test('that can move nothing changes nothing, and can be repeated', async () => {
    const { id: import_id } = await preview({ ...backup, monitorList: [] });
    const wrong = { CHAT_SLACKWEBHOOKURL: 'https://elsewhere.example/' };
    await expect(
      bench.call(applyImport, house.admin, { import_id, values: wrong }),
    ).rejects.toMatchObject({ code: 'import_invalid', message: expect.stringContaining('chat: ') });
    const values = { CHAT_SLACKWEBHOOKURL: hook };
    await bench.call(applyImport, house.admin, { import_id, values });
    expect((await bench.call(listChannels, house.owner, {})).items).toMatchObject([
      { name: 'Chat' },
    ]);
  });

  test('leaves out what would be refused, with what names it', async () => {
    const draft = await preview({
      monitorList: [
        { id: 1, name: 'Private', type: 'http', url: 'https://10.0.0.1/' },
        { id: 2, name: 'Front', type: 'http', url: 'https://front.example/' },
      ],
    });
    expect(draft.objects).toMatchObject([{ name: 'Front' }]);
    expect(draft.omissions).toMatchObject([{ of: ['private'] }]);
  });

  test('of a member makes no team channels', async () => {
    const draft = await bench.call(previewImport, house.member, {
      source: 'uptime-kuma',
      document: JSON.stringify(backup),
    });
    expect(draft.objects.map(({ name }) => name)).toEqual(['Web', 'Front', 'Sign-in', 'Job']);
    expect(draft.variables.map(({ name }) => name)).toEqual(['SIGN_IN_PASSWORD']);
    expect(draft.omissions).toContainEqual({
      why: 'only an owner or an admin may create team channels.',
      of: ['chat'],
    });
    await bench.call(applyImport, house.member, { import_id: draft.id, values: {} });
    expect(await monitorNames()).toHaveLength(3);
  });

  test('can be undone for an hour', async () => {
    const { id: import_id } = await preview();
    await bench.call(applyImport, house.admin, { import_id, values: {} });
    bench.now += 3_600_000;
    await expect(bench.call(undoImport, house.admin, { import_id })).rejects.toMatchObject({
      code: 'nothing_to_undo',
    });
    expect(await monitorNames()).toHaveLength(3);
  });

  test.each([
    ['uptime-kuma', '{"hello": 1}', 'This is no backup of Uptime Kuma'],
    ['uptime-kuma', 'no json', 'the file is not JSON'],
    ['gatus', 'endpoints: [', 'document: line 1'],
    ['gatus', 'x'.repeat(2 * 1024 * 1024 + 1), 'larger than 2 MiB'],
    ['healthchecks', '{}', 'There is nothing to import from Healthchecks'],
  ])('from %s refuses what is no file of it', async (source, document, sentence) => {
    await expect(preview(document, source)).rejects.toMatchObject({
      code: 'import_invalid',
      message: expect.stringContaining(sentence),
    });
  });

  test('by a key says why it cannot', async () => {
    const by = (input: object) =>
      bench.call(previewImport, house.member, { source: 'healthchecks', ...input });
    for (const [input, sentence] of [
      [{}, 'enter a key'],
      [{ key: ' ' }, 'enter a key'],
      [{ key: 'k', url: 'http://hc.example' }, 'begins with https://'],
      [{ key: 'k', url: 'https://my server' }, 'enter a valid address'],
      [{ key: 'k', url: 'https://[' }, 'enter a valid address'],
      [{ key: 'k' }, 'Healthchecks answers 503'],
    ] as const)
      await expect(by(input)).rejects.toMatchObject({
        code: 'import_invalid',
        message: expect.stringContaining(sentence),
      });
    await expect(by({ source: 'gatus' })).rejects.toMatchObject({
      message: expect.stringContaining('choose a file'),
    });
  });
});
