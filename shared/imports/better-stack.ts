import { isRecord } from '../base/json.ts';
import { beginImport, type Imported, type Work } from './result.ts';
import { cleaned, ofTable, type Raw, type Row, rowOf } from './rows.ts';
import {
  addressFrom,
  bodyFrom,
  consistent,
  credentialsFrom,
  echoTimeout,
  endpointFrom,
  graceFrom,
  headersFrom,
  hostFrom,
  intervalFrom,
  isIP,
  methodFrom,
  newPingAddress,
  omitUnread,
  pingIntervalFrom,
  questionFrom,
  resolverFrom,
  statusesFrom,
  timeoutFrom,
  wordsFrom,
} from './settings.ts';

/** Better Stack: the lists of monitors, heartbeats and their groups of its API, as one. */

const meaningless = new Set([
  'id',
  'created_at',
  'updated_at',
  'last_checked_at',
  'status',
  'paused_at',
  'team_name',
  'url',
  'sort_index',
  'monitor_type',
  'remember_cookies',
  'port',
  'scenario_name',
  'checks_version',
]);
const escalation = 'whom to call and when is set on channels.';
const confirmation = 'its times of confirmation are left out: another continent confirms instead.';
const maintenance = 'its maintenance has no counterpart as it is; schedule a window.';
const reasons: Readonly<Record<string, string>> = {
  call: escalation,
  sms: escalation,
  critical_alert: escalation,
  email: escalation,
  push: escalation,
  team_wait: escalation,
  policy_id: escalation,
  expiration_policy_id: escalation,
  confirmation_period: confirmation,
  recovery_period: confirmation,
  maintenance_from: maintenance,
  maintenance_to: maintenance,
  maintenance_timezone: maintenance,
  maintenance_days: maintenance,
  domain_expiration: 'a monitor of type domain watches the end of a registration.',
};

export function importBetterStack(answer: unknown): Imported {
  const work = beginImport();
  const raw = cleaned(answer);
  const all = rowOf(isRecord(raw) ? raw : {}).records('data');
  const attributesOf = (one: Raw): Raw => (isRecord(one.attributes) ? one.attributes : {});
  const groups = new Map<string, string | undefined>();
  for (const one of all)
    if (one.type === 'monitor_group' || one.type === 'heartbeat_group')
      groups.set(
        `${String(one.type)} ${String(one.id)}`,
        work.add('groups', rowOf(attributesOf(one)).text('name'), {}),
      );
  for (const one of all) {
    const row = rowOf(attributesOf(one), meaningless, { team_wait: '' });
    if (one.type === 'monitor') {
      const name = row.text('pronounceable_name') || row.text('url');
      const made = monitorsOf(row, name, work);
      for (const { title = name, ...monitor } of made)
        work.add('monitors', title, {
          ...monitor,
          enabled: row.isOn('paused') || row.text('status') === 'paused' ? false : undefined,
          group: groups.get(`monitor_group ${row.text('monitor_group_id')}`),
        });
      if (made.length > 0) omitUnread(row, name, work, reasons);
    } else if (one.type === 'heartbeat') {
      const name = row.text('name');
      work.omit(name, newPingAddress);
      work.add('monitors', name, {
        type: 'heartbeat',
        interval_s: pingIntervalFrom(row.number('period'), name, work),
        config: { grace_s: graceFrom(row.number('grace')) },
        enabled: row.isOn('paused') || row.text('status') === 'paused' ? false : undefined,
        group: groups.get(`heartbeat_group ${row.text('heartbeat_group_id')}`),
      });
      omitUnread(row, name, work, reasons);
    } else if (one.type !== 'monitor_group' && one.type !== 'heartbeat_group')
      work.omit(String(one.type ?? 'something unknown'), 'objects of this kind are not imported.');
  }
  return work.done();
}

const onPorts: Readonly<Record<string, readonly [banner: string | undefined, port: number]>> = {
  tcp: [undefined, 0],
  pop: [undefined, 110],
  smtp: ['smtp', 25],
  imap: ['imap', 143],
};
const continents: Readonly<Record<string, string>> = {
  us: 'North America',
  eu: 'Europe',
  as: 'Asia',
  au: 'Oceania',
};

/** By TLS from the start. */
const securePorts = [465, 993, 995];

type Made = Raw & { readonly title?: string };

/** One; or one for each of its ports. */
function monitorsOf(row: Row, name: string, work: Work): readonly Made[] {
  const isOnPort = ofTable(onPorts, row.text('monitor_type')) !== undefined;
  const ports = isOnPort ? [...new Set(row.text('port').split(/[\s,]+/))] : [''];
  return ports.flatMap((port) => {
    const title = ports.length === 1 ? name : `${name} ${port}`;
    const made = monitorOf(row, port, name, work);
    return made === undefined ? [] : [{ ...made, title }];
  });
}

function monitorOf(row: Row, given: string, name: string, work: Work): Raw | undefined {
  const [url, type] = [row.text('url'), row.text('monitor_type')];
  const interval_s = intervalFrom(row.number('check_frequency'), name, work);
  const request = row.number('request_timeout');
  // Of servers it is in milliseconds.
  const timeout_ms = timeoutFrom(request && request >= 500 ? request / 1_000 : request, interval_s);
  const regions = new Set(row.texts('regions').map((region) => regionOf(region, name, work)));
  regions.delete(undefined);
  const shared = {
    timeout_ms,
    continents: regions.size > 0 && regions.size < 4 ? [...regions] : undefined,
  };
  const port = ofTable(onPorts, type);
  if (port !== undefined) {
    const [banner, usualPort] = port;
    const at = given === '' ? usualPort : Number(given);
    const tls = type !== 'tcp' && securePorts.includes(at) ? 'implicit' : undefined;
    const target = endpointFrom(url, at, name, work);
    return target === undefined
      ? undefined
      : { type: 'tcp', target, interval_s, config: { ...shared, banner, tls } };
  }
  if (type === 'ping') {
    const target = hostFrom(url, name, work);
    return target === undefined
      ? undefined
      : {
          type: 'icmp',
          target,
          interval_s,
          config: { ...shared, timeout_ms: echoTimeout(timeout_ms) },
        };
  }
  if (type === 'dns') {
    // The name server is its address, and the name that it is asked for stands in the body.
    const resolver = resolverFrom(url, undefined, name, work);
    const target = questionFrom(row.text('request_body'), 'A', name, work);
    return target === undefined
      ? undefined
      : {
          type: 'dns',
          target,
          interval_s,
          config: { ...shared, resolver, ...answerOf(row.text('required_keyword'), name, work) },
        };
  }
  if (!/^(?:status|expected_status_code|keyword|keyword_absence)$/.test(type)) {
    work.omit(name, `monitors of type ${type || 'unknown'} have no counterpart as they are.`);
    return undefined;
  }
  const address = addressFrom(url, name, work);
  if (address === undefined) return undefined;
  const headers = Object.fromEntries(
    row.records('request_headers').map((each) => {
      const header = rowOf(each);
      return [header.text('name'), header.text('value')];
    }),
  );
  const word = type === 'keyword_absence' ? 'body_not_contains' : 'body_contains';
  const days = row.number('ssl_expiration');
  const family = row.text('ip_version');
  const config = {
    ...shared,
    method: methodFrom(row.text('http_method'), name, work),
    headers: headersFrom(headers, name, work),
    body: bodyFrom(row.text('request_body'), name, work),
    expected_status:
      type === 'expected_status_code'
        ? statusesFrom(row.texts('expected_status_codes'), name, work)
        : undefined,
    [word]: type.startsWith('keyword')
      ? wordsFrom([row.text('required_keyword')], name, work)
      : undefined,
    verify_tls: row.isOff('verify_ssl') ? false : undefined,
    follow_redirects: row.isOff('follow_redirects') ? false : undefined,
    tls_expires_within_days:
      days === undefined || !/^https:/i.test(url)
        ? undefined
        : Math.min(Math.max(0, Math.round(days)), 365),
    ip_family: family === 'ipv4' ? '4' : family === 'ipv6' ? '6' : undefined,
    basic_auth:
      address.basic_auth ??
      credentialsFrom(row.text('auth_username'), row.text('auth_password'), name, work),
  };
  row.value('verify_ssl', 'follow_redirects');
  const { target } = address;
  return { type: 'https', target, interval_s, config: consistent(config, name, work) };
}

function regionOf(region: string, name: string, work: Work): string | undefined {
  const continent = ofTable(continents, region);
  if (continent === undefined) work.omit(name, `its region ${region} has no counterpart.`);
  return continent;
}

/** A value that an answer of DNS must have: an address, which says the type of the record. */
function answerOf(keyword: string, name: string, work: Work): Raw {
  if (keyword === '') return {};
  const family = isIP(keyword);
  if (family !== 0)
    return { record_type: family === 6 ? 'AAAA' : undefined, expected_values: [keyword] };
  work.omit(
    name,
    `its keyword ${keyword} is left out: it is no address; set \`record_type\` and \`expected_values\`.`,
  );
  return {};
}
