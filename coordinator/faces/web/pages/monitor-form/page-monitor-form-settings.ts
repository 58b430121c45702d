import type { Kind } from '../../../../../shared/api/config-keys.ts';
import type { Widget } from './page-monitor-form-values.ts';

/** How a key of the config stands in the form; what it means and may be stands in shared/api/config-keys.ts. */
export type Setting = {
  readonly key: string;
  readonly label: string;
  readonly widget: Widget;
  /** Its label says all that its meaning would say again. */
  readonly isPlain: boolean;
};

/** Settings that are asked for together, folded until somebody wants them. `holds`: what one finds there. */
export type SettingGroup = { readonly title: string; readonly holds: string; readonly settings: readonly Setting[] };

const setting = (key: string, label: string, widget: Widget): Setting => ({ key, label, widget, isPlain: false });
const plain = (key: string, label: string, widget: Widget): Setting => ({ key, label, widget, isPlain: true });

const patience = plain('timeout_ms', 'Gives up after', { is: 'number', unit: 'ms' });

const from: SettingGroup = {
  title: 'Where from',
  holds: 'continents',
  settings: [
    setting('continents', 'Checked and confirmed from', { is: 'places' }),
    setting('probe', 'By a probe of your own', { is: 'probe' }),
  ],
};

/** The group of monitors stands here, too. */
export const toldTitle = 'Alerts and group';

const told: SettingGroup = {
  title: toldTitle,
  holds: 'patience, group',
  settings: [setting('alert_after_s', 'Alert after it was down for', { is: 'number', unit: 's' })],
};

export const settingGroups: Readonly<Record<Kind, readonly SettingGroup[]>> = {
  https: [
    {
      title: 'What counts as up',
      holds: 'status, speed, text, JSON, headers, certificate',
      settings: [
        setting('expected_status', 'Right statuses', { is: 'statuses' }),
        plain('max_response_ms', 'Fails when slower than', { is: 'number', unit: 'ms' }),
        setting('body_contains', 'The answer contains', { is: 'lines' }),
        plain('body_not_contains', 'The answer does not contain', { is: 'lines' }),
        setting('json', 'Values in a JSON answer', { is: 'assertions' }),
        setting('header_contains', 'Headers of the answer', { is: 'pairs' }),
        plain('verify_tls', 'The certificate must be valid for the name', { is: 'yes-no' }),
        plain('tls_expires_within_days', 'Fails when the certificate ends within', { is: 'number', unit: 'days' }),
      ],
    },
    {
      title: 'What is sent',
      holds: 'method, headers, body, redirects',
      settings: [
        plain('method', 'Method', { is: 'choice' }),
        setting('headers', 'Headers', { is: 'pairs' }),
        setting('secret_headers', 'Secret headers', { is: 'lines' }),
        plain('body', 'Body', { is: 'area' }),
        plain('follow_redirects', 'Follow redirects', { is: 'yes-no' }),
        plain('max_redirects', 'Redirects at most', { is: 'number', unit: 'redirects' }),
        plain('ip_family', 'Addresses', { is: 'choice', words: { any: 'IPv4 or IPv6', '4': 'IPv4 only', '6': 'IPv6 only' } }),
        patience,
      ],
    },
    {
      title: 'Signing in there',
      holds: 'password or token',
      settings: [
        setting('basic_auth', 'User name and password', { is: 'credentials' }),
        setting('bearer_token', 'Bearer token', { is: 'secret' }),
      ],
    },
    from,
    told,
  ],
  dns: [
    {
      title: 'What counts as right',
      holds: 'values, answer code, TTL, DNSSEC',
      settings: [
        setting('expected_values', 'Values', { is: 'lines' }),
        plain('match', 'How they agree', {
          is: 'choice',
          words: { any: 'one of them is enough', all: 'each must be there', exact: 'these and no others' },
        }),
        setting('expected_rcode', 'Answer code', { is: 'choice' }),
        plain('min_ttl', 'Fails when the TTL is below', { is: 'number', unit: 's' }),
        setting('require_authenticated_data', 'DNSSEC must have been verified', { is: 'yes-no' }),
      ],
    },
    {
      title: 'Who is asked, and how',
      holds: 'name server, transport',
      settings: [
        plain('resolver', 'Name server', { is: 'text' }),
        setting('transport', 'Over', { is: 'choice', words: { udp: 'UDP', tcp: 'TCP' } }),
        patience,
      ],
    },
    from,
    told,
  ],
  heartbeat: [
    {
      title: 'When it is late',
      holds: 'patience, schedule, longest run',
      settings: [
        plain('grace_s', 'It may come later by', { is: 'number', unit: 's' }),
        plain('schedule', 'Schedule', { is: 'text' }),
        plain('timezone', 'Time zone of the schedule', { is: 'text' }),
        setting('max_run_s', 'A run may take', { is: 'number', unit: 's' }),
      ],
    },
    told,
  ],
};

/** Asked for before anything is folded. */
export const firstSettings: Readonly<Record<Kind, readonly Setting[]>> = {
  https: [],
  dns: [plain('record_type', 'Records', { is: 'choice' })],
  heartbeat: [],
};

/** Nobody looks at a heartbeat, so that where from and how long say nothing there; what is stored is kept. */
export const silentKeys: Readonly<Record<Kind, readonly string[]>> = {
  https: [],
  dns: [],
  heartbeat: ['timeout_ms', 'continents', 'probe'],
};

export const settingsOf = (kind: Kind): readonly Setting[] => [
  ...firstSettings[kind],
  ...settingGroups[kind].flatMap(({ settings }) => settings),
];
