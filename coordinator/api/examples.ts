import type { ChannelOut } from '../../shared/api/channels.ts';
import type { ValueOf } from '../../shared/api/fields.ts';
import type { GroupOut } from '../../shared/api/groups.ts';
import type { getIncidentEvidence, IncidentOut } from '../../shared/api/incidents.ts';
import type { MaintenanceOut } from '../../shared/api/maintenance.ts';
import type { getMonitorLedger, getMonitorResults, MonitorOut, StatusOut, UptimeOut } from '../../shared/api/monitors.ts';
import type { MeOut } from '../../shared/api/organisations.ts';
import type { ProbeInvitationOut } from '../../shared/api/probes.ts';
import type {
  StatusPageDomainOut,
  StatusPageGroupOut,
  StatusPageMonitorOut,
  StatusPageOut,
  StatusPagePostOut,
  StatusPageSummaryOut,
} from '../../shared/api/status-pages.ts';

/** Examples of a monitor's history: with this uptime, this incident, and a note with this id. */
export const historyExamples = (uptime: ValueOf<typeof UptimeOut>, incident: ValueOf<typeof IncidentOut>, note: string) => {
  const check = {
    ...{ part: 'seen', continent: 'Europe', probe: 'fra-1', at: incident.started_at, outcome: 'fail', took_ms: 212.4 },
    ...{ cause: incident.cause, cause_class: 'http_status' },
    phases: { dns: 3.1, tcp: 11.8, tls: 24.5, first_byte: 172.6, total: 212.4 },
    evidence: { status: 503, address: '203.0.113.7' },
  };

  const evidence: ValueOf<NonNullable<(typeof getIncidentEvidence)['response']>> = {
    ...incident,
    checks: [check],
    samples: [
      { at: check.at, continent: 'Europe', probe: 'fra-1', outcome: 'fail', took_ms: check.took_ms, cause_class: check.cause_class },
    ],
    samples_complete: true,
    told: [
      {
        event: 'down',
        channel: 'ada@harbour.example.com',
        state: 'sent',
        due_at: incident.confirmed_at,
        settled_at: incident.confirmed_at,
      },
    ],
    notes: [{ id: note, by: 'ada@harbour.example.com', at: '2026-11-18T04:20:00.000Z', text: 'A disk was full.' }],
    share: null,
    effect: { days: 30, down_seconds: 514, percent: 99.967, percent_without: 100 },
  };

  const results: ValueOf<NonNullable<(typeof getMonitorResults)['response']>> = {
    ...{ monitor: incident.monitor, from: '2026-11-19T12:00:00.000Z', to: '2026-11-20T12:00:00.000Z', step_s: 300, source: 'raw' },
    series: [
      {
        continent: 'Europe',
        points: [
          {
            ...{ at: '2026-11-20T11:55:00.000Z', ok: 5, failed: 0, unknown: 0 },
            ...{ mean_ms: 121.4, least_ms: 98.2, most_ms: 164, median_ms: 118.9, p95_ms: 160.1 },
          },
        ],
      },
    ],
  };

  const ledger: ValueOf<NonNullable<(typeof getMonitorLedger)['response']>> = {
    monitor: incident.monitor,
    ...uptime,
    stretches: [
      {
        from: '2026-11-18T04:03:35.000Z',
        to: '2026-11-18T04:12:09.000Z',
        state: 'down',
        incident: incident.id,
        window: null,
        window_name: null,
      },
    ],
    left_out: 0,
  };

  return { IncidentEvidenceOut: evidence, ResultSeriesOut: results, LedgerOut: ledger };
};

const ids = {
  organisation: '019a9c10-4f0e-7b52-9a6d-0c1d5b8f2e31',
  monitor: '019a9c12-8d3a-7c61-b4e0-5f7a9c2d1b44',
  group: '019a9c11-2b7c-7d10-8f35-6e4b1a0c9d22',
  incident: '019aa1f0-63b5-7e08-a1c9-3d2e7f50b866',
  window: '019aa3c4-10de-7f93-b672-9a8b0c4d5e77',
  channel: '019aa7d2-0b6e-7c34-9e58-1a2f4c6d8b90',
  invitation: '019aab04-5d1e-7c72-8f60-9b3d7a1c5e24',
  post: '019aa1f2-1c07-7a93-8e46-5b9d0f2c7a18',
  page: '019a9c1a-77f1-7a25-8c04-2f6d3b9e1a55',
} as const;

const created_at = '2026-11-02T09:30:00.000Z';

const me: ValueOf<typeof MeOut> = {
  organisation: { id: ids.organisation, name: 'Harbour Works', plan: 'team', time_zone: 'Europe/Vienna' },
  role: 'admin',
  scope: 'read_write',
  token_name: 'deploy',
};

const monitor: ValueOf<typeof MonitorOut> = {
  id: ids.monitor,
  name: 'Shop',
  type: 'https',
  target: 'https://shop.example.com/',
  interval_s: 60,
  enabled: true,
  config: { expected_status: ['2xx'], bearer_token: '***' },
  group: ids.group,
  affects_group_status: true,
  created_at,
  ...{ status: 'up', since: '2026-11-18T04:12:09.000Z', last_checked_at: '2026-11-20T11:59:42.318Z' },
  ...{ external_id: 'shop/checkout', tags: ['eu', 'shop'] },
};

const uptime: ValueOf<typeof UptimeOut> = {
  ...{ days: 30, percent: 99.967, down_seconds: 514.2 },
  ...{ from: '2026-11-02T09:30:00.000Z', to: '2026-11-20T12:00:00.000Z' },
  ...{ up_seconds: 1_560_085.8, maintenance_seconds: 3_600, unknown_seconds: 0, paused_seconds: 0 },
};

const status: ValueOf<typeof StatusOut> = {
  monitor: ids.monitor,
  status: 'up',
  since: '2026-11-18T04:12:09.000Z',
  last_checked_at: '2026-11-20T11:59:42.318Z',
  enabled: true,
  uptime,
};

const incident: ValueOf<typeof IncidentOut> = {
  id: ids.incident,
  monitor: ids.monitor,
  monitor_name: 'Shop',
  cause: 'Status 503, expected 2xx',
  started_at: '2026-11-18T04:03:35.000Z',
  confirmed_at: '2026-11-18T04:03:36.410Z',
  resolved_at: '2026-11-18T04:12:09.000Z',
  open: false,
  seen_from: { name: 'fra-1', continent: 'Europe' },
  confirmed_from: { name: 'syd-1', continent: 'Oceania' },
  note: null,
  ...{ scope: 'everywhere', layer: 'http', acknowledged_at: '2026-11-18T04:05:12.200Z', acknowledged_by: 'Ada', duration_s: 514 },
};

const maintenance: ValueOf<typeof MaintenanceOut> = {
  id: ids.window,
  name: 'Weekly release',
  starts_at: '2026-11-24T01:00:00.000Z',
  ends_at: '2026-11-24T02:00:00.000Z',
  rrule: 'FREQ=WEEKLY;BYDAY=TU',
  monitors: [ids.monitor],
  groups: [],
  time_zone: 'Europe/Berlin',
  repeats: 'every week on Tuesday',
  next_occurrences: [
    {
      ...{ starts_at: '2026-11-24T01:00:00.000Z', ends_at: '2026-11-24T02:00:00.000Z' },
      ...{ local_start: '2026-11-24T02:00:00', local_end: '2026-11-24T03:00:00', notes: [] },
    },
  ],
};

const group: ValueOf<typeof GroupOut> = {
  id: ids.group,
  name: 'Web',
  description: 'Everything that customers see',
  monitors: 4,
  created_at,
  external_id: null,
  ...{ status: 'verifying', down: 0, verifying: 1, up: 3, pending: 0, paused: 0 },
};

const pageSummary: ValueOf<typeof StatusPageSummaryOut> = {
  id: ids.page,
  name: 'Harbour status',
  slug: 'harbour',
  enabled: true,
  created_at,
};

const pageMonitor: ValueOf<typeof StatusPageMonitorOut> = {
  monitor: ids.monitor,
  display_name: 'Online shop',
  group: ids.group,
  position: 0,
};

const pageGroup: ValueOf<typeof StatusPageGroupOut> = { group: ids.group, display_name: 'Website', position: 0 };

const pageDomain: ValueOf<typeof StatusPageDomainOut> = {
  name: 'status.harbour.example.com',
  proved_at: '2026-11-03T10:02:11.000Z',
  record_name: '_antipode.status.harbour.example.com',
  record_text: 'antipode-status-page=6f1d0c5e9a7b4f28',
};

const page: ValueOf<typeof StatusPageOut> = {
  ...{ ...pageSummary, description: null, monitors: [pageMonitor], groups: [pageGroup], language: 'en', accent: '#0a5bb5' },
  ...{ logo: null, access: 'public', has_password: false, has_link: false, domain: pageDomain, subscribers: 42, offered: [] },
};

const post: ValueOf<typeof StatusPagePostOut> = {
  ...{ id: ids.post, incident: ids.incident, kind: 'identified', text: 'A disk is full. We are moving the shop to another.' },
  ...{ written_by: 'ada@harbour.example.com', written_at: '2026-11-18T04:06:40.000Z' },
};

const channel: ValueOf<typeof ChannelOut> = {
  ...{ id: ids.channel, kind: 'webhook', name: 'Pager', config: { url: 'https://hooks.example.com/antipode', secret: '***' } },
  ...{ enabled: true, verified: true, unsubscribed: false, covers: 'chosen', monitors: [ids.monitor], groups: [] },
  ...{ delay_s: 300, reminder_s: null, hours: null, owner: null, delivering: true, failure: null, p95_ms: 412 },
  ...{ last_taken_at: '2026-11-18T04:03:37.022Z', created_at },
};

const invitation: ValueOf<typeof ProbeInvitationOut> = {
  ...{ id: ids.invitation, name: 'Nairobi', continent: 'Africa', shown: 'svcj_4fTq', state: 'open', probe: null, heard_at: null },
  ...{ created_at: '2026-11-20T12:00:00.000Z', expires_at: '2026-11-20T13:00:00.000Z' },
};

const joinToken = 'svcj_4fTq0000000000000000000000000000000000000';

const listed = (item: unknown) => ({ items: [item], next_cursor: null });

/** An example of each request and answer, by the name of its component. */
export const examples: Readonly<Record<string, unknown>> = {
  MeOut: me,
  MonitorOut: monitor,
  MonitorPage: listed(monitor),
  MonitorIn: { type: 'https', target: 'https://shop.example.com/', name: 'Shop', interval_s: 60, config: { expected_status: ['2xx'] } },
  MonitorPatch: { enabled: false },
  MonitorBatchIn: { items: [{ type: 'https', target: 'https://shop.example.com/', external_id: 'shop/checkout' }], mode: 'each' },
  MonitorBatchOut: {
    ...{ applied: true, created: 0, changed: 1, refused: 0 },
    items: [{ result: 'changed', id: ids.monitor, name: 'Shop', external_id: 'shop/checkout', error: null }],
  },
  StatusOut: status,
  ...historyExamples(status.uptime, incident, ids.post),
  IncidentOut: incident,
  IncidentPage: listed(incident),
  MaintenanceOut: maintenance,
  MaintenancePage: listed(maintenance),
  MaintenanceIn: {
    name: 'Weekly release',
    starts_at: '2026-11-24T02:00:00+01:00',
    ends_at: '2026-11-24T03:00:00+01:00',
    rrule: 'FREQ=WEEKLY;BYDAY=TU',
    monitors: [ids.monitor],
  },
  MaintenancePatch: { ends_at: '2026-11-24T04:00:00+01:00' },
  MaintenancePreviewOut: {
    time_zone: maintenance.time_zone,
    repeats: maintenance.repeats,
    next_occurrences: maintenance.next_occurrences,
  },
  EventListOut: {
    items: [
      {
        ...{ id: ids.post, at: '2026-11-18T04:03:36.902Z', event: 'incident.confirmed', name: 'Shop' },
        ...{ monitor: ids.monitor, incident: ids.incident, group: null, window: null },
      },
    ],
    after: 'b3VyIG93biBwbGFjZSBpbiB0aGUgbGlzdA',
    more: false,
  },
  GroupOut: group,
  GroupPage: listed(group),
  GroupIn: { name: 'Web', description: 'Everything that customers see' },
  GroupPatch: { description: 'Everything that customers see' },
  AcknowledgementOut: { incident: ids.incident, acknowledged_at: '2026-11-18T04:05:12.200Z', acknowledged_by: 'Ada' },
  ChannelOut: channel,
  ChannelPage: listed(channel),
  ChannelMadeOut: { ...channel, secret: 'whsec_cGxlYXNlIG1ha2Ugb25lIG9mIHlvdXIgb3duIGhlcmU=' },
  ChannelIn: {
    kind: 'webhook',
    name: 'Pager',
    config: { url: 'https://hooks.example.com/antipode' },
    covers: 'all',
    // No one receives messages at an example's address; this way the example creates a channel as
    // it is.
    try: false,
  },
  ChannelPatch: { delay_s: 300 },
  ProbeInvitationOut: invitation,
  ProbeInvitationPage: listed(invitation),
  ProbeInvitationMadeOut: {
    ...{ ...invitation, token: joinToken },
    command: `curl -fsSO https://antipode.example.com/downloads/antipode-probe.mjs && node antipode-probe.mjs join https://antipode.example.com ${joinToken}`,
  },
  EndedProbeOut: {
    ...{ id: ids.invitation, name: 'Nairobi', continent: 'Africa' },
    ...{ monitors: [{ id: ids.monitor, name: 'Shop' }], monitor_count: 1 },
  },
  ProbeInvitationIn: { name: 'Nairobi', continent: 'Africa' },
  StatusPagePage: listed(pageSummary),
  StatusPageOut: page,
  StatusPageMonitorOut: pageMonitor,
  StatusPageGroupOut: pageGroup,
  StatusPageMonitorIn: { monitor: ids.monitor, display_name: 'Online shop' },
  StatusPageDomainOut: pageDomain,
  StatusPageDomainCheckOut: { proved: true, domain: pageDomain, found: [pageDomain.record_text] },
  StatusPageLinkOut: { link: 'https://antipode.example.com/status/harbour?key=b3VyIG93biBrZXksIHNlbnQgdG8gZnJpZW5k' },
  StatusPageIn: { name: 'Harbour status', slug: 'harbour', language: 'en' },
  StatusPagePatch: { accent: '#0a5bb5', domain: 'status.harbour.example.com' },
  StatusPageOrderIn: { rows: [ids.group, ids.monitor] },
  StatusPageRowPatch: { display_name: 'Online shop' },
  StatusPagePostOut: post,
  StatusPagePostPage: listed(post),
  StatusPagePostIn: { kind: 'identified', text: post.text },
  StatusPageSubscribersOut: { confirmed: 42, waiting: 3 },
  StatusPageGroupIn: { group: ids.group, display_name: 'Website' },
};

/** An example of a validation failure. */
export const validationExample = {
  detail: [
    {
      type: 'uuid_parsing',
      loc: ['path', 'monitor_id'],
      msg: 'Input should be a valid UUID, invalid length: expected length 32 for simple format, found 3',
      input: '123',
      ctx: { error: 'invalid length: expected length 32 for simple format, found 3' },
    },
  ],
};
