import { isRecord, memberOf } from '../base/json.ts';
import { durationText } from '../base/time.ts';

/** How a thing of each list is said in one line. */

export type Item = Readonly<Record<string, unknown>>;

/** How long an incident lasted, or has lasted until now. */
export function lasted({ started_at, resolved_at }: Item, now: number): string {
  const from = Date.parse(String(started_at));
  const to = typeof resolved_at === 'string' ? Date.parse(resolved_at) : now;
  return durationText(to - from);
}

/** The width of what the item has by the name of the column, or what stands there instead. */
type Column = number | ((item: Item, now: number) => string);
export type Lines = { readonly one: string; readonly columns: Readonly<Record<string, Column>> };

/** The columns of each list's lines. A column unknown to this service is empty. */
export const linesOf = {
  monitors: {
    one: 'monitor',
    columns: {
      id: 36,
      status: ({ enabled, status }) =>
        oneLine(enabled === false ? 'paused' : (status ?? 'enabled'), 12),
      name: 60,
      type: 10,
      target: 64,
      'how often': ({ interval_s }) => every(interval_s),
    },
  },
  'deleted monitors': {
    one: 'deleted monitor',
    columns: {
      id: 36,
      name: 60,
      type: 10,
      target: 64,
      deleted: ({ deleted_at }) => minute(deleted_at),
      by: ({ deleted_by }) => oneLine(deleted_by, 40),
      'can be restored until': ({ deleted_for_ever_at }) => minute(deleted_for_ever_at),
    },
  },
  incidents: {
    one: 'incident',
    columns: {
      id: 36,
      began: ({ started_at }) => minute(started_at),
      state: stateOf,
      lasted,
      monitor: ({ monitor_name }) => oneLine(monitor_name, 40),
      'monitor id': ({ monitor }) => oneLine(monitor, 36),
      cause: 56,
    },
  },
  'maintenance windows': {
    one: 'maintenance window',
    columns: {
      id: 36,
      from: ({ starts_at }) => minute(starts_at),
      to: ({ ends_at }) => minute(ends_at),
      name: 60,
      repeats: ({ repeats, rrule }) => oneLine(repeats ?? rrule ?? 'once', 48),
      covers,
    },
  },
  groups: {
    one: 'group',
    columns: { id: 36, name: 60, status: 12, monitors: 20, description: 80 },
  },
  objectives: {
    one: 'objective',
    columns: {
      id: 36,
      name: 60,
      of: 80,
      target: 10,
      period: 8,
      percent: 10,
      'within, in ms': ({ latency_ms }) => oneLine(latency_ms, 8),
      'budget left, in s': ({ budget_left_seconds }) => oneLine(budget_left_seconds, 12),
      'or in checks': ({ budget_left_checks }) => oneLine(budget_left_checks, 12),
      burns: ({ burn }) =>
        records(burn)
          .filter(({ burns }) => burns === true)
          .map(({ code }) => oneLine(code, 20))
          .join(' '),
    },
  },
  checks: {
    one: 'check',
    columns: {
      at: 24,
      outcome: 8,
      'took ms': ({ took_ms }) => oneLine(took_ms, 12),
      place: ({ place_name }) => oneLine(place_name, 60),
      probe: 40,
      cause: 40,
      'dns, tcp, tls, wait, total in ms': ({ phases }) => phasesText(phases),
    },
  },
  probes: {
    one: 'probe',
    columns: {
      id: 36,
      state: 12,
      name: 60,
      continent: 20,
      whose: (item) => (item.private === true ? 'private' : 'public'),
      addresses: ({ addresses }) =>
        oneLine(Array.isArray(addresses) ? addresses.join(' ') : '', 120),
    },
  },
  places: {
    one: 'place',
    columns: {
      id: 100,
      state: 12,
      name: 60,
      continent: 20,
      whose: ({ owner }) => (owner === 'organisation' ? 'private' : 'public'),
      probes: ({ probe_count }) => oneLine(probe_count, 20),
      monitors: 20,
    },
  },
  causes: {
    one: 'cause',
    columns: {
      id: 100,
      began: ({ began_at }) => oneLine(began_at, 30),
      ended: ({ ended_at }) => oneLine(ended_at ?? 'no', 30),
      incidents: 20,
      open: ({ open_incidents }) => oneLine(open_incidents, 20),
      explanation: 300,
    },
  },
  channels: {
    one: 'channel',
    columns: {
      id: 36,
      kind: 16,
      name: 60,
      state: ({ enabled, verified, delivering }) =>
        enabled === false
          ? 'off'
          : verified === false
            ? 'not confirmed yet'
            : delivering === false
              ? 'failing'
              : 'delivering',
      covers: (item) => (item.covers === 'all' ? 'all monitors' : covers(item)),
      'notified after': ({ delay_s }) =>
        typeof delay_s === 'number' && delay_s > 0 ? durationText(delay_s * 1_000) : 'at once',
    },
  },
  certificates: {
    one: 'certificate',
    columns: {
      ends: ({ ends_at }) => minute(ends_at),
      monitor: ({ name }) => oneLine(name, 60),
      'monitor id': ({ monitor }) => oneLine(monitor, 36),
      issuer: 60,
      'last seen': ({ seen_at }) => minute(seen_at),
    },
  },
  domains: {
    one: 'domain',
    columns: {
      ends: ({ ends_at }) => minute(ends_at),
      domain: 60,
      registrar: 60,
      monitor: ({ name }) => oneLine(name, 40),
      'monitor id': ({ monitor }) => oneLine(monitor, 36),
    },
  },
  tokens: {
    one: 'token',
    columns: {
      id: 36,
      name: 60,
      begins: ({ shown }) => oneLine(shown, 10),
      scope: 10,
      owner: ({ owner }) => oneLine(memberOf(owner, 'email'), 60),
      'last used': ({ last_used_at }) => minute(last_used_at),
      ends: ({ expires_at }) => minute(expires_at),
    },
  },
  subscribers: {
    one: 'subscriber',
    columns: {
      id: 36,
      kind: 8,
      address: 100,
      state: ({ confirmed_at, failing_since, off_at }) =>
        typeof off_at === 'string'
          ? 'off'
          : typeof confirmed_at !== 'string'
            ? 'not confirmed yet'
            : typeof failing_since === 'string'
              ? 'failing'
              : 'subscribed',
    },
  },
  members: {
    one: 'member',
    columns: { id: 36, email: 80, name: 60, role: 8 },
  },
  webhooks: {
    one: 'webhook',
    columns: {
      id: 36,
      url: 80,
      description: 60,
      state: ({ enabled, disabled_because, failing_since }) =>
        enabled === false
          ? `off${typeof disabled_because === 'string' ? ` (${disabled_because})` : ''}`
          : typeof failing_since === 'string'
            ? `failing since ${minute(failing_since)}`
            : 'on',
      events: ({ event_types }) =>
        Array.isArray(event_types) && event_types.length > 0
          ? oneLine(event_types.join(' '), 80)
          : 'all',
      'last delivered': ({ last_delivered_at }) => minute(last_delivered_at),
    },
  },
  deliveries: {
    one: 'delivery',
    columns: {
      id: 36,
      'handed on': ({ created_at }) => minute(created_at),
      event: 30,
      'event id': ({ event_id }) => oneLine(event_id, 36),
      state: 12,
      attempts: 20,
      answer: ({ status, failure }) => oneLine(status ?? failure, 20),
      'next attempt': ({ next_attempt_at }) => minute(next_attempt_at),
    },
  },
} as const satisfies Record<string, Lines>;

function every(seconds: unknown): string {
  return typeof seconds === 'number' ? `every ${durationText(seconds * 1_000)}` : '';
}

function minute(value: unknown): string {
  return typeof value === 'string' ? `${value.slice(0, 16)}Z` : '';
}

/** Whether it is open, and whether someone acknowledged it. */
function stateOf({ open, confirmed_at, acknowledged_by: by }: Item): string {
  if (open !== true) return confirmed_at === null ? 'never confirmed' : 'over';
  if (confirmed_at === null) return 'being verified';
  return typeof by === 'string' ? `OPEN, acknowledged by ${oneLine(by, 24)}` : 'OPEN';
}

function covers({ monitors, groups }: Item): string {
  return `${numbered(count(monitors), 'monitor')}, ${numbered(count(groups), 'group')}`;
}

function numbered(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function count(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

function phasesText(phases: unknown): string {
  return isRecord(phases)
    ? [phases.dns_ms, phases.tcp_ms, phases.tls_ms, phases.first_byte_ms, phases.total_ms]
        .map((ms) => oneLine(ms ?? '-', 10))
        .join(' ')
    : '';
}

export function records(value: unknown): Item[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

const encoder = new TextEncoder();

/** At most this many bytes of it, in whole characters, with a mark where something is left out. */
export function clipped(text: string, limit: number): string {
  if (bytesOf(text) <= limit) return text;
  let kept = '';
  let size = 3;
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)) {
    size += bytesOf(segment);
    if (size > limit) break;
    kept += segment;
  }
  return `${kept}…`;
}

export function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

/**
 * One line of it: characters that would break a line, reorder it or end the data early become
 * blanks.
 */
export function oneLine(value: unknown, limit: number): string {
  return clipped(
    String(value ?? '')
      .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s|]+/gu, ' ')
      .trim(),
    limit,
  );
}
