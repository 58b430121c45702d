import { configKeys, type Kind, unknownConfigKeys } from '../../../shared/api/config-keys.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { type Form, formOf } from '../../web/form-data.ts';
import { type Fields, type Reading, type Sent, type Widget, writings } from './form-values.ts';

/**
 * How a key of the config appears in the form. Its meaning and its values are in
 * shared/api/config-keys.ts.
 */
export type Setting = {
  readonly key: string;
  readonly label: string;
  readonly widget: Widget;
  /** Its label makes its description redundant. */
  readonly isPlain: boolean;
};

/** Settings shown together, folded until someone opens them. `holds`: what the fold contains. */
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

/** The group of the monitor is here, too. */
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

/** Shown above all folds. */
export const firstSettings: Readonly<Record<Kind, readonly Setting[]>> = {
  https: [],
  dns: [plain('record_type', 'Records', { is: 'choice' })],
  heartbeat: [],
};

/**
 * No probe checks a heartbeat, so locations and timeouts have no effect on it; stored values are
 * kept.
 */
export const silentKeys: Readonly<Record<Kind, readonly string[]>> = {
  https: [],
  dns: [],
  heartbeat: ['timeout_ms', 'continents', 'probe'],
};

export const settingsOf = (kind: Kind): readonly Setting[] => [
  ...firstSettings[kind],
  ...settingGroups[kind].flatMap(({ settings }) => settings),
];

export type Config = Readonly<Record<string, unknown>>;

/** For keys that have no field. */
export const otherName = 'config_other';

export const nameOf = ({ key }: Setting, suffix = ''): string => `config.${key}${suffix}`;

/** A value that is not set shows the default; for a choice of locations, that is all of them. */
const shownValue = ({ key, widget }: Setting, kind: Kind, config: Config, places: readonly string[]): unknown => {
  const stored = config[key];
  if (stored !== undefined && stored !== null) return stored;
  if (widget.is === 'places') return places;
  return widget.is === 'choice' || widget.is === 'yes-no' ? configKeys[kind][key]?.initial : undefined;
};

const fieldsOf = (setting: Setting, kind: Kind, config: Config, places: readonly string[]): Fields =>
  writings[setting.widget.is].fields(shownValue(setting, kind, config, places));

const otherKeys = (kind: Kind, config: Config): Config =>
  Object.fromEntries(unknownConfigKeys(kind, config).map(({ key }) => [key, config[key]]));

const otherText = (kind: Kind, config: Config): string => {
  const others = otherKeys(kind, config);
  return Object.keys(others).length === 0 ? '' : JSON.stringify(others, null, 2);
};

/** The fields of a form, filled from a config. */
export const formOfConfig = (kind: Kind, config: Config, places: readonly string[]): Record<string, string | readonly string[]> => {
  const values: Record<string, string | readonly string[]> = {};
  for (const setting of settingsOf(kind))
    for (const [suffix, of] of Object.entries(fieldsOf(setting, kind, config, places))) values[nameOf(setting, suffix)] = of;
  const other = otherText(kind, config);
  if (other !== '') values[otherName] = other;
  return values;
};

const wasSent = (form: Form, setting: Setting): boolean => {
  const name = nameOf(setting);
  return form.names.some((each) => each === name || each.startsWith(`${name}.`) || each === `${name}[]`);
};

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((each, at) => each === other[at]);

type Kept = { readonly is: 'kept' };

/**
 * What a form says about one setting. An unchanged setting keeps its stored value, however that was
 * once written.
 */
const readSetting = (setting: Setting, kind: Kind, form: Form, stored: Config, places: readonly string[]): Reading | Kept => {
  if (!wasSent(form, setting)) return { is: 'kept' };
  const { parts, read } = writings[setting.widget.is];
  const sent: Sent = (suffix) => form.values(nameOf(setting, suffix));
  const shown = fieldsOf(setting, kind, stored, places);
  const now = parts(sent);
  if (
    isSame(
      now,
      parts((suffix) => shown[suffix] ?? []),
    )
  )
    return { is: 'kept' };
  if (setting.widget.is === 'places' && isSame(now, places.toSorted())) return { is: 'none' };
  const reading = read(now);
  const initial = configKeys[kind][setting.key]?.initial;
  return reading.is === 'value' && typeof initial !== 'object' && reading.value === initial ? { is: 'none' } : reading;
};

const readOther = (kind: Kind, form: Form, stored: Config): { readonly config: Config } | { readonly fault: string } => {
  const text = form.value(otherName);
  if (text === undefined) return { config: otherKeys(kind, stored) };
  if (text.trim() === '') return { config: {} };
  try {
    const given: unknown = JSON.parse(text);
    if (!isRecord(given)) return { fault: 'Write it as one JSON object, such as { "key": "value" }.' };
    const own = settingsOf(kind).find(({ key }) => Object.hasOwn(given, key));
    return own ? { fault: `${own.key} has a field of its own: ${own.label}.` } : { config: given };
  } catch {
    return { fault: 'This is no JSON: look for a missing quote, comma or bracket.' };
  }
};

/**
 * The config that a form asks for, and its unreadable parts. `stored`: the config of the existing
 * monitor, if any.
 */
export const configFrom = (
  kind: Kind,
  form: Form,
  stored: Config,
  places: readonly string[],
): { readonly config: Config; readonly faults: ReadonlyMap<string, string> } => {
  const faults = new Map<string, string>();
  const other = readOther(kind, form, stored);
  if ('fault' in other) faults.set(otherName, other.fault);
  const known = new Map(Object.entries(stored).filter(([key]) => Object.hasOwn(configKeys[kind], key)));
  for (const setting of settingsOf(kind)) {
    const reading = readSetting(setting, kind, form, stored, places);
    if (reading.is === 'value') known.set(setting.key, reading.value);
    else if (reading.is === 'none') known.delete(setting.key);
    else if (reading.is === 'fault') faults.set(nameOf(setting), reading.words);
  }
  return { config: { ...Object.fromEntries(known), ...('config' in other ? other.config : {}) }, faults };
};

/** How many of these settings differ from their default. */
export const countSet = (settings: readonly Setting[], kind: Kind, form: Form, places: readonly string[]): number =>
  settings.filter((setting) => readSetting(setting, kind, form, {}, places).is !== 'kept').length;

export const emptyForm = (kind: Kind, places: readonly string[], more: Parameters<typeof formOf>[0]): Form =>
  formOf({ ...formOfConfig(kind, {}, places), ...more });
