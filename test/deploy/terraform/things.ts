import { configKeys, type Kind, kinds } from '../../../shared/api/config-keys.ts';
import { configs } from '../../support/channels.ts';
import type { Resources } from './workspace.ts';

/** Configurations of everything that there is, as one writes it first and as one changes it. */

const targets: Readonly<Record<Kind, string | null>> = {
  https: 'https://shop.example',
  dns: 'shop.example',
  tcp: 'shop.example:5432',
  tls: 'shop.example:443',
  websocket: 'wss://shop.example/live',
  grpc: 'grpcs://shop.example:443',
  heartbeat: null,
  domain: 'shop.com',
  icmp: 'shop.example',
};

/** All keys of a kind at once, with the examples of the document. */
const everyKey = (kind: Kind): object => ({
  ...Object.fromEntries(
    Object.entries(configKeys[kind])
      .filter(([key]) => !apart[kind]?.includes(key) && !ofAccounts.includes(key))
      .map(([key, { example }]) => [key, example] as const),
  ),
  ...instead[kind],
});

/** They name what an account must have. */
const ofAccounts: readonly string[] = ['probe', 'places', 'inside_counts'];

/** What does not go with the others. */
const apart: Partial<Record<Kind, readonly string[]>> = {
  https: ['basic_auth'],
  dns: ['expected_rcode'],
  tls: ['continents'],
};

/** Where the examples of two keys do not go together, and lists that the API takes as one text too. */
const instead: Partial<Record<Kind, object>> = {
  https: {
    method: 'POST',
    headers: { Accept: 'application/json', 'X-Api-Key': 'k-9' },
    body_not_contains: ['Fatal error'],
    body_not_matches: ['(?i)\\bexception\\b'],
    json: [
      { path: '$.status', equals: 'ok' },
      { path: '$.count', equals: '3' },
      { path: '$.open', equals: 'true' },
      { path: '$.code', equals: '"7"' },
      { path: '$.load', gt: 0.1, lt: 9.25 },
    ],
  },
  dns: { resolver: '127.0.0.1:5353' },
  tls: { places: ['continent:Europe', 'continent:Asia'] },
  tcp: { send: '50494e47', expect: '504f4e47' },
  websocket: { encoding: 'text', headers: { 'X-Api-Key': 'k-9' } },
};

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: OpenTofu's templates.
const web = '${antipode_group.web.id}';
const https = '${antipode_monitor.https.id}';
const plain = '${antipode_group.plain.id}';
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above.

const monitorsWith = (change: (kind: Kind) => object): Readonly<Record<string, object>> =>
  Object.fromEntries(
    kinds.map((kind) => {
      const target = targets[kind];
      return [
        kind,
        {
          name: `Of ${kind}`,
          external_id: `shop/${kind}`,
          ...(target === null ? {} : { target }),
          ...change(kind),
        },
      ];
    }),
  );

/** Switched off: their receivers are those of others. */
const channelsWith = (
  email: string,
  change: (kind: string) => object,
): Readonly<Record<string, object>> =>
  Object.fromEntries(
    Object.entries({ ...configs, email: { address: email } }).map(([kind, config]) => [
      kind,
      { try: false, [kind]: config, ...change(kind) },
    ]),
  );

const first = (email: string): Resources => ({
  antipode_group: { web: { name: 'Web', external_id: 'shop/web' }, plain: { name: 'Plain' } },
  antipode_monitor: monitorsWith((kind) => ({ [kind]: {} })),
  antipode_channel: channelsWith(email, (kind) => ({ enabled: false, personal: kind === 'ntfy' })),
  antipode_maintenance_window: {
    once: {
      starts_at: '2030-12-01T02:00:00.000Z',
      ends_at: '2030-12-01T03:00:00.000Z',
      groups: [web],
    },
    weekly: {
      name: 'Weekly',
      starts_at: '2030-12-01T02:00',
      ends_at: '2030-12-01T03:00',
      time_zone: 'Europe/Berlin',
      rrule: 'FREQ=WEEKLY',
      monitors: [https],
    },
  },
  antipode_status_page: { shop: { name: 'Shop', slug: 'shop' } },
  antipode_probe_invitation: { office: { name: 'Office 1', continent: 'Europe' } },
  antipode_ping_key: { jobs: { name: 'Jobs' } },
});

const second = (email: string): Resources => ({
  antipode_group: {
    web: { name: 'Web pages', description: 'What customers see', external_id: 'shop/pages' },
    plain: { name: 'Plain', description: 'Of no use' },
  },
  antipode_monitor: monitorsWith((kind) => ({
    name: `Also of ${kind}`,
    interval_s: 3_600,
    group: web,
    affects_group_status: false,
    enabled: false,
    tags: ['Shop', 'eu'],
    depends_on_monitors: kind === 'https' ? [] : [https],
    depends_on_groups: [plain],
    [kind]: everyKey(kind),
  })),
  antipode_channel: channelsWith(email, (kind) => ({
    name: `By ${kind}`,
    enabled: false,
    covers: 'chosen',
    monitors: [https],
    groups: [web],
    delay_s: 60,
    reminder_s: 600,
    warnings: false,
    hours: { zone: 'Europe/Berlin', spans: [{ days: [2, 1], from: '09:00', to: '17:00' }] },
  })),
  antipode_maintenance_window: {
    once: {
      name: 'Once',
      starts_at: '2030-12-01T02:00:00+01:00',
      ends_at: '2030-12-01T04:00:00+01:00',
      monitors: [https],
    },
    weekly: {
      starts_at: '2030-12-01T02:30',
      ends_at: '2030-12-01T03:30',
      time_zone: 'Europe/Berlin',
      groups: [web],
    },
  },
  antipode_status_page: {
    shop: {
      name: 'Shop status',
      slug: 'shop-status',
      description: 'All of it',
      language: 'de',
      accent: '#05A',
      access: 'password',
      password: 'a long password',
      domain: 'Status.shop.example',
      enabled: false,
      rows: [{ group: web }, { monitor: https, display_name: 'Checkout' }],
    },
  },
  antipode_probe_invitation: { office: { name: 'Office 2', continent: 'Asia' } },
  antipode_ping_key: { jobs: { name: 'All jobs' } },
});

/** A mailbox must be that of the caller, as others are asked by mail. */
export const things = (email: string) => ({ first: first(email), second: second(email) });

/** Addresses of all resources. */
export const addresses = (resources: Resources): readonly string[] =>
  Object.entries(resources).flatMap(([type, named]) =>
    Object.keys(named).map((name) => `${type}.${name}`),
  );
