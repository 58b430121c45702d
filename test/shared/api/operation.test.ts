import { describe, expect, expectTypeOf, it } from 'vitest';
import { operations, restOperations } from '../../../shared/api/index.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { rawInput } from '../../../shared/api/operation.ts';

const id = '0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b';

describe('The table of operations', () => {
  it('holds the twenty-four operations of the specification and those that came later, each under its own id and on a route of its own', () => {
    expect(Object.entries(operations).every(([key, operation]) => key === operation.id)).toBe(true);
    expect(new Set(restOperations.map(({ method, path }) => `${method} ${path}`)).size).toBe(restOperations.length);
    // Version 1 only grows.
    const later = [
      ...['batchMonitors', 'getMonitorResults', 'getMonitorLedger', 'getIncidentEvidence', 'listEvents'],
      ...['updateMaintenanceWindow', 'previewMaintenanceWindow'],
      ...[
        'createStatusPage',
        'updateStatusPage',
        'deleteStatusPage',
        'orderStatusPage',
        'updateStatusPageMonitor',
        'updateStatusPageGroup',
      ],
      ...['listStatusPagePosts', 'createStatusPagePost', 'deleteStatusPagePost', 'getStatusPageSubscribers'],
      ...['checkStatusPageDomain', 'renewStatusPageLink'],
      ...['acknowledgeIncident', 'listChannels', 'createChannel', 'getChannel', 'updateChannel', 'deleteChannel'],
      ...['listProbeInvitations', 'inviteProbe', 'revokeProbeInvitation', 'endProbe'],
    ];
    expect(restOperations.map(({ id }) => id).filter((id) => later.includes(id))).toEqual(later);
    expect(restOperations.length - later.length).toBe(24);
  });

  it('describes every parameter that stands in a path', () => {
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
    }>();
    expectTypeOf<InputOf<typeof operations.listIncidents>['state']>().toEqualTypeOf<'all' | 'open' | 'resolved'>();
    expectTypeOf<OutputOf<typeof operations.deleteMonitor>>().toEqualTypeOf<void>();
    expectTypeOf<OutputOf<typeof operations.getMonitorStatus>['uptime']['percent']>().toEqualTypeOf<number | null>();
    const parsed = operations.updateMonitor.parse({ path: { monitor_id: id.toUpperCase() }, body: { enabled: 'no' } });
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
      },
    });
  });

  it('names every fault at once, path before query before body', () => {
    const parsed = operations.updateMonitor.parse({ path: { monitor_id: '123' }, body: { name: 5, ungroup: 'perhaps' } });
    expect(parsed.ok ? [] : parsed.faults.map(({ type, loc }) => [type, ...loc])).toEqual([
      ['uuid_parsing', 'path', 'monitor_id'],
      ['string_type', 'body', 'name'],
      ['bool_parsing', 'body', 'ungroup'],
    ]);
  });

  it('refuses to move a monitor into a group and out of its group at once, in words that say what to do', () => {
    const change = (body: object) => operations.updateMonitor.parse({ path: { monitor_id: id }, body });
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
    for (const body of [{ group: id, ungroup: false }, { group: null, ungroup: true }, { ungroup: true }, { group: id }])
      expect(change(body).ok).toBe(true);
  });

  it('sorts flat arguments into path, query and body', () => {
    expect(rawInput(operations.updateMonitor, { monitor_id: id, name: 'x', other: 1 })).toEqual({
      path: { monitor_id: id },
      query: {},
      body: { name: 'x' },
    });
    expect(rawInput(operations.listMonitors, { limit: 3 })).toEqual({ path: {}, query: { limit: 3 } });
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
    expect(JSON.stringify(operations.createMonitor.parse({ body: { config: '{"bearer_token": "hush"}' } }))).not.toContain('hush');
  });
});
