import { isRecord } from '../base/json.ts';
import { conditionsOf, dnsConditionsOf, type JudgedKind } from './gatus-conditions.ts';
import { beginImport, type Imported, type Work } from './result.ts';
import { cleaned, type Raw, type Row, recordsIn, rowOf } from './rows.ts';
import {
  addressFrom,
  bodyFrom,
  consistent,
  echoTimeout,
  endpointFrom,
  headersFrom,
  hostFrom,
  intervalFrom,
  methodFrom,
  newPingAddress,
  omitUnread,
  partsOf,
  pingIntervalFrom,
  questionFrom,
  resolverFrom,
  secondsFrom,
  sendFrom,
  timeoutFrom,
} from './settings.ts';

/** Gatus: the endpoints of its configuration, and where its alerts go. */

/** How Gatus runs and shows itself. */
const aside = new Set([
  'endpoints',
  'external-endpoints',
  'alerting',
  'metrics',
  'storage',
  'web',
  'ui',
  'debug',
  'skip-invalid-config-update',
  'disable-monitoring-lock',
  'concurrency',
]);
const reasonsOfParts = {
  maintenance: 'its maintenance has no counterpart as it is; schedule a window.',
  security: 'who may see what follows from accounts and status pages.',
  connectivity: 'probes notice by themselves that they are cut off.',
  suites: 'a sequence of requests has no counterpart.',
  remote: 'endpoints of another Gatus are imported from there.',
  tunneling: 'a private probe can stand where it is needed.',
};
const meaningless = new Set(['name', 'ui', 'enabled', 'group', 'alerts', 'conditions', 'url']);
const reasons: Readonly<Record<string, string>> = {
  'client.oauth2': 'signing in by OAuth has no counterpart; set up what its target takes.',
  'client.identity-aware-proxy': 'signing in by it has no counterpart.',
  'maintenance-windows': 'its own maintenance has no counterpart as it is; schedule a window.',
  'extra-labels': 'its labels have no counterpart; tags find monitors.',
};

export function importGatus(config: unknown): Imported {
  const work = beginImport({ variables: 'same' });
  const raw = cleaned(config);
  const root = rowOf(isRecord(raw) ? raw : {}, aside);
  omitUnread(root, 'Gatus', work, reasonsOfParts);
  const groups = new Map<string, string | undefined>();
  const groupOf = (row: Row): string | undefined => {
    const name = row.text('group');
    if (name !== '' && !groups.has(name)) groups.set(name, work.add('groups', name, {}));
    return groups.get(name);
  };
  const alerted = new Map<string, string[]>();
  const add = (row: Row, monitor: Raw): void => {
    const key = work.add('monitors', row.text('name'), {
      ...monitor,
      enabled: row.isOff('enabled') ? false : undefined,
      group: groupOf(row),
    });
    for (const alert of row.records('alerts')) {
      const [type, isOff] = [rowOf(alert).text('type'), rowOf(alert).isOff('enabled')];
      if (key !== undefined && !isOff) alerted.set(type, [...(alerted.get(type) ?? []), key]);
      if (alert['failure-threshold'] !== undefined || alert['success-threshold'] !== undefined)
        work.omit(
          row.text('name'),
          'thresholds of its alerts are left out: another continent confirms an outage instead.',
        );
    }
  };
  for (const one of root.records('endpoints')) {
    const row = rowOf(one, meaningless);
    const name = row.text('name');
    const monitor = endpointOf(row, name, work);
    if (monitor === undefined) continue;
    add(row, monitor);
    omitUnread(row, name, work, reasons);
  }
  for (const one of root.records('external-endpoints')) {
    const row = rowOf(one, new Set([...meaningless, 'token']));
    const name = row.text('name');
    work.omit(name, newPingAddress);
    const seconds = secondsFrom(row.inner('heartbeat').text('interval'));
    add(row, { type: 'heartbeat', interval_s: pingIntervalFrom(seconds, name, work) });
    omitUnread(row, name, work, reasons);
  }
  addChannels(root.inner('alerting'), alerted, work);
  return work.done();
}

function endpointOf(row: Row, name: string, work: Work): Raw | undefined {
  const interval_s = intervalFrom(secondsFrom(row.text('interval') || '60s'), name, work);
  const url = row.text('url');
  const client = row.inner('client');
  const timeout_ms = timeoutFrom(secondsFrom(client.text('timeout')), interval_s);
  const [, scheme = '', rest = ''] = /^([a-z]+):\/\/(.*)$/i.exec(url) ?? [];
  const conditions = row.texts('conditions');
  const hasCertificate = /^(?:https|wss|tls|starttls|grpcs)$/i.test(scheme);
  const judged = (kind: JudgedKind): Raw =>
    conditionsOf(conditions, kind, { name, interval_s, timeout_ms, hasCertificate }, work);
  const sent = (): string | undefined =>
    sendFrom(row.text('body'), partsOf(rest.split('/')[0] ?? '')[1], name, work);
  const onPort = (type: 'tcp' | 'tls', config: Raw, usualPort?: number): Raw | undefined => {
    const [host, port] = partsOf(rest.split('/')[0] ?? '');
    const target = endpointFrom(host, port ?? usualPort, name, work);
    return target === undefined
      ? undefined
      : { type, target, interval_s, config: { timeout_ms, ...config } };
  };
  if (isRecord(row.value('dns'))) {
    const dns = row.inner('dns');
    const [server, port] = partsOf(rest || url);
    const target = questionFrom(dns.text('query-name'), dns.text('query-type'), name, work);
    if (target === undefined) return undefined;
    return {
      type: 'dns',
      target,
      interval_s,
      config: {
        timeout_ms,
        record_type: dns.text('query-type'),
        resolver: resolverFrom(server, port, name, work),
        ...dnsConditionsOf(conditions, name, work),
      },
    };
  }
  const verify_tls = client.isOn('insecure') ? false : undefined;
  switch (scheme.toLowerCase()) {
    case 'http':
    case 'https': {
      const address = addressFrom(url, name, work);
      if (address === undefined) return undefined;
      const headers = row.value('headers');
      const isGraphql = row.isOn('graphql');
      if (isGraphql) work.omit(name, 'its body is sent as it is; write it as GraphQL in JSON.');
      const config = {
        timeout_ms,
        method: methodFrom(row.text('method'), name, work),
        headers: isRecord(headers) ? headersFrom(headers, name, work) : undefined,
        body: bodyFrom(row.text('body'), name, work),
        basic_auth: address.basic_auth,
        verify_tls,
        follow_redirects: client.isOn('ignore-redirect') ? false : undefined,
        ...judged('https'),
      };
      return {
        type: 'https',
        target: address.target,
        interval_s,
        config: consistent(config, name, work),
      };
    }
    case 'tcp':
      return onPort('tcp', { send: sent(), ...judged('tcp') });
    case 'tls': {
      const send = sent();
      return send === undefined
        ? onPort('tls', { verify_tls, ...judged('tls') })
        : onPort('tcp', { tls: 'implicit', verify_tls, send, ...judged('tcp') });
    }
    case 'starttls':
      return onPort('tcp', { tls: 'smtp', verify_tls, ...judged('tcp') }, 25);
    case 'ssh':
      return onPort('tcp', { banner: 'ssh', ...judged('tcp') }, 22);
    case 'icmp': {
      const target = hostFrom(rest, name, work);
      if (target === undefined) return undefined;
      return {
        type: 'icmp',
        target,
        interval_s,
        config: { timeout_ms: echoTimeout(timeout_ms), ...judged('icmp') },
      };
    }
    case 'ws':
    case 'wss': {
      const address = addressFrom(url, name, work, 'ws');
      return (
        address && {
          type: 'websocket',
          target: address.target,
          interval_s,
          config: { timeout_ms, verify_tls, send: sent(), ...judged('websocket') },
        }
      );
    }
    case 'grpc':
    case 'grpcs': {
      const at = endpointFrom(...partsOf(rest.split('/')[0] ?? ''), name, work);
      if (at === undefined) return undefined;
      const config = { timeout_ms, verify_tls, ...judged('grpc') };
      return { type: 'grpc', target: `${scheme.toLowerCase()}://${at}`, interval_s, config };
    }
    default:
      work.omit(name, `checks of ${scheme || 'such an address'} have no counterpart.`);
      return undefined;
  }
}

/** Where alerts go, by their kind in Gatus: ours, and its settings. */
const kinds: Readonly<
  Record<string, readonly [kind: string, settings: Readonly<Record<string, string>>]>
> = {
  slack: ['slack', { url: 'webhook-url' }],
  discord: ['discord', { url: 'webhook-url' }],
  mattermost: ['mattermost', { url: 'webhook-url' }],
  'teams-workflows': ['teams', { url: 'webhook-url' }],
  googlechat: ['google-chat', { url: 'webhook-url' }],
  telegram: ['telegram', { token: 'token', chat: 'id', thread: 'topic-id' }],
  ntfy: ['ntfy', { url: 'url', topic: 'topic', token: 'token' }],
  gotify: ['gotify', { url: 'server-url', token: 'token' }],
  pushover: ['pushover', { token: 'application-token', user: 'user-key', device: 'device' }],
  pagerduty: ['pagerduty', { key: 'integration-key' }],
  matrix: ['matrix', { url: 'server-url', token: 'access-token', room: 'internal-room-id' }],
  email: ['email', { address: 'to' }],
};
const secrets = /webhook-url|token$|user-key|integration-key/;

function addChannels(
  alerting: Row,
  alerted: ReadonlyMap<string, readonly string[]>,
  work: Work,
): void {
  for (const [type, [kind, settings]] of Object.entries(kinds)) {
    if (!isRecord(alerting.value(type))) continue;
    const row = alerting.inner(type);
    row.value('default-alert');
    const config: Record<string, string> = {};
    for (const [ours, theirs] of Object.entries(settings)) {
      const value = row.text(theirs);
      config[ours] =
        value !== '' && secrets.test(theirs) ? work.secret(type, theirs, value) : value;
    }
    if (type === 'ntfy' && config.url === '') config.url = 'https://ntfy.sh';
    const targets = (config.address ?? '').split(',').map((each) => each.trim());
    for (const address of targets)
      work.add('channels', type, {
        kind,
        config: kind === 'email' ? { address } : config,
        covers: 'chosen',
        monitors: alerted.get(type) ?? [],
      });
  }
  omitUnread(alerting, 'alerting', work);
}

/** Several files make one configuration; a list of one is added to that of another. */
export function mergeConfigs(configs: readonly unknown[]): Raw {
  const whole: Record<string, unknown> = {};
  for (const config of configs)
    for (const [part, value] of Object.entries(isRecord(config) ? config : {})) {
      const before = whole[part];
      whole[part] =
        Array.isArray(before) && Array.isArray(value)
          ? [...before, ...value]
          : isRecord(before) && isRecord(value)
            ? { ...before, ...value }
            : value;
    }
  return whole;
}

/** Whether it has endpoints at all. */
export function isGatus(config: unknown): boolean {
  return (
    isRecord(config) &&
    recordsIn(config.endpoints).length + recordsIn(config['external-endpoints']).length > 0
  );
}
