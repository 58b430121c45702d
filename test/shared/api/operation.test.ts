import { readFileSync } from 'node:fs';
import { describe, expect, expectTypeOf, it, test } from 'vitest';
import { handlers } from '../../../coordinator/operations.ts';
import {
  array,
  boolean,
  dict,
  type Field,
  integer,
  type JsonSchema,
  literal,
  type NamedSchema,
  nullable,
  string,
  uuid,
} from '../../../shared/api/fields.ts';
import { operations, restOperations } from '../../../shared/api/index.ts';
import { moment } from '../../../shared/api/moment.ts';
import { type InputOf, type OutputOf, rawInput } from '../../../shared/api/operation.ts';
import { isRecord } from '../../../shared/base/json.ts';

describe('The table of operations', () => {
  const id = '0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b';

  it('holds the twenty-four operations of the specification and those that came later, each under its own id and on a route of its own', () => {
    expect(Object.entries(operations).every(([key, operation]) => key === operation.id)).toBe(true);
    expect(new Set(restOperations.map(({ method, path }) => `${method} ${path}`)).size).toBe(
      restOperations.length,
    );
    // Version 1 only grows.
    const later = [
      'showOrganisation',
      'listMembers',
      'setMemberRole',
      'removeMember',
      'listInvitations',
      'inviteMember',
      'withdrawInvitation',
      'listTokens',
      'getToken',
      'revokeToken',
      'batchMonitors',
      'listDeletedMonitors',
      'restoreMonitor',
      'muteMonitor',
      'unmuteMonitor',
      'getMonitorResults',
      'getMonitorChecks',
      'getMonitorLedger',
      'getUptimeReport',
      'shareReport',
      'listReportShares',
      'withdrawReportShare',
      'mailReport',
      'listReportMails',
      'endReportMail',
      'listObjectives',
      'createObjective',
      'getObjective',
      'updateObjective',
      'deleteObjective',
      'getMonitorPings',
      'createTest',
      'getTest',
      'listCertificates',
      'listDomains',
      'getIncidentEvidence',
      'getIncidentNotifications',
      'addIncidentNote',
      'shareIncident',
      'withdrawIncidentShare',
      'listCauses',
      'getCause',
      'listEvents',
      'createEvent',
      'listWebhooks',
      'createWebhook',
      'getWebhook',
      'updateWebhook',
      'deleteWebhook',
      'rotateWebhookSecret',
      'testWebhook',
      'listWebhookDeliveries',
      'resendWebhookDelivery',
      'replayWebhook',
      'updateMaintenanceWindow',
      'previewMaintenanceWindow',
      'startMaintenanceNow',
      'endMaintenanceNow',
      'createStatusPage',
      'updateStatusPage',
      'deleteStatusPage',
      'orderStatusPage',
      'updateStatusPageMonitor',
      'updateStatusPageGroup',
      'listStatusPagePosts',
      'createStatusPagePost',
      'deleteStatusPagePost',
      'listStatusPageReports',
      'createStatusPageReport',
      'getStatusPageReport',
      'updateStatusPageReport',
      'addStatusPageReportUpdate',
      'deleteStatusPageReport',
      'getStatusPageSubscribers',
      'listStatusPageSubscribers',
      'removeStatusPageSubscriber',
      'checkStatusPageDomain',
      'renewStatusPageLink',
      'acknowledgeIncident',
      'unacknowledgeIncident',
      'assignIncident',
      'writePostMortem',
      'listChannels',
      'createChannel',
      'getChannel',
      'updateChannel',
      'deleteChannel',
      'testChannel',
      'listMessages',
      'showMute',
      'muteAlerts',
      'unmuteAlerts',
      'listPlaces',
      'getPlace',
      'updatePlace',
      'listProbes',
      'listProbeInvitations',
      'inviteProbe',
      'revokeProbeInvitation',
      'endProbe',
      'createPingKey',
      'listPingKeys',
      'rotatePingKey',
      'getFile',
      'planFile',
      'applyFile',
      'endPingKey',
      'listAudit',
    ];
    expect(restOperations.map(({ id }) => id).filter((id) => later.includes(id))).toEqual(later);
    expect(restOperations.length - later.length).toBe(24);
  });

  it('describes every parameter of a path', () => {
    for (const { path, params } of restOperations) {
      expect([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)).toEqual(Object.keys(params));
    }
  });

  it('gives handlers one flat typed input from path, query and body', () => {
    expectTypeOf<InputOf<typeof operations.updateMonitor>>().toEqualTypeOf<{
      readonly monitor_id: string;
      readonly name: string | null;
      readonly target: string | null;
      readonly interval_s: number | null;
      readonly config: Readonly<Record<string, unknown>> | null;
      readonly enabled: boolean | null;
      readonly group: string | null;
      readonly ungroup: boolean;
      readonly affects_group_status: boolean | null;
      readonly external_id: string | null;
      readonly tags: readonly string[] | null;
      readonly runbook: string | null;
      readonly depends_on_monitors: readonly string[] | null;
      readonly depends_on_groups: readonly string[] | null;
    }>();
    expectTypeOf<InputOf<typeof operations.listIncidents>['state']>().toEqualTypeOf<
      'all' | 'open' | 'resolved'
    >();
    expectTypeOf<OutputOf<typeof operations.deleteMonitor>>().toEqualTypeOf<void>();
    expectTypeOf<OutputOf<typeof operations.getMonitorStatus>['uptime']['percent']>().toEqualTypeOf<
      number | null
    >();
    const parsed = operations.updateMonitor.parse({
      path: { monitor_id: id.toUpperCase() },
      body: { enabled: 'no' },
    });
    expect(parsed).toEqual({
      ok: true,
      value: {
        monitor_id: id,
        name: null,
        target: null,
        interval_s: null,
        config: null,
        enabled: false,
        group: null,
        ungroup: false,
        affects_group_status: null,
        external_id: null,
        tags: null,
        runbook: null,
        depends_on_monitors: null,
        depends_on_groups: null,
      },
    });
  });

  it('names every fault at once, path before query before body', () => {
    const parsed = operations.updateMonitor.parse({
      path: { monitor_id: '123' },
      body: { name: 5, ungroup: 'perhaps' },
    });
    expect(parsed.ok ? [] : parsed.faults.map(({ type, loc }) => [type, ...loc])).toEqual([
      ['uuid_parsing', 'path', 'monitor_id'],
      ['string_type', 'body', 'name'],
      ['bool_parsing', 'body', 'ungroup'],
    ]);
  });

  it('refuses to move a monitor into a group and out of its group at once, in words that say what to do', () => {
    const change = (body: object) =>
      operations.updateMonitor.parse({ path: { monitor_id: id }, body });
    expect(change({ group: id, ungroup: true })).toEqual({
      ok: false,
      faults: [
        {
          type: 'value_error',
          loc: ['body', 'ungroup'],
          msg: 'Value error, send either `group`, to move the monitor there, or `ungroup`, to take it out of its group, not both',
          input: true,
          ctx: { error: {} },
        },
      ],
    });
    for (const body of [
      { group: id, ungroup: false },
      { group: null, ungroup: true },
      { ungroup: true },
      { group: id },
    ])
      expect(change(body).ok).toBe(true);
  });

  it('sorts flat arguments into path, query and body', () => {
    expect(rawInput(operations.updateMonitor, { monitor_id: id, name: 'x', other: 1 })).toEqual({
      path: { monitor_id: id },
      query: {},
      body: { name: 'x' },
    });
    expect(rawInput(operations.listMonitors, { limit: 3 })).toEqual({
      path: {},
      query: { limit: 3 },
    });
  });

  it('echoes no secret in a fault', () => {
    const parsed = operations.createMonitor.parse({
      body: {
        config: {
          bearer_token: 'hush',
          basic_auth: { username: 'u', password: 'hush' },
          headers: { 'X-Key': 'hush', a: 'b' },
          secret_headers: ['x-key'],
        },
      },
    });
    expect(JSON.stringify(parsed)).not.toContain('hush');
    expect(JSON.stringify(parsed)).toContain('"a":"b"');
    expect(
      JSON.stringify(
        operations.createMonitor.parse({ body: { config: '{"bearer_token": "hush"}' } }),
      ),
    ).not.toContain('hush');
  });
});

describe('The field kit', () => {
  /**
   * What FastAPI 0.142 with pydantic 2.13 answered to each input, recorded once from the real
   * thing.
   */
  type Recorded = {
    readonly field: string;
    readonly json: string;
    readonly value?: unknown;
    readonly detail?: readonly { input: unknown }[];
  };

  const recorded: readonly Recorded[] = readFileSync(
    new URL('recorded/fields.jsonl', import.meta.url),
    'utf8',
  )
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

  const fields: Readonly<Record<string, Field<unknown>>> = {
    string: string(),
    integer: integer(),
    nullable_integer: nullable(integer()),
    bounded: integer({ ge: 1, le: 365 }),
    boolean: boolean(),
    dict: dict(),
    uuid: uuid(),
    literal: literal(['all', 'open', 'resolved']),
    moment: moment(),
    uuids: array(uuid()),
  };

  /** A moment as the recording has it: an instant in UTC, or a local time. */
  const asRecorded = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && 'is' in value
      ? 'at' in value && typeof value.at === 'number'
        ? { instant: new Date(value.at).toISOString() }
        : { local: 'local' in value ? value.local : undefined }
      : value;

  const parse = ({ field: name, json }: Recorded): unknown => {
    const field = fields[name];
    if (!field) throw new Error(`the recording knows a field ${name} that the test does not`);
    const parsed = field.parse(JSON.parse(json), ['body', 'value']);
    return parsed.ok ? { value: asRecorded(parsed.value) } : { detail: parsed.faults };
  };

  for (const name of Object.keys(fields)) {
    const rows = recorded.filter(({ field }) => field === name);
    it(`takes and refuses ${rows.length} inputs of ${name} as pydantic does, word for word`, () => {
      expect(rows.length).toBeGreaterThan(15);
      const ours = rows.map((row) => [row.json, parse(row)]);
      const theirs = rows.map(({ json, value, detail }) => [
        json,
        detail === undefined ? { value } : { detail },
      ]);
      expect(ours).toEqual(theirs);
    });
  }

  it('sends the members of a fault in the order type, loc, msg, input, ctx', () => {
    const faulty = recorded.filter(({ detail }) => detail !== undefined);
    const order = (row: unknown) =>
      JSON.stringify(row, (_key, value) => (typeof value === 'object' ? value : 0));
    expect(faulty.map((row) => order(parse(row)))).toEqual(
      faulty.map(({ detail }) => order({ detail })),
    );
  });

  it('refuses a time whose offset takes it out of the years that a database reads', () => {
    const fault = 'its time in UTC is outside the years 1 to 9999';
    for (const input of ['9999-12-31T23:58:59-00:02', '0001-01-01T00:00:00+00:01'])
      expect(moment().parse(input, ['body'])).toMatchObject({
        ok: false,
        faults: [{ type: 'datetime_parsing', ctx: { error: fault } }],
      });
    expect(moment().parse('9999-12-31T23:58:59-00:01', [])).toMatchObject({ ok: true });
  });

  it('refuses unpaired surrogates', () => {
    const typesOf = (input: unknown) => {
      const parsed = string().parse(input, []);
      return parsed.ok ? [] : parsed.faults.map(({ type }) => type);
    };
    expect(['\ud800', 'a\udc00b', '😀', 'a\0b'].map(typesOf)).toEqual([
      ['string_unicode'],
      ['string_unicode'],
      [],
      [],
    ]);
  });
});

/**
 * How long and how large a thing may be that is kept, the domain says, with a code: the shape of a
 * body only says which kind of thing it is.
 */
describe('stored bounds', () => {
  const componentsOf = (named: readonly NamedSchema[]): Map<string, JsonSchema> =>
    new Map(
      named.flatMap(({ name, schema, components }) => [
        [name, schema] as const,
        ...componentsOf(components),
      ]),
    );

  /** A value of the kind that is described and beyond every bound that there is. */
  const beyond = (
    schema: unknown,
    components: ReadonlyMap<string, JsonSchema>,
    sign: 1 | -1,
    items = 600,
  ): unknown => {
    if (!isRecord(schema)) throw new Error('a member without a schema');
    const inner = (each: unknown): unknown => beyond(each, components, sign, items);
    if (typeof schema.$ref === 'string')
      return inner(components.get(schema.$ref.replace('#/components/schemas/', '')));
    if (Array.isArray(schema.anyOf)) return inner(schema.anyOf[0]);
    if (Array.isArray(schema.enum)) return schema.enum[0];
    if (schema.type === 'string')
      return schema.format === 'uuid'
        ? '019a9c10-4f0e-7b52-9a6d-0c1d5b8f2e31'
        : 'a,\u0000 '.repeat(800);
    if (schema.type === 'integer' || schema.type === 'number') return sign * 1e15;
    if (schema.type === 'boolean') return false;
    if (schema.type === 'array')
      return Array.from({ length: items }, () => beyond(schema.items, components, sign, 1));
    return Object.fromEntries(
      Object.entries(isRecord(schema.properties) ? schema.properties : {}).map(([key, of]) => [
        key,
        inner(of),
      ]),
    );
  };

  /** What is not kept, and so no matter of the domain. */
  const exceptions: readonly string[] = [
    'changeMonitors monitors value_error', // How many are chosen at once.
    'batchMonitors items value_error', // How many are sent at once.
    'createTest wait_s less_than_equal', // How long to wait for an answer.
    'createTest wait_s greater_than_equal',
    'rotateBeatAddress overlap_s less_than_equal', // How long until something ends.
    'rotateBeatAddress overlap_s greater_than_equal',
    'rotatePingKey overlap_s less_than_equal',
    'rotatePingKey overlap_s greater_than_equal',
    'shareReport days less_than_equal',
    'shareReport days greater_than_equal',
  ];

  test('no length and no range of what is kept is refused by the shape of a body', () => {
    const refused = Object.values(handlers.organisation).flatMap(
      ({ operation: { id, params, body, parse } }) => {
        if (body === undefined) return [];
        const components = componentsOf(body.components);
        const path = Object.fromEntries(
          Object.keys(params).map((key) => [key, '019a9c10-4f0e-7b52-9a6d-0c1d5b8f2e31']),
        );
        return ([1, -1] as const).flatMap((sign) => {
          const parsed = parse({ path, body: beyond(body.schema, components, sign) });
          // A text that is no date is of the wrong kind, however long.
          const faults = parsed.ok
            ? []
            : parsed.faults.filter(({ type }) => !type.startsWith('datetime_'));
          return faults.map(({ loc, type }) => `${id} ${loc.slice(1).join('.')} ${type}`);
        });
      },
    );
    expect([...new Set(refused)].toSorted()).toEqual(exceptions.toSorted());
  });
});

test('a list a thousand times as long as it may be is refused unread', () => {
  const rows = Array.from({ length: 500_001 }, () => ({}));
  const file = operations.planFile.parse({
    path: { file: 'shop' },
    body: { status_pages: { shop: { rows } } },
  });
  expect(file.ok ? [] : file.faults.map(({ msg }) => msg)).toEqual([
    'List should have at most 500 items',
  ]);
});

test('a body of very many faults is refused with the first thousand of them', () => {
  const junk = Array.from({ length: 200_000 }, () => 0);
  const many = operations.batchMonitors.parse({ body: { items: junk } });
  expect(many.ok ? 0 : many.faults.length).toBe(1_000);
  const unknown = Object.fromEntries(junk.slice(0, 20_000).map((_, at) => [`x${at}`, 0]));
  const file = operations.planFile.parse({
    path: { file: 'shop' },
    body: { monitors: { web: unknown, db: unknown } },
  });
  expect(file.ok ? 0 : file.faults.length).toBe(1_000);
  const groups = Object.fromEntries(Array.from({ length: 2_001 }, (_, at) => [`k${at}`, {}]));
  const tooMany = operations.planFile.parse({ path: { file: 'shop' }, body: { groups } });
  expect(tooMany.ok ? [] : tooMany.faults.map(({ msg }) => msg)).toEqual([
    'Value error, groups: send at most 2000 in one call',
  ]);
});
