import { isDeepStrictEqual } from 'node:util';
import { configKeys, type Kind, unknownConfigKeys } from '../../../shared/api/config-keys.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { type Form, formOf } from '../../web/form-data.ts';
import { configOfNames, locationKeys, locations, namesChosen } from './form-locations.ts';
import {
  assertions,
  body,
  certificate,
  choice,
  credentials,
  exactLine,
  type Fields,
  type Locations,
  lines,
  number,
  numberIn,
  onlyWhereSet,
  pairs,
  type Reading,
  seconds,
  secret,
  several,
  slowAfter,
  statuses,
  text,
  type Widget,
  yesNo,
} from './form-values.ts';

/**
 * How a key of the config appears in the form. Its values are in shared/api/config-keys.ts, whose
 * meanings are for programs: they speak of keys.
 */
export type Setting = {
  readonly key: string;
  readonly label: string;
  readonly widget: Widget;
  /** One clause that the label does not say already. */
  readonly hint: string;
};

/** Settings shown together, folded until someone opens them. `holds`: what the fold contains. */
export type SettingGroup = {
  readonly title: string;
  readonly holds: string;
  readonly settings: readonly Setting[];
  /** Rarer ones, folded once more until they are set. */
  readonly more?: readonly Setting[];
};

/** Settings that kinds share. */
const warn = setting('warn', 'Warn when slower than', numberIn('response_ms', 'ms'));
/** The limit below is one for warnings, too: two are only for those who gave two to the API. */
const warnApart = { ...warn, widget: onlyWhereSet(warn.widget) };

function setting(key: string, label: string, widget: Widget, hint = ''): Setting {
  return { key, label, widget, hint };
}
const slowest = setting('max_response_ms', 'Slow after', slowAfter('config.fail_on[]'));
const verified = setting('verify_tls', 'Verify the certificate', yesNo);
const expiring = setting(
  'tls_expires_within_days',
  'Warn when the certificate expires within',
  number('days'),
  'Default: 30, 14, 7 and 1 days before.',
);
const failures = { certificate: 'Expiring certificates' };
const failing = setting('fail_on', 'Treat as down', several(failures));
const httpsFailing = setting(
  'fail_on',
  'Treat as down',
  several({ ...failures, rate_limited: 'Rate limits (429)' }),
);
const family = setting(
  'ip_family',
  'Addresses',
  choice({ any: 'IPv4 or IPv6', '4': 'IPv4 only', '6': 'IPv6 only' }),
);
const written = setting(
  'encoding',
  'Both are written as',
  choice({ text: 'Text', hex: 'Hexadecimal bytes', base64: 'Base64' }),
);
const headers = setting(
  'headers',
  'Headers',
  pairs,
  'Secrets such as Authorization are encrypted, and dropped on redirects to other hosts.',
);
const secretHeaders = setting('secret_headers', 'Header names to hide', lines);
const clientCertificate = setting(
  'client_certificate',
  'Client certificate and key (PEM)',
  certificate,
  'Stored encrypted.',
);
const serverName = setting('server_name', 'Server name', text, 'Default: the host of the target.');
const protocols = {
  smtp: 'SMTP',
  imap: 'IMAP',
  pop3: 'POP3',
  ftp: 'FTP',
  ldap: 'LDAP',
  ssh: 'SSH',
  redis: 'Redis',
  postgres: 'Postgres',
  mysql: 'MySQL',
};
const timeout = setting(
  'timeout_ms',
  'Timeout',
  number('ms'),
  'Default: 10 s, at most half the interval.',
);

/** Only who has places of their own can choose both sides. */
const inside: Widget = {
  write: yesNo.write,
  read: yesNo.read,
  unset: 'initial',
  draw: (drawn) => (drawn.locations.own.size === 0 ? null : yesNo.draw(drawn)),
};

const from: SettingGroup = {
  title: 'Locations',
  holds: 'continents',
  settings: [
    setting('places', 'Checked from', locations),
    setting('inside_counts', 'Count outages seen only from private locations', inside),
  ],
};

/** The group of the monitor is here, too. */
export const alertingTitle = 'Alerting and group';

const delays = new Map([
  ['0', 'at once'],
  ['15', '15 s'],
  ['30', '30 s'],
  ['120', '2 min'],
]);

/** The default of the form: a blip of seconds, such as a deploy, pages nobody. */
export const firstDelay = { 'config.alert_after_s': '15' };

const told: SettingGroup = {
  title: alertingTitle,
  holds: 'delay, group',
  settings: [setting('alert_after_s', 'Wait before alerting', seconds(delays))],
};

export const settingGroups: Readonly<Record<Kind, readonly SettingGroup[]>> = {
  https: [
    {
      title: 'Assertions',
      holds: 'status, speed, text, patterns, JSON, headers, certificate',
      settings: [
        setting(
          'expected_status',
          'Accepted status codes',
          statuses,
          'After redirects, the last response counts.',
        ),
        slowest,
        warnApart,
        setting('body_contains', 'Body contains', lines),
      ],
      more: [
        setting('body_not_contains', 'Body does not contain', lines),
        setting('body_matches', 'Body matches', lines, 'Regular expressions.'),
        setting('body_not_matches', 'Body does not match', lines, 'Regular expressions.'),
        setting(
          'json',
          'JSON values',
          assertions,
          'Where in the answer, as $.status, and what must be there. A number in quotes is text.',
        ),
        setting('header_contains', 'Response headers', pairs),
        setting('header_matches', 'Response headers match', pairs, 'Regular expressions.'),
        setting(
          'header_not_matches',
          'Response headers do not match',
          pairs,
          'Regular expressions.',
        ),
        verified,
        expiring,
        httpsFailing,
      ],
    },
    {
      title: 'Request',
      holds: 'method, headers, body, redirects',
      settings: [
        setting('method', 'Method', choice()),
        timeout,
        headers,
        setting('body', 'Body', body),
      ],
      more: [
        secretHeaders,
        setting('follow_redirects', 'Follow redirects', yesNo),
        setting('max_redirects', 'Maximum redirects', number('redirects')),
        setting(
          'ip_family',
          'Addresses',
          choice({
            any: 'IPv4 or IPv6',
            '4': 'IPv4 only',
            '6': 'IPv6 only',
            both: 'IPv4 and IPv6, both must answer',
          }),
        ),
      ],
    },
    {
      title: 'Authentication',
      holds: 'password, token or client certificate',
      settings: [
        setting('basic_auth', 'User name and password', credentials, 'The password is encrypted.'),
        setting('bearer_token', 'Bearer token', secret, 'Stored encrypted.'),
        clientCertificate,
      ],
    },
    from,
    told,
  ],
  dns: [
    {
      title: 'Assertions',
      holds: 'values, response code, TTL, DNSSEC',
      settings: [
        setting(
          'expected_values',
          'Expected values',
          lines,
          'As dig prints them. Any, where it is empty.',
        ),
        setting(
          'match',
          'Match',
          choice({
            any: 'at least one',
            all: 'all of them',
            exact: 'exactly these',
          }),
        ),
        setting('expected_rcode', 'Expected response code', choice()),
        setting('min_ttl', 'Minimum TTL', number('s')),
        setting('require_authenticated_data', 'Require DNSSEC', yesNo),
      ],
    },
    {
      title: 'Resolver',
      holds: 'name server, transport',
      settings: [
        setting('resolver', 'Name server', text, 'An IP address. Default: the one of the probe.'),
        setting(
          'transport',
          'Transport',
          choice({ udp: 'UDP', tcp: 'TCP' }),
          'UDP falls back to TCP.',
        ),
        timeout,
      ],
    },
    from,
    told,
  ],
  tcp: [
    {
      title: 'Assertions',
      holds: 'answer, speed',
      settings: [
        setting('send', 'Send', exactLine),
        setting('expect', 'Expect in response', exactLine, 'In the first 64 KB.'),
        written,
        slowest,
        warnApart,
        failing,
      ],
    },
    {
      title: 'Encryption',
      holds: 'TLS, STARTTLS, certificate',
      settings: [
        setting(
          'tls',
          'TLS',
          choice({
            none: 'None',
            implicit: 'From the start',
            ...Object.fromEntries(
              Object.entries(protocols).map(([key, name]) => [key, `STARTTLS of ${name}`]),
            ),
          }),
        ),
        serverName,
        verified,
        expiring,
      ],
    },
    { title: 'Connection', holds: 'addresses, timeout', settings: [family, timeout] },
    from,
    told,
  ],
  tls: [
    {
      title: 'Assertions',
      holds: 'certificate, TLS version, speed',
      settings: [
        setting('min_version', 'Minimum TLS version', choice()),
        verified,
        expiring,
        slowest,
        warnApart,
        failing,
      ],
    },
    {
      title: 'Connection',
      holds: 'server name, addresses, timeout',
      settings: [serverName, family, timeout],
    },
    from,
    told,
  ],
  websocket: [
    {
      title: 'Assertions',
      holds: 'message, speed, certificate',
      settings: [
        setting('send', 'Send', exactLine),
        setting('expect', 'Message contains', exactLine),
        written,
        slowest,
        warnApart,
      ],
      more: [verified, expiring, failing],
    },
    {
      title: 'Request',
      holds: 'headers, subprotocol, addresses, timeout',
      settings: [
        headers,
        secretHeaders,
        setting('subprotocol', 'Subprotocol', text),
        family,
        timeout,
      ],
    },
    from,
    told,
  ],
  grpc: [
    {
      title: 'Assertions',
      holds: 'speed, certificate',
      settings: [slowest, warnApart, verified, expiring, failing],
    },
    {
      title: 'Request',
      holds: 'metadata, authority, client certificate',
      settings: [
        setting('metadata', 'Metadata', pairs, 'Secrets such as authorization are encrypted.'),
        setting('secret_metadata', 'Metadata names to hide', lines),
        setting('authority', 'Authority', text, 'Default: host and port of the target.'),
        clientCertificate,
        family,
        timeout,
      ],
    },
    from,
    told,
  ],
  heartbeat: [
    {
      title: 'Schedule',
      holds: 'grace time, schedule, maximum run time, old address',
      settings: [
        setting(
          'grace_s',
          'Grace time',
          number('s'),
          'Default: a fifth of the interval, at least 30 s.',
        ),
        setting('schedule', 'Schedule', text, 'Five cron fields, instead of the interval.'),
        setting('timezone', 'Time zone', text, 'Such as Europe/Berlin. Default: UTC.'),
        setting('max_run_s', 'Maximum run time', number('s')),
        setting('ping_alias', 'Existing ping UUID to keep working', secret),
      ],
    },
    told,
  ],
  icmp: [
    {
      title: 'Assertions',
      holds: 'packets, loss, speed',
      settings: [
        setting('packets', 'Echo requests', number('requests')),
        setting('max_loss_percent', 'Maximum packet loss', number('%')),
        warn,
        family,
        timeout,
      ],
    },
    from,
    told,
  ],
  domain: [
    {
      title: 'Registration',
      holds: 'days before its end',
      settings: [
        setting(
          'expires_within_days',
          'Warn before expiry',
          number('days'),
          'Default: 30. 0: never.',
        ),
        timeout,
      ],
    },
    from,
    told,
  ],
};

/** Shown above all folds. */
export const firstSettings: Readonly<Record<Kind, readonly Setting[]>> = {
  https: [],
  dns: [setting('record_type', 'Records', choice())],
  tcp: [
    setting(
      'banner',
      'Greeting',
      choice(protocols, 'Any: an open port is enough'),
      'Asking for a password counts as up.',
    ),
  ],
  tls: [],
  websocket: [],
  grpc: [setting('service', 'Service', text, 'Empty: the whole server.')],
  heartbeat: [],
  domain: [],
  icmp: [],
};

/**
 * The field of places sets `continents` and `probe`, too. No probe checks a heartbeat, so locations
 * and timeouts have no effect on it; stored values are kept.
 */
export const hiddenKeys: Readonly<Record<Kind, readonly string[]>> = {
  https: ['continents', 'probe'],
  dns: ['continents', 'probe'],
  tcp: ['continents', 'probe'],
  tls: ['continents', 'probe'],
  websocket: ['continents', 'probe'],
  grpc: ['continents', 'probe'],
  heartbeat: ['timeout_ms', 'continents', 'probe', 'places', 'inside_counts'],
  domain: ['continents', 'probe'],
  icmp: ['continents', 'probe'],
};

export function settingsOf(kind: Kind): readonly Setting[] {
  return [...firstSettings[kind], ...settingGroups[kind].flatMap(allOf)];
}

export function allOf({ settings, more }: SettingGroup): readonly Setting[] {
  return [...settings, ...(more ?? [])];
}

export type Config = Readonly<Record<string, unknown>>;

/** For keys that have no field. */
export const otherName = 'config_other';

export function nameOf({ key }: Setting, suffix = ''): string {
  return `config.${key}${suffix}`;
}

/** The fields of a form, filled from a config. */
export function formOfConfig(
  kind: Kind,
  config: Config,
  from: Locations,
): Record<string, string | readonly string[]> {
  const values: Record<string, string | readonly string[]> = {};
  for (const setting of settingsOf(kind))
    for (const [suffix, of] of Object.entries(fieldsOf(setting, kind, config, from)))
      values[nameOf(setting, suffix)] = of;
  const other = otherText(kind, config);
  if (other !== '') values[otherName] = other;
  return values;
}

/** The fields of one setting. One that is not set may show the default, or all continents. */
function fieldsOf({ key, widget }: Setting, kind: Kind, config: Config, from: Locations): Fields {
  if (widget.unset === 'locations') return widget.write(namesChosen(config, from));
  const initial = widget.unset === 'initial' ? configKeys[kind][key]?.initial : undefined;
  return widget.write(config[key] ?? initial);
}

function otherText(kind: Kind, config: Config): string {
  const others = otherKeys(kind, config);
  return Object.keys(others).length === 0 ? '' : JSON.stringify(others, null, 2);
}

function otherKeys(kind: Kind, config: Config): Config {
  return Object.fromEntries(unknownConfigKeys(kind, config).map(({ key }) => [key, config[key]]));
}

/**
 * The config that a form asks for, and its unreadable parts. `stored`: the config of the existing
 * monitor, if any.
 */
export function configFrom(
  kind: Kind,
  form: Form,
  stored: Config,
  from: Locations,
): { readonly config: Config; readonly faults: ReadonlyMap<string, string> } {
  const faults = new Map<string, string>();
  const other = readOther(kind, form, stored);
  if ('fault' in other) faults.set(otherName, other.fault);
  const existing = new Map(
    Object.entries(stored).filter(([key]) => Object.hasOwn(configKeys[kind], key)),
  );
  for (const setting of settingsOf(kind)) {
    const reading = readSetting(setting, kind, form, stored, from);
    if (reading === 'kept') continue;
    if (reading !== undefined && 'fault' in reading) {
      faults.set(nameOf(setting), reading.fault);
      continue;
    }
    for (const key of keysOf(setting)) existing.delete(key);
    for (const [key, value] of Object.entries(meantBy(setting, reading, from)))
      existing.set(key, value);
  }
  return {
    config: { ...Object.fromEntries(existing), ...('config' in other ? other.config : {}) },
    faults,
  };
}

function readOther(
  kind: Kind,
  form: Form,
  stored: Config,
): { readonly config: Config } | { readonly fault: string } {
  const text = form.value(otherName);
  if (text === undefined) return { config: otherKeys(kind, stored) };
  if (text.trim() === '') return { config: {} };
  try {
    const given: unknown = JSON.parse(text);
    if (!isRecord(given)) return { fault: 'Enter one JSON object, such as { "key": "value" }.' };
    const own = settingsOf(kind).find(({ key }) => Object.hasOwn(given, key));
    return own ? { fault: `${own.key} has a field of its own: ${own.label}.` } : { config: given };
  } catch {
    return { fault: 'Not valid JSON: look for a missing quote, comma or bracket.' };
  }
}

/**
 * What a form says about one setting. One that still says what was shown keeps its stored value,
 * however that was once written.
 */
function readSetting(
  setting: Setting,
  kind: Kind,
  form: Form,
  stored: Config,
  from: Locations,
): Reading | 'kept' {
  if (!wasSent(form, setting)) return 'kept';
  const { key, widget } = setting;
  const shown = fieldsOf(setting, kind, stored, from);
  const reading = widget.read((suffix) => form.values(nameOf(setting, suffix)));
  if (
    isDeepStrictEqual(
      reading,
      widget.read((suffix) => shown[suffix] ?? []),
    )
  )
    return 'kept';
  const usual = configKeys[kind][key]?.initial;
  const isUsual = reading !== undefined && 'value' in reading && typeof usual !== 'object';
  return isUsual && isDeepStrictEqual(reading.value, usual) ? undefined : reading;
}

function wasSent(form: Form, setting: Setting): boolean {
  const name = nameOf(setting);
  return form.names.some(
    (each) => each === name || each.startsWith(`${name}.`) || each === `${name}[]`,
  );
}

/** The keys of a config that its field says. */
function keysOf(setting: Setting): readonly string[] {
  return isLocations(setting) ? locationKeys : [setting.key];
}

function isLocations({ widget }: Setting): boolean {
  return widget.unset === 'locations';
}

function meantBy(
  setting: Setting,
  reading: { readonly value: unknown } | undefined,
  from: Locations,
): Config {
  if (reading === undefined) return {};
  const { value } = reading;
  return isLocations(setting) && Array.isArray(value)
    ? configOfNames(value.map(String), from)
    : { [setting.key]: value };
}

/** What somebody set of them, in the words of a summary. */
export function setLabels(
  settings: readonly Setting[],
  kind: Kind,
  form: Form,
  from: Locations,
): readonly string[] {
  return settings
    .filter((setting) => readSetting(setting, kind, form, {}, from) !== 'kept')
    .map(({ label, widget, key }) => {
      const said = widget.said?.(form.value(`config.${key}`) ?? '') ?? '';
      const [first = '', ...rest] = label;
      // An abbreviation keeps its letters.
      const begun = /^[A-Z]{2}/.test(label) ? label : first.toLowerCase() + rest.join('');
      return said === '' ? begun : `${begun} ${said}`;
    });
}

export function emptyForm(kind: Kind, from: Locations, more: Parameters<typeof formOf>[0]): Form {
  return formOf({ ...formOfConfig(kind, {}, from), ...more });
}
