import type { OutputOf } from '../../shared/api/operation.ts';
import type { listChannelKinds } from './contract.ts';
import type { ChannelConfig, ChannelKind, Field } from './kinds/types.ts';
import type { AlertLinks } from './links.ts';
import type { Notification } from './message.ts';
import type { Sender } from './transport.ts';

/**
 * What follows from the fields of a kind: whether a config is valid, which parts of it are shown,
 * and which host its secrets belong to.
 */

export type ConfigRead =
  | { readonly config: ChannelConfig }
  /** Keyed by field. Each value is the end of a sentence: "must be …". */
  | { readonly faults: { readonly [field: string]: string } };

/**
 * Reads a config from what a caller sent: values are trimmed, empty ones are dropped, and masked
 * ones keep their stored value. Unknown fields, values that are not text, and missing required
 * fields are faults.
 */
export function readChannelConfig(
  kind: ChannelKind,
  sent: Readonly<Record<string, unknown>>,
  stored: ChannelConfig = {},
): ConfigRead {
  const config: Record<string, string> = {};
  const faults: Record<string, string> = {};
  for (const name of Object.keys(sent))
    if (!Object.hasOwn(kind.fields, name)) faults[name] = `is not a field of ${kind.name}`;
  for (const [name, field] of Object.entries(kind.fields)) {
    const given = Object.hasOwn(sent, name) ? sent[name] : undefined;
    if (given !== undefined && given !== null && typeof given !== 'string') {
      faults[name] = 'must be text';
      continue;
    }
    const isKept = field.secret === true && isMask(kind, name, given ?? '', stored);
    const value = isKept ? (stored[name] ?? '') : (given ?? '').trim();
    if (value === '' || (isKept && stored[name] === undefined)) {
      if (isKept && given !== '')
        faults[name] = 'is masked, but no value is stored; enter it again';
      else if (field.optional !== true) faults[name] = 'is missing';
      continue;
    }
    const fault = faultOf(field, value, kind.hosts);
    if (fault !== undefined) faults[name] = fault;
    else config[name] = value;
  }
  if (Object.keys(faults).length > 0) return { faults };
  const movedTo = movedSecrets(kind, sent, stored, config);
  return movedTo.length > 0
    ? {
        faults: Object.fromEntries(
          movedTo.map((name) => [name, 'was stored for another host; enter it again for this one']),
        ),
      }
    : { config };
}

/** Replaces a secret. A caller may send it back to leave the secret as it is. */
export const mask = '***';

function isMask(kind: ChannelKind, name: string, given: string, stored: ChannelConfig): boolean {
  const text = given.trim();
  return (
    text === mask ||
    (text !== '' && stored[name] !== undefined && text === maskedChannelConfig(kind, stored)[name])
  );
}

/** What may be shown: a secret as a mask, a secret address as its host. */
export function maskedChannelConfig(kind: ChannelKind, config: ChannelConfig): ChannelConfig {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => {
      const field = kind.fields[name];
      if (field?.secret !== true) return [name, value];
      return [
        name,
        field.input === 'url' && URL.canParse(value) ? `${new URL(value).origin}/${mask}` : mask,
      ];
    }),
  );
}

const longest = 2_000;

function faultOf(
  field: Field,
  value: string,
  hosts: readonly string[] | undefined,
): string | undefined {
  if (value.length > longest) return `is longer than ${longest} characters`;
  if (!field.pattern.test(value)) return field.fault;
  if (field.input !== 'url') return undefined;
  if (!URL.canParse(value)) return field.fault;
  return hosts !== undefined && !isOfHosts(value, hosts) ? field.fault : undefined;
}

function isOfHosts(url: string, hosts: readonly string[]): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hosts.some((host) =>
    host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host,
  );
}

/**
 * The secrets that were kept although the host changed. A secret may go only to the host that it
 * was given for.
 */
function movedSecrets(
  kind: ChannelKind,
  sent: Readonly<Record<string, unknown>>,
  stored: ChannelConfig,
  config: ChannelConfig,
): string[] {
  const before = originOf(stored, kind);
  if (before === undefined || before === originOf(config, kind)) return [];
  return Object.entries(kind.fields)
    .filter(
      ([name, field]) =>
        field.secret === true && field.input !== 'generated' && stored[name] !== undefined,
    )
    .filter(
      ([name]) => typeof sent[name] === 'string' && isMask(kind, name, String(sent[name]), stored),
    )
    .map(([name]) => name);
}

/** The scheme, host and port of an address. */
function originOf(config: ChannelConfig, kind: ChannelKind): string | undefined {
  const name = Object.keys(kind.fields).find((each) => kind.fields[each]?.input === 'url');
  const url = name === undefined ? undefined : config[name];
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Splits a config for storage into plain and encrypted values. */
export function splitChannelConfig(
  kind: ChannelKind,
  config: ChannelConfig,
): { readonly open: ChannelConfig; readonly secrets: ChannelConfig } {
  const secret = new Set(secretFields(kind));
  const part = (isSecret: boolean) =>
    Object.fromEntries(Object.entries(config).filter(([name]) => secret.has(name) === isSecret));
  return { open: part(false), secrets: part(true) };
}

/** The fields that are stored encrypted. */
function secretFields(kind: ChannelKind): string[] {
  return Object.entries(kind.fields)
    .filter(([, { secret }]) => secret === true)
    .map(([name]) => name);
}

const nothing: Notification = {
  event: 'test',
  sentence: '',
  monitors: [],
  time_zone: 'UTC',
  others_down: { count: 0, names: [] },
  organisation: '',
  key: '-',
  at: 0,
  links: {
    incident: '',
    acknowledge: null,
    acknowledge_short: null,
    why: '',
    channel: '',
    unsubscribe: null,
  },
  thread: { key: '-', reference: null, over: false },
};

/**
 * The host and port that messages with these settings go to; `mail` for everything sent through our
 * own mail server. Null when no message can be made.
 */
export function hostOf(kind: ChannelKind, settings: ChannelConfig): string | null {
  try {
    const outgoing = kind.message(nothing, settings, 0);
    if (outgoing.by === 'mail') return 'mail';
    return URL.parse(outgoing.by === 'push' ? outgoing.endpoint : outgoing.url)?.host ?? null;
  } catch {
    return null; // Settings that make no message say so when one is sent.
  }
}

type Kind = OutputOf<typeof listChannelKinds>['items'][number];

/** The result of one message that was sent while the caller waits. */
type SendResult = {
  readonly status: number | null;
  readonly class: string;
  readonly verdict: 'delivered' | 'retry' | 'refused';
  readonly words: string | null;
  readonly took_ms: number;
};

/**
 * What operations need from the kinds of channels: their fields, validation of a config, its masked
 * form, and a message that is really sent.
 */
export type ChannelsPart = {
  readonly kinds: readonly Kind[];
  /**
   * Reads a config from what was sent; `stored`: the values behind masks. Undefined for an unknown
   * kind.
   */
  readonly read: (
    kind: string,
    sent: Readonly<Record<string, unknown>>,
    stored: ChannelConfig,
  ) =>
    | { readonly config: ChannelConfig }
    | { readonly faults: { readonly [field: string]: string } }
    | undefined;
  readonly split: (
    kind: string,
    config: ChannelConfig,
  ) => { readonly open: ChannelConfig; readonly secrets: ChannelConfig };
  readonly shown: (kind: string, config: ChannelConfig) => ChannelConfig;
  /**
   * Where its messages go, so that messages to one host share one limit; null where that is
   * unknown.
   */
  readonly host: (kind: string, config: ChannelConfig) => string | null;
  readonly test: (
    kind: string,
    config: ChannelConfig,
    /** `name`: null before the channel is saved. */
    about: {
      readonly key: string;
      readonly name: string | null;
      readonly channel: string | null;
      readonly organisation: string;
    },
  ) => Promise<SendResult>;
  /** Sends an event to a webhook, and ends within 15 seconds. */
  readonly sendEvent: Sender['send'];
  readonly links: AlertLinks;
  /** What a browser needs in order to become a channel. */
  readonly pushKey: () => Promise<string>;
};
