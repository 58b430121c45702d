import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OperationId, operations, restOperations } from '../../../shared/api/index.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { type Api, call, createThings, openApi, type Things } from '../../support/api.ts';
import { contractFaults } from '../../support/contract.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

let database: TestDatabase;
let api: Api;
let house: TestOrganisation;
let strangers: TestOrganisation;

/** What stands in the house, and what everybody asks for. */
let things: Things;

beforeAll(async () => {
  database = await createDatabase();
  api = await openApi(database.url);
  house = await createTestOrganisation(api.sql);
  strangers = await createTestOrganisation(api.sql);
  things = await createThings(api, house.owner);
});

afterAll(async () => {
  await api.close();
  await database.drop();
});

/** A good body of each operation that takes one; an operation that is added must be added here. */
const bodies: { readonly [Id in OperationId]?: (of: Things) => object } = {
  createMonitor: ({ group }) => ({ type: 'heartbeat', name: 'New', group }),
  batchMonitors: () => ({ items: [{ type: 'heartbeat', name: 'New' }] }),
  planFile: () => ({ monitors: { job: { type: 'heartbeat' } } }),
  applyFile: () => ({ monitors: { job: { type: 'heartbeat' } } }),
  updateMonitor: ({ group }) => ({ name: 'Renamed', group }),
  createMaintenanceWindow: ({ monitor, group }) => ({
    starts_at: '2099-02-01',
    ends_at: '2099-02-02',
    monitors: [monitor],
    groups: [group],
  }),
  updateMaintenanceWindow: ({ group }) => ({ name: 'Renamed', groups: [group] }),
  createGroup: () => ({ name: 'New' }),
  createEvent: ({ monitor }) => ({ name: 'Deploy', monitor }),
  updateGroup: () => ({ name: 'Renamed' }),
  updatePlace: () => ({ name: newId() }),
  addStatusPageMonitor: ({ otherMonitor }) => ({ monitor: otherMonitor }),
  addStatusPageGroup: ({ group }) => ({ group }),
  createStatusPage: () => ({ name: 'New', slug: newId() }),
  updateStatusPage: () => ({
    name: 'Renamed',
    domain: 'status.example.org',
    access: 'password',
    password: 'for everybody',
  }),
  updateStatusPageMonitor: () => ({ display_name: 'Renamed' }),
  updateStatusPageGroup: () => ({ display_name: 'Renamed' }),
  // Nothing is on it yet.
  orderStatusPage: () => ({ rows: [] }),
  createStatusPagePost: () => ({ kind: 'monitoring' }),
  addIncidentNote: () => ({ text: 'A disk was full.' }),
  muteMonitor: () => ({}),
  muteAlerts: () => ({ minutes: 5 }),
  writePostMortem: () => ({ text: 'A disk was full.' }),
  assignIncident: ({ member }) => ({ email: member }),
  createStatusPageReport: () => ({ title: 'New', kind: 'announcement', text: 'News.' }),
  updateStatusPageReport: () => ({ title: 'Renamed' }),
  addStatusPageReportUpdate: () => ({ kind: 'resolved', text: 'It is over.' }),
  createChannel: ({ monitor, group }) => ({
    kind: 'webhook',
    config: { url: 'https://hooks.example.org/' },
    personal: true,
    try: false,
    covers: 'chosen',
    monitors: [monitor],
    groups: [group],
  }),
  updateChannel: ({ group }) => ({ name: 'Renamed', groups: [group] }),
  inviteProbe: () => ({ name: newId(), continent: 'Africa' }),
  createPingKey: () => ({ name: 'Jobs' }),
  rotatePingKey: () => ({}),
  createObjective: ({ group }) => ({ name: 'Web', group, target: 99.9 }),
  updateObjective: () => ({ name: 'Renamed' }),
  createWebhook: () => ({ url: 'https://hooks.example.org/' }),
  updateWebhook: () => ({ description: 'Renamed' }),
  replayWebhook: () => ({ since: '2026-01-01T00:00:00Z' }),
  shareReport: ({ monitor }) => ({ monitor }),
  mailReport: ({ monitor }) => ({ monitor, every: 'week' }),
  setMemberRole: () => ({ role: 'member' }),
  inviteMember: () => ({ email: `${newId()}@example.org`, role: 'viewer' }),
  createTest: ({ monitor }) => ({ type: 'https', target: 'https://example.org/', monitor }),
};

/** What must be asked of an operation that has no body. */
const queries: { readonly [Id in OperationId]?: (of: Things) => string } = {
  getUptimeReport: ({ monitor }) => `?monitor=${monitor}`,
  previewMaintenanceWindow: ({ window }) =>
    `?starts_at=2099-02-01&ends_at=2099-02-02&window=${window}`,
};

const request = (id: OperationId, of: Things) => {
  const operation = restOperations.find((operation) => operation.id === id);
  if (!operation) throw new Error(`there is no operation ${id}`);
  const url = operation.path
    .replace('{monitor_id}', id === 'getMonitorPings' ? of.otherMonitor : of.monitor)
    .replace('{group_id}', of.group)
    .replace('{window_id}', of.window)
    .replace('{page_id}', of.page)
    .replace('{incident_id}', of.incident)
    .replace('{cause_id}', of.cause)
    .replace('{objective_id}', of.objective)
    .replace('{channel_id}', of.channel)
    .replace('{post_id}', of.post)
    .replace('{report_id}', of.report)
    .replace('{subscriber_id}', of.subscriber)
    .replace('{token_id}', of.token)
    .replace('{member_id}', of.otherMember)
    .replace('{invitation_id}', of.invitation)
    .replace('{share_id}', of.share)
    .replace('{mail_id}', of.mail)
    .replace('{probe_invitation_id}', of.probeInvitation)
    .replace('{probe_id}', of.probe)
    .replace('{ping_key_id}', of.pingKey)
    .replace('{place_id}', of.probe)
    .replace('{webhook_id}', of.webhook)
    .replace('{delivery_id}', of.delivery)
    .replace('{test_id}', of.test)
    .replace('{file}', 'shop');
  const payload = bodies[id]?.(of);
  return {
    method: operation.method,
    url: `${url}${queries[id]?.(of) ?? ''}`,
    ...(payload && { payload }),
  };
};

const isOperationId = (id: string): id is OperationId => Object.hasOwn(operations, id);
const ids = restOperations.map(({ id }) => id).filter(isOperationId);
const writes = new Set(
  restOperations.filter(({ access }) => access !== 'read').map(({ id }) => id),
);

const own = new Set(restOperations.filter(({ access }) => access === 'self').map(({ id }) => id));

const unseen: ReadonlyMap<string, string> = new Map([
  ['getTest', 'test_not_found'],
  ['getToken', 'token_not_found'],
]);

/** What a viewer hears who asks for what is another's alone. */
const notTheirs: ReadonlyMap<string, string> = new Map([
  ['mailReport', 'report_mail_invalid'],
  ['endReportMail', 'report_mail_not_found'],
  ['revokeToken', 'token_not_found'],
]);

/** Everything of the house that somebody else could change, to compare before and after. */
const inventory = async (): Promise<string> => {
  const rows = await api.sql`
    select json_build_array(
      (select json_agg(m order by key) from monitors m where organisation_id = ${house.organisation}),
      (select json_agg(g order by key) from groups g where organisation_id = ${house.organisation}),
      (select json_agg(w order by key) from maintenance_windows w where organisation_id = ${house.organisation}),
      (select json_agg(p order by key) from status_pages p where organisation_id = ${house.organisation}),
      (select json_agg(p) from status_page_monitors p), (select json_agg(p) from status_page_groups p),
      (select json_agg(p order by key) from status_page_posts p where organisation_id = ${house.organisation}),
      (select json_agg(p order by key) from status_page_reports p where organisation_id = ${house.organisation}),
      (select json_agg(w order by key) from webhooks w where organisation_id = ${house.organisation}),
      (select json_agg(d order by key) from deliveries d where organisation_id = ${house.organisation}))::text as all`;
  return String(rows[0]?.all);
};

const ask = async (id: OperationId, token: string | undefined, of: Things = things) => {
  const heard = await call(api, token, request(id, of));
  expect(contractFaults(id, heard)).toEqual([]);
  return heard;
};

const codeOf = (body: unknown): unknown =>
  typeof body === 'object' &&
  body !== null &&
  'error' in body &&
  typeof body.error === 'object' &&
  body.error !== null &&
  'code' in body.error
    ? body.error.code
    : undefined;

/** Somebody who was given a token and lost it. */
const formerToken = async (loss: 'removed' | 'revoked' | 'expired'): Promise<string> => {
  const left = await createTestOrganisation(api.sql);
  const { user, organisation, readWrite } = left.admin;
  expect((await ask('whoami', readWrite)).status).toBe(200);
  if (loss === 'removed')
    await api.sql`delete from memberships where user_id = ${user} and organisation_id = ${organisation}`;
  if (loss === 'revoked') await api.sql`delete from tokens where user_id = ${user}`;
  if (loss === 'expired')
    await api.sql`update tokens set expires_at = now() where user_id = ${user}`;
  return readWrite;
};

describe('A caller without access', () => {
  it('from another organisation gets the same answer for a foreign id as for an unknown one', async () => {
    const before = await inventory();
    const unknown: Things = {
      monitor: newId(),
      otherMonitor: newId(),
      group: newId(),
      otherGroup: newId(),
      window: newId(),
      page: newId(),
      incident: newId(),
      cause: newId(),
      objective: newId(),
      channel: newId(),
      post: newId(),
      report: newId(),
      subscriber: newId(),
      token: newId(),
      otherMember: newId(),
      invitation: newId(),
      share: newId(),
      mail: newId(),
      probeInvitation: newId(),
      probe: newId(),
      pingKey: newId(),
      test: newId(),
      webhook: newId(),
      delivery: newId(),
      member: house.owner.email,
    };
    for (const id of ids.filter(
      (id) =>
        ![
          'whoami',
          'showOrganisation',
          'listMembers',
          'inviteMember',
          'listTokens',
          'batchMonitors',
          'planFile',
          'applyFile',
          'getFile',
          'listEvents',
          'createWebhook',
          'createGroup',
          'createStatusPage',
          'inviteProbe',
          'createPingKey',
          'showMute',
          'muteAlerts',
          'unmuteAlerts',
        ].includes(id),
    )) {
      const foreign = await ask(id, strangers.owner.readWrite);
      const unheardOf = await ask(id, strangers.owner.readWrite, unknown);
      expect([id, foreign.status, foreign.text]).toEqual([id, unheardOf.status, unheardOf.text]);
      if (
        id.startsWith('list') &&
        !/^list(StatusPage(Posts|Reports|Subscribers)|WebhookDeliveries)$/.test(id)
      )
        expect([id, foreign.body]).toEqual([id, { items: [], next_cursor: null }]);
      else expect([id, foreign.status]).toEqual([id, 404]);
    }
    expect(await inventory()).toBe(before);
  });

  for (const loss of ['removed', 'revoked', 'expired'] as const)
    it(`with a token that was ${loss} can do nothing`, async () => {
      const token = await formerToken(loss);
      for (const id of ids) {
        const heard = await ask(id, token);
        expect([id, heard.status, codeOf(heard.body)]).toEqual([id, 401, 'token_invalid']);
      }
    });

  it('without a token is asked for one', async () => {
    for (const id of ids)
      expect([id, codeOf((await ask(id, undefined)).body)]).toEqual([id, 'token_missing']);
  });

  it('with the viewer role or a read token reads and does not write', async () => {
    const before = await inventory();
    const isOwners = (token: string) => token === house.owner.read;
    const people = [
      [house.viewer.readWrite, 'role_insufficient'],
      [house.viewer.read, 'scope_insufficient'],
      [house.owner.read, 'scope_insufficient'],
    ] as const;
    for (const [token, code] of people)
      for (const id of ids) {
        const heard = await ask(id, token);
        // The results of a test are for whoever began it, a token for whoever made it.
        const read =
          unseen.has(id) && !isOwners(token) ? [id, 404, unseen.get(id)] : [id, 200, undefined];
        // A viewer may do what is theirs alone, as far as they have it.
        if (own.has(id) && code === 'role_insufficient')
          expect([id, codeOf(heard.body)]).toEqual([id, notTheirs.get(id)]);
        else
          expect([id, heard.status, codeOf(heard.body)]).toEqual(
            writes.has(id) ? [id, 403, code] : read,
          );
      }
    expect(await inventory()).toBe(before);
  });

  it('is refused before the input is validated', async () => {
    const url = '/api/v1/monitors/not-an-id';
    expect(
      (await call(api, house.viewer.readWrite, { method: 'PATCH', url, payload: { name: 5 } }))
        .status,
    ).toBe(403);
    expect(
      (await call(api, 'svc_nobody', { method: 'PATCH', url, payload: { name: 5 } })).status,
    ).toBe(401);
  });

  it('cannot use a cookie in place of a token', async () => {
    const heard = await call(api, undefined, {
      url: '/api/v1/me',
      headers: { cookie: `svc_session=${house.owner.readWrite}` },
    });
    expect([heard.status, codeOf(heard.body)]).toEqual([401, 'token_missing']);
  });
});

describe('A caller with access', () => {
  it('does everything that there is: an owner and an admin alike, and a member what does not manage', async () => {
    for (const role of ['owner', 'admin', 'member'] as const) {
      const mine = await createTestOrganisation(api.sql);
      const token = mine[role].readWrite;
      const of = await createThings(api, mine[role], { published: false });
      // What deletes comes last, and what publishes before what takes down.
      const order = [
        ...ids.filter((id) => !/^(delete|remove|revoke|end|restore|withdraw)/.test(id)),
        'removeStatusPageMonitor',
        'removeStatusPageGroup',
      ] as const;
      const last = [
        'endMaintenanceNow',
        'withdrawIncidentShare',
        'withdrawReportShare',
        'endReportMail',
        'revokeToken',
        'withdrawInvitation',
        'removeMember',
        'removeStatusPageSubscriber',
        'revokeProbeInvitation',
        'endProbe',
        'endPingKey',
        'deleteStatusPagePost',
        'deleteStatusPageReport',
        'deleteStatusPage',
        'deleteChannel',
        'deleteWebhook',
        'deleteObjective',
        'deleteMaintenanceWindow',
        'deleteGroup',
        'deleteMonitor',
        'restoreMonitor',
      ] as const;
      for (const id of [...order, ...last]) {
        const heard = await ask(id, token, of);
        const { success, access } = restOperations.find((operation) => operation.id === id) ?? {};
        if (role === 'admin' && access === 'members') {
          expect([id, codeOf(heard.body)]).toEqual([id, 'scope_insufficient']);
          continue;
        }
        if (role === 'member' && (access === 'manage' || access === 'members')) {
          expect([id, codeOf(heard.body)]).toEqual([id, 'role_insufficient']);
          continue;
        }
        expect([role, id, heard.status, heard.text.slice(0, 200)]).toEqual([
          role,
          id,
          success,
          heard.text.slice(0, 200),
        ]);
      }
    }
  });
});
