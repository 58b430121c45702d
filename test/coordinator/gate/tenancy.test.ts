import { beforeAll, describe, expect, test } from 'vitest';
import { type Caller, operatorIn } from '../../../coordinator/gate/caller.ts';
import {
  beginExport,
  endOrganisation,
  readExport,
} from '../../../coordinator/offboarding/contract.ts';
import { exportParts } from '../../../coordinator/offboarding/export.ts';
import { handlers } from '../../../coordinator/operations.ts';
import { noUnsealedHours, type UnsealedHours } from '../../../coordinator/results/reading.ts';
import { createUnsealedHours } from '../../../coordinator/results/unsealed-hours.ts';
import { setStatusPageLogo } from '../../../coordinator/status-pages/contract.ts';
import { createTokens, type Tokens } from '../../../coordinator/tokens/authenticate.ts';
import { keepOrganisation } from '../../../coordinator/web/contract.ts';
import { createChannel } from '../../../shared/api/channels.ts';
import { createGroup } from '../../../shared/api/groups.ts';
import { operations } from '../../../shared/api/index.ts';
import { createMaintenanceWindow } from '../../../shared/api/maintenance.ts';
import { inviteMember, removeMember } from '../../../shared/api/members.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { isReadOnly, type Operation } from '../../../shared/api/operation.ts';
import { createStatusPageReport } from '../../../shared/api/status-page-reports.ts';
import {
  addStatusPageGroup,
  addStatusPageMonitor,
  createStatusPage,
  createStatusPagePost,
} from '../../../shared/api/status-pages.ts';
import { createWebhook } from '../../../shared/api/webhooks.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { connectAssistant } from '../../support/assistants.ts';
import { makeCause } from '../../support/causes.ts';
import { eventually } from '../../support/eventually.ts';
import { gateBench } from '../../support/gate.ts';
import {
  createTestOrganisation,
  inPerson,
  reading,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';
import { storeEverywhere } from '../../support/stored-checks.ts';

const log = createLog({ name: 't', level: 'silent' });
let unsealed: UnsealedHours = noUnsealedHours;
const bench = gateBench({ signUp: 'invited', signUpPlan: 'free', mail: true }, undefined, {
  refresh: (partitions) => unsealed.refresh(partitions),
  checksOf: (...window) => unsealed.checksOf(...window),
  newestOf: (...monitor) => unsealed.newestOf(...monitor),
});
const every: readonly Operation[] = Object.values(handlers.organisation).map(
  ({ operation }) => operation,
);

/** One of everything that an organisation can have. */
type Estate = { readonly house: TestOrganisation; readonly ids: Readonly<Record<string, string>> };
let ours: Estate;
let theirs: Estate;
let tokens: Tokens;

const estate = async (): Promise<Estate> => {
  const house = await createTestOrganisation(bench.sql);
  const as = house.owner;
  const group_id = (await bench.call(createGroup, as, { name: 'G' })).id;
  const monitor_id = (
    await bench.call(createMonitor, as, { type: 'heartbeat', name: 'M', group: group_id })
  ).id;
  const website_id = (
    await bench.call(createMonitor, as, { type: 'https', target: 'https://example.org/' })
  ).id;
  const times = { starts_at: '2030-01-01T00:00Z', ends_at: '2030-01-01T01:00Z' };
  const window_id = (
    await bench.call(createMaintenanceWindow, as, { ...times, monitors: [monitor_id] })
  ).id;
  const page_id = (await bench.call(createStatusPage, as, { name: 'P', slug: newId() })).id;
  await bench.call(addStatusPageMonitor, as, { page_id, monitor: monitor_id });
  await bench.call(addStatusPageGroup, as, { page_id, group: group_id });
  await bench.call(setStatusPageLogo, as, { page_id, logo: 'iVBORw0KGgo=' });
  const incident_id = newId();
  await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
    values (${incident_id}, ${house.organisation}, ${monitor_id}, now(), now())`;
  const cause_id = await makeCause(bench.sql, house.organisation, incident_id);
  const post_id = (
    await bench.call(createStatusPagePost, as, { page_id, incident_id, kind: 'investigating' })
  ).id;
  const report_id = (
    await bench.call(createStatusPageReport, as, {
      page_id,
      title: 'R',
      kind: 'announcement',
      text: 'x',
    })
  ).id;
  const { id: share_id } = await bench.call(operations.shareReport, as, {});
  await bench.sql`update users set email_verified_at = now()`;
  const { id: mail_id } = await bench.call(operations.mailReport, as, { every: 'week' });
  const subscriber_id = newId();
  await bench.sql`insert into status_page_subscribers (id, page_id, email, language, asked_at)
    values (${subscriber_id}, ${page_id}, 'ada@reader.example', 'en', now())`;
  const hook = { kind: 'webhook', config: { url: 'https://hooks.example.org/' }, try: false };
  const channel_id = (await bench.call(createChannel, as, hook)).id;
  const objective_id = (
    await bench.call(operations.createObjective, as, { name: 'x', group: group_id, target: 99.9 })
  ).id;
  const webhook_id = (await bench.call(createWebhook, as, { url: 'https://hooks.example.org/' }))
    .id;
  const delivery_id = newId();
  await bench.sql`insert into deliveries (id, organisation_id, webhook_id, event_key, event_id, event, created_at, next_at)
    values (${delivery_id}, ${house.organisation}, ${webhook_id}, 1, ${newId()}, 'deploy', now(), now())`;
  const message_id = newId();
  const told = JSON.stringify({ sentence: 'It is down.', monitors: [] });
  await bench.sql`insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at, created_at, next_at)
    values (${message_id}, ${house.organisation}, ${channel_id}, 'down', ${message_id}, ${told}::text::jsonb, 'delivered', now(), now(), now())`;
  const invitation_id = (
    await bench.call(inviteMember, inPerson(as), {
      email: `${newId()}@example.org`,
      role: 'viewer',
    })
  ).id;
  const probe_invitation_id = (
    await bench.call(operations.inviteProbe, as, { name: newId(), continent: 'Africa' })
  ).id;
  const ping_key_id = (await bench.call(operations.createPingKey, as, { name: 'Jobs' })).id;
  const probe_id = await bench.addProbe('Africa', { house });
  // Every organisation's are in one partition.
  await bench.sql`update monitors set partition = 0 where id = ${website_id}`;
  await storeEverywhere(bench.sql, website_id, probe_id, bench.now);
  const [token] = await bench.sql<
    { id: string }[]
  >`select id from tokens where organisation_id = ${house.organisation} limit 1`;
  const token_id = token?.id ?? '';
  const connection_id = (
    await connectAssistant(bench.sql, house.owner, { baseUrl: 'https://antipode.test' })
  ).connection;
  return {
    house,
    ids: {
      group_id,
      monitor_id,
      website_id,
      window_id,
      page_id,
      incident_id,
      cause_id,
      invitation_id,
      probe_invitation_id,
      probe_id,
      ping_key_id,
      place_id: probe_id,
      token_id,
      member_id: house.viewer.user,
      connection_id,
      test_id: newId(),
      channel_id,
      objective_id,
      webhook_id,
      delivery_id,
      message_id,
      post_id,
      report_id,
      subscriber_id,
      share_id,
      mail_id,
    },
  };
};

beforeAll(async () => {
  await bench.addProbe('Europe');
  [ours, theirs] = [await estate(), await estate()];
  tokens = createTokens({
    sql: bench.sql,
    secretKey: testSecretKey,
    clock: { now: () => bench.now },
    log,
  });
});

/** What each operation needs in its body to be of the form; ids are those of an estate. */
const bodies = (ids: Readonly<Record<string, string>>): Readonly<Record<string, object>> => ({
  createMonitor: { type: 'heartbeat', name: 'x', group: ids.group_id },
  batchMonitors: { items: [{ type: 'heartbeat', name: 'x' }] },
  putGroups: {
    items: [{ id: ids.group_id ?? null, name: 'x', description: null, external_id: 'x' }],
  },
  putMonitors: {
    items: [
      {
        id: ids.monitor_id ?? null,
        type: 'heartbeat',
        name: 'x',
        enabled: true,
        group: ids.group_id,
      },
    ],
  },
  planFile: { file: 'shop', monitors: { x: { type: 'heartbeat' } } },
  applyFile: { file: 'shop', monitors: { x: { type: 'heartbeat' } } },
  getFile: { file: 'shop' },
  showManager: { objects: [ids.monitor_id] },
  updateMonitor: { name: 'x' },
  listIncidents: { monitor: ids.monitor_id },
  createMaintenanceWindow: {
    starts_at: '2030-01-01T00:00Z',
    ends_at: '2030-01-01T01:00Z',
    monitors: [ids.monitor_id],
    groups: [ids.group_id],
  },
  updateMaintenanceWindow: { name: 'x' },
  previewMaintenanceWindow: {
    starts_at: '2030-01-01T00:00Z',
    ends_at: '2030-01-01T01:00Z',
    window: ids.window_id,
  },
  createChannel: {
    kind: 'webhook',
    config: { url: 'https://hooks.example.org/' },
    try: false,
    covers: 'chosen',
    monitors: [ids.monitor_id],
  },
  updateChannel: { name: 'x' },
  tryChannel: {
    kind: 'webhook',
    config: { url: 'https://hooks.example.org/' },
    channel: ids.channel_id,
  },
  listMessages: { channel: ids.channel_id },
  listWouldBeTold: { monitor: ids.monitor_id, group: ids.group_id },
  listMonitorChannels: { monitor: ids.monitor_id },
  getMonitorCheck: {
    monitor_id: ids.website_id,
    at: String(bench.now - 3_600_000),
    probe: 'probe 1',
  },
  setMonitorChannels: { channels: [] },
  muteAlerts: { minutes: 5 },
  muteMonitor: {},
  listRecent: { ids: ids.monitor_id ?? '' },
  createGroup: { name: 'x' },
  createEvent: { name: 'x', monitor: ids.monitor_id },
  updateGroup: { name: 'x' },
  updatePlace: { name: 'x' },
  addStatusPageMonitor: { monitor: ids.monitor_id },
  addStatusPageGroup: { group: ids.group_id },
  updateOrganisation: {},
  endOrganisation: { name: 'x' },
  setSignInProvider: { issuer: 'x', client_id: 'x', group_roles: '', domain: 'x' },
  readProvisioned: { kind: 'User', skip: 0, limit: 1, whole: true },
  provisionUser: { act: 'remove', id: newId(), said: {} },
  provisionGroup: { act: 'remove', id: newId(), said: {} },
  readExport: { part: 'monitors' },
  previewImport: { source: 'healthchecks', document: '{"checks":[{"name":"x"}]}' },
  showImport: { import_id: newId() },
  applyImport: { import_id: newId(), values: {} },
  undoImport: { import_id: newId() },
  createUser: { email: 'x@example.org', password: 'long enough', role: 'viewer' },
  setMemberRole: { role: 'viewer' },
  createToken: { name: 'x', scope: 'read' },
  inviteMember: { email: `${newId()}@example.org`, role: 'viewer' },
  inviteProbe: { name: newId(), continent: 'Africa' },
  createPingKey: { name: 'x' },
  rotatePingKey: {},
  changeMonitors: { monitors: [ids.monitor_id], change: 'pause' },
  nameMonitors: { monitors: [ids.monitor_id] },
  createStatusPage: { name: 'x', slug: newId() },
  updateStatusPage: { name: 'x' },
  updateStatusPageMonitor: { display_name: 'x' },
  updateStatusPageGroup: { display_name: 'x' },
  orderStatusPage: { rows: [ids.group_id, ids.monitor_id] },
  createStatusPagePost: { kind: 'investigating' },
  createStatusPageReport: { title: 'x', kind: 'announcement', text: 'x' },
  addStatusPageReportUpdate: { kind: 'announcement', text: 'x' },
  updateStatusPageReport: { title: 'x' },
  previewStatusPage: {},
  setStatusPageLogo: { logo: 'iVBORw0KGgo=' },
  addIncidentNote: { text: 'x' },
  assignIncident: { email: 'x@example.org' },
  writePostMortem: { text: 'x', published: false },
  mailReport: { every: 'week', group: ids.group_id },
  createObjective: { name: 'x', group: ids.group_id, target: 99.9 },
  updateObjective: { name: 'x' },
  createWebhook: { url: 'https://hooks.example.org/' },
  replayWebhook: { since: '2026-01-01T00:00Z' },
  createTest: { type: 'heartbeat', target: '', monitor: ids.monitor_id },
});

const inputFor = ({ id, params }: Operation, { ids }: Estate): object => ({
  ...Object.fromEntries(Object.keys(params).map((name) => [name, ids[name]])),
  ...bodies(ids)[id],
});

/**
 * Operations that name nothing of the caller's organisation: for a stranger they are calls in the
 * stranger's own.
 */
const namesNothing = [
  'listCertificates',
  'listDomains',
  'showFirstSteps',
  'showFrame',
  'hideFirstSteps',
  'listRecent',
  'batchMonitors',
  'planFile',
  'applyFile',
  'getFile',
  'showManager',
  'listEvents',
  'listObjectives',
  'listWebhooks',
  'createWebhook',
  'whoami',
  'listMonitors',
  'listDeletedMonitors',
  'listMaintenanceWindows',
  'listGroups',
  'listStatusPages',
  'createGroup',
  'createUser',
  'createToken',
  'createStatusPage',
  'listMembers',
  'listInvitations',
  'inviteMember',
  'listTokens',
  'listConnections',
  'inviteProbe',
  'createPingKey',
  'listPingKeys',
  'listProbeInvitations',
  'listGroupStandings',
  'listMonitorFigures',
  'listProbes',
  'listPlaces',
  'listStatusPageOverviews',
  'listDashboard',
  'listMaintenanceByTime',
  'search',
  'getMonitorChoices',
  'listIncidentChoices',
  'listFoldedIncidents',
  'listAudit',
  'getAuditChoices',
  'showOrganisation',
  'updateOrganisation',
  'beginExport',
  'readExport',
  'previewImport',
  'showSignInProvider',
  'setSignInProvider',
  'checkSignInDomain',
  'removeSignInProvider',
  'setScimToken',
  'endScimToken',
  'endOrganisation',
  'keepOrganisation',
  'leaveOrganisation',
  'listStatusPageOverviews',
  'listDashboard',
  'listFilters',
  'undoChange',
  'nameMonitors',
  'findSameTarget',
  'listMaintenanceByTime',
  'search',
  'getMonitorChoices',
  'listCauses',
  'getUptimeReport',
  'shareReport',
  'listReportShares',
  'listReportMails',
  'listChannels',
  'listChannelKinds',
  'getChannelChoices',
  'muteAlerts',
  'unmuteAlerts',
  'showMute',
];

test('every operation has its handler, and every handler its operation', () => {
  expect(every).toEqual(expect.arrayContaining(Object.values(operations)));
  for (const [id, { operation }] of Object.entries(handlers.organisation))
    expect(operation.id).toBe(id);
});

describe('another organisation', () => {
  test.each(
    every
      .filter(({ id }) => !namesNothing.includes(id))
      .map((operation) => [operation.id, operation] as const),
  )('gets not_found for %s, exactly as for an id that does not exist', async (_id, operation) => {
    const nowhere = {
      ...ours,
      ids: Object.fromEntries(Object.keys(ours.ids).map((name) => [name, newId()])),
    };
    const foreign = await bench.refusal(operation, theirs.house.owner, inputFor(operation, ours));
    expect(foreign).toMatch(/_not_found$/);
    expect(await bench.refusal(operation, theirs.house.owner, inputFor(operation, nowhere))).toBe(
      foreign,
    );
  });

  test('sees nothing of ours in any list', async () => {
    for (const operation of every.filter(
      ({ id, params }) => /^(?:list|search)/.test(id) && Object.keys(params).length === 0,
    )) {
      // The one list that takes ids is asked for ours.
      const input = operation.id === 'listRecent' ? { ids: ours.ids.monitor_id } : {};
      const text = JSON.stringify(await bench.answer(operation, theirs.house.owner, input));
      for (const id of Object.values(ours.ids)) expect(text).not.toContain(id);
    }
  });

  test('cannot put ours among its own', async () => {
    const mixed: [Operation, object][] = [
      [operations.updateMonitor, { monitor_id: theirs.ids.monitor_id, group: ours.ids.group_id }],
      [
        operations.addStatusPageMonitor,
        { page_id: theirs.ids.page_id, monitor: ours.ids.monitor_id },
      ],
      [operations.addStatusPageGroup, { page_id: theirs.ids.page_id, group: ours.ids.group_id }],
      [
        operations.removeStatusPageMonitor,
        { page_id: theirs.ids.page_id, monitor_id: ours.ids.monitor_id },
      ],
    ];
    for (const [operation, input] of mixed)
      expect(await bench.refusal(operation, theirs.house.owner, input)).toMatch(/_not_found$/);
  });
});

describe('a viewer and a read token', () => {
  test.each(
    every
      .filter(({ access }) => access !== 'read' && access !== 'self')
      .map((operation) => [operation.id, operation] as const),
  )('cannot %s', async (_id, operation) => {
    const input = inputFor(operation, ours);
    expect(await bench.refusal(operation, ours.house.viewer, input)).toBe('role_insufficient');
    expect(await bench.refusal(operation, reading(ours.house.owner), input)).toBe(
      'scope_insufficient',
    );
    if (operation.access === 'own')
      expect(await bench.refusal(operation, ours.house.admin, input)).toBe('role_insufficient');
    if (operation.access === 'members')
      expect(await bench.refusal(operation, ours.house.admin, input)).toBe('scope_insufficient');
    if (operation.access !== 'write')
      expect(await bench.refusal(operation, ours.house.member, input)).toBe('role_insufficient');
  });

  test.each(
    every
      .filter(({ access }) => access === 'self')
      .map((operation) => [operation.id, operation] as const),
  )('may both %s for themselves, but by no program that may only read', async (id, operation) => {
    const input = inputFor(operation, ours);
    const outcome =
      { mailReport: 'taken', revokeToken: 'token_not_found' }[id] ?? 'report_mail_not_found';
    expect(await bench.refusal(operation, ours.house.viewer, input)).toBe(outcome);
    expect(await bench.refusal(operation, reading(ours.house.viewer), input)).toBe(
      'scope_insufficient',
    );
  });

  // Who leaves may nothing any more: pages/settings.test.ts has them leave.
  const reads = every.filter(({ id, access }) => access === 'read' && id !== 'leaveOrganisation');
  test.each(reads.map((operation) => [operation.id, operation] as const))(
    'can %s',
    async (id, operation) => {
      const outcome = await bench.refusal(
        operation,
        reading(ours.house.viewer),
        inputFor(operation, ours),
      );
      // A viewer neither sees nor ends tokens of others, nor does it hear what somebody else tries.
      const unseen = {
        getToken: 'token',
        getConnection: 'connection',
        disconnectAssistant: 'connection',
        getTest: 'test',
      }[id];
      expect(outcome).toBe(unseen === undefined ? 'taken' : `${unseen}_not_found`);
    },
  );
});

describe('an organisation that is about to end', () => {
  let ending: Estate;
  let owner: Caller;
  beforeAll(async () => {
    ending = await estate();
    const { ends_at } = await bench.call(endOrganisation, ending.house.owner, {
      name: ending.house.name,
    });
    const { caller } = ending.house.owner;
    owner = { ...caller, organisation: { ...caller.organisation, ends_at: Date.parse(ends_at) } };
  });

  test.each(every.filter(isReadOnly).map((operation) => [operation.id, operation] as const))(
    'can be read by %s',
    async (_id, operation) => {
      expect(await bench.refusal(operation, owner, inputFor(operation, ending))).not.toBe(
        'organisation_ending',
      );
    },
  );

  const acts = every.filter((operation) => !isReadOnly(operation));
  test.each(
    acts
      .filter(({ whileEnding }) => whileEnding !== true)
      .map((operation) => [operation.id, operation] as const),
  )(
    'cannot be changed by %s, also by one that has not learned of it yet',
    async (_id, operation) => {
      expect(await bench.refusal(operation, owner, inputFor(operation, ending))).toBe(
        'organisation_ending',
      );
      expect(
        await bench.refusal(operation, operatorIn(owner.organisation), inputFor(operation, ending)),
      ).toBe('organisation_ending');
    },
  );

  test('cannot be changed by a slow call that came in before', async () => {
    expect(await bench.refusal(operations.createGroup, ending.house.owner, { name: 'late' })).toBe(
      'organisation_ending',
    );
  });

  test('still allows to revoke credentials, to export it and to keep it', async () => {
    expect(
      await bench.refusal(operations.revokeToken, owner, { token_id: ending.ids.token_id }),
    ).toBe('taken');
    expect(await bench.refusal(beginExport, owner)).toBe('taken');
    expect(await bench.refusal(keepOrganisation, owner)).toBe('taken');
    expect(await bench.refusal(operations.createGroup, ending.house.owner, { name: 'kept' })).toBe(
      'taken',
    );
  });
});

test('a removed member loses access at once', async () => {
  const { house } = await estate();
  expect((await tokens.authenticate(`Bearer ${house.member.readWrite}`)).role).toBe('member');
  await bench.call(removeMember, inPerson(house.owner), { member_id: house.member.user });
  await expect(tokens.authenticate(`Bearer ${house.member.readWrite}`)).rejects.toMatchObject({
    code: 'token_invalid',
  });
});

/**
 * So an installation can be split into cells, each with a database of its own for some of the
 * organisations.
 */
test('what an organisation reads is the same where no other is in the database', async () => {
  const alone = await estate();
  const reads = every.filter(isReadOnly);
  const answers = async (): Promise<Record<string, unknown>> => {
    unsealed = createUnsealedHours({ sql: bench.sql, log });
    const all: Record<string, unknown> = {};
    for (const operation of reads)
      for (const monitor of ['monitor_id', 'website_id']) {
        const ids = { ...alone.ids, monitor_id: alone.ids[monitor] ?? '' };
        all[`${operation.id} ${monitor}`] = await bench
          .call(operation, alone.house.owner, inputFor(operation, { ...alone, ids }))
          .catch((error: unknown) => String(error));
      }
    for (const part of exportParts) {
      const items: unknown[] = [];
      for (let cursor: string | null = '', next = {}; cursor !== null; next = { cursor }) {
        const page = await bench.call(readExport, alone.house.owner, { part, ...next });
        items.push(...page.items);
        cursor = page.next_cursor;
      }
      all[part] = items;
    }
    return all;
  };
  // Of another organisation, a day has late checks.
  await bench.sql`update chunks set data = data where monitor_key = (
    select key from monitors where id = ${ours.ids.website_id ?? ''})`;
  // The feed of events waits for the transactions before them, those of other databases as well.
  await eventually(async () => {
    const [row] = await bench.sql<{ settled: boolean }[]>`
      select coalesce(bool_and(written_by < pg_snapshot_xmin(pg_current_snapshot())), true) as settled
      from events`;
    return row?.settled === true;
  });
  const beside = await answers();
  await bench.sql`delete from organisations where id <> ${alone.house.organisation}`;
  await bench.sql`delete from users u
    where not exists (select 1 from memberships m where m.user_id = u.id)`;
  for (const table of ['chunks', 'days', 'stale_days', 'months', 'stale_months'])
    await bench.sql`delete from ${bench.sql(table)}
      where monitor_key not in (select key from monitors)`;
  await bench.sql`delete from journal where data not in (
    select data from journal j join probes p on p.key = j.probe_key)`;
  expect(reads.length).toBeGreaterThan(50);
  expect(await answers()).toEqual(beside);
  const having = (item: object) => expect.arrayContaining([expect.objectContaining(item)]);
  // None of it compares nothing with nothing.
  expect(beside).toMatchObject({
    'getMonitorChecks website_id': { items: having({ took_ms: 40 }) },
    'getMonitorResults website_id': { series: having({ continent: 'Europe' }) },
    'listPlaces website_id': { items: [{ monitors: 1 }] },
    'listMonitorFigures website_id': { items: [{}, { response_ms: 40 }] },
    response_percentiles: [{}, { hours: having({ continent: 'Europe' }) }],
  });
});
