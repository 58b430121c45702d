import { isRecord } from '../base/json.ts';
import type { Work } from './result.ts';
import { ofTable, parsed, type Raw, type Row, recordsIn, rowOf } from './rows.ts';
import {
  addressFrom,
  bodyFrom,
  consistent,
  credentialsFrom,
  echoTimeout,
  endpointFrom,
  headersFrom,
  hostFrom,
  intervalFrom,
  jsonPathFrom,
  methodFrom,
  newPingAddress,
  omitUnread,
  pingIntervalFrom,
  questionFrom,
  resolverFrom,
  scalarFrom,
  statusesFrom,
  timeoutFrom,
  wordsFrom,
} from './settings.ts';

/** A monitor of Uptime Kuma as one of ours. */

/** Columns that say nothing elsewhere, and those that their caller reads. */
const meaningless = new Set([
  'id',
  'name',
  'type',
  'active',
  'parent',
  'user_id',
  'weight',
  'created_date',
  'path_name',
  'path',
  'children_i_ds',
  'child_ids',
  'force_inactive',
  'notification_i_d_list',
  'tags',
  'maintenance',
  'include_sensitive_data',
  'screenshot',
  'dns_last_result',
  'push_token',
  'save_response',
  'save_error_response',
  'response_max_length',
  'gamedig_given_port_only',
  'kafka_producer_allow_auto_topic_creation',
  'kafka_producer_ssl',
  'grpc_enable_tls',
  // Every row has these, and one type reads them.
  'ntp_stratum_threshold',
  'ntp_time_offset_threshold',
  'ntp_root_dispersion_threshold',
  'ping_count',
  'expiry_notification',
]);

/** What its database and its form fill in by themselves. */
const usual = {
  method: 'GET',
  dns_resolve_type: 'A',
  dns_resolve_server: '1.1.1.1',
  maxredirects: 10,
  packet_size: 56,
  http_body_encoding: 'json',
  mqtt_check_type: 'keyword',
  json_path: '$',
  json_path_operator: '==',
  oauth_auth_method: 'client_secret_basic',
  auth_method: 'null',
  snmp_version: '2c',
  ping_per_request_timeout: 2,
  ping_numeric: 1,
  expected_tls_alert: 'none',
  accepted_statuscodes_json: '["200-299"]',
  kafka_producer_sasl_options: '{"mechanism":"None"}',
  rabbitmq_nodes: '[]',
  subtype: '',
  location: 'world',
  port: 53,
};

const confirmed = 'its retries are left out: another continent confirms an outage instead.';
const reasons: Readonly<Record<string, string>> = {
  maxretries: confirmed,
  retry_interval: confirmed,
  retry_only_on_status_code_failure: confirmed,
  resend_interval: 'reminders are set on channels.',
  domain_expiry_notification: 'a monitor of type domain watches the end of a registration.',
  cache_bust: 'no parameter against caches is added; write one into the address.',
  proxy_id: 'it went through a proxy, which checks do not.',
  tls_ca: 'its certificate authority has no counterpart; a private probe can trust it.',
  packet_size: 'echo requests have one size.',
};

type MonitorOfFile = Raw & { readonly type: string };

export function monitorFrom(raw: Raw, name: string, work: Work): MonitorOfFile | undefined {
  const row = rowOf(raw, meaningless, usual);
  if (row.isOn('upside_down')) {
    work.omit(name, 'it is up while its target is down, for which there is no counterpart.');
    return undefined;
  }
  const made = ofType(row, name, work);
  if (made === undefined) return undefined;
  const runbook = row.text('description').slice(0, 2_000);
  omitUnread(row, name, work, reasons);
  return runbook === '' ? made : { ...made, runbook };
}

/** Databases whose greeting is known. */
const databases: Readonly<Record<string, readonly [banner: string, port: number]>> = {
  postgres: ['postgres', 5_432],
  mysql: ['mysql', 3_306],
  redis: ['redis', 6_379],
};

function ofType(row: Row, name: string, work: Work): MonitorOfFile | undefined {
  const type = row.text('type');
  if (type === 'push') {
    work.omit(name, newPingAddress);
    return {
      type: 'heartbeat',
      interval_s: pingIntervalFrom(row.number('interval'), name, work),
      config: { grace_s: 60 },
    };
  }
  const interval_s = intervalFrom(row.number('interval'), name, work);
  const timeout_ms = timeoutFrom(row.number('timeout'), interval_s);
  const host = row.text('hostname');
  const endpoint = (usualPort?: number): string | undefined =>
    endpointFrom(host, row.number('port') ?? usualPort, name, work);
  const onPort = (config: Raw, usualPort?: number): MonitorOfFile | undefined => {
    const target = endpoint(usualPort);
    return target === undefined
      ? undefined
      : { type: 'tcp', target, interval_s, config: { timeout_ms, ...config } };
  };
  switch (type) {
    case 'http':
    case 'keyword':
    case 'json-query':
    case 'real-browser': {
      if (type === 'real-browser') work.omit(name, 'no browser opens it; its answer is checked.');
      const address = addressFrom(row.text('url'), name, work);
      if (address === undefined) return undefined;
      const { target, basic_auth } = address;
      const config = { timeout_ms, basic_auth, ...httpOf(row, target, name, work) };
      return { type: 'https', target, interval_s, config: consistent(config, name, work) };
    }
    case 'port':
      return onPort({ ip_family: familyOf(row) });
    case 'smtp':
      return onPort({ banner: 'smtp', tls: ofTable(smtpSecurity, row.text('smtp_security')) }, 25);
    case 'ping': {
      row.value('ping_per_request_timeout', 'ping_numeric');
      const sent = Math.min(Math.max(1, Math.round(row.number('ping_count') ?? 3)), 20);
      const target = hostFrom(host, name, work);
      return target === undefined
        ? undefined
        : {
            type: 'icmp',
            target,
            interval_s,
            config: {
              timeout_ms: echoTimeout(timeout_ms, sent),
              packets: sent,
              ip_family: familyOf(row),
            },
          };
    }
    case 'dns': {
      const [resolver = '', ...others] = row.text('dns_resolve_server').split(',');
      if (others.length > 0) work.omit(name, 'the first of its name servers is asked.');
      const target = questionFrom(host, row.text('dns_resolve_type'), name, work);
      return target === undefined
        ? undefined
        : {
            type: 'dns',
            target,
            interval_s,
            config: {
              timeout_ms,
              record_type: row.text('dns_resolve_type'),
              resolver: resolverFrom(resolver.trim(), row.number('port'), name, work),
              ...answersOf(row, name, work),
            },
          };
    }
    case 'websocket-upgrade': {
      const address = addressFrom(row.text('url').replace(/^http/i, 'ws'), name, work, 'ws');
      const [subprotocol = ''] = row.text('ws_subprotocol').split(',');
      const isToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(subprotocol);
      if (subprotocol !== '' && !isToken) work.omit(name, 'its subprotocol is no name of one.');
      return address === undefined
        ? undefined
        : {
            type: 'websocket',
            target: address.target,
            interval_s,
            config: { timeout_ms, subprotocol: isToken ? subprotocol : '' },
          };
    }
    case 'postgres':
    case 'mysql':
    case 'redis': {
      const [banner = '', usualPort = 0] = databases[type] ?? [];
      const address = row.text('database_connection_string');
      row.value('database_query', 'basic_auth_pass', 'radius_password');
      const url = URL.canParse(address) ? new URL(address) : undefined;
      work.omit(name, 'that the database greets is checked; it is not signed in to, nor queried.');
      const port = url?.port ? Number(url.port) : usualPort;
      const target = endpointFrom(url?.hostname ?? '', port, name, work);
      return target === undefined
        ? undefined
        : { type: 'tcp', target, interval_s, config: { timeout_ms, banner } };
    }
    default:
      work.omit(name, `monitors of type ${type || 'unknown'} have no counterpart${hintOf(type)}`);
      return undefined;
  }
}

function hintOf(type: string): string {
  return /^(?:snmp|ntp|steam|gamedig|radius|sip-options)$/.test(type)
    ? ': no check speaks its UDP.'
    : /^(?:mqtt|mongodb|sqlserver|oracledb|kafka-producer|rabbitmq)$/.test(type)
      ? '; one of type tcp watches a port.'
      : type === 'grpc-keyword'
        ? '; one of type grpc asks a server for its health.'
        : '.';
}

const smtpSecurity: Readonly<Record<string, string>> = { secure: 'implicit', starttls: 'smtp' };

function familyOf(row: Row): string | undefined {
  const [, family] = /^ipv([46])$/.exec(row.text('ip_family')) ?? [];
  return family;
}

const contentTypes: Readonly<Record<string, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  xml: 'text/xml; charset=utf-8',
};

function httpOf(row: Row, target: string, name: string, work: Work): Raw {
  const given = row.value('headers');
  const headers = typeof given === 'string' ? parsed(given) : given;
  const own = isRecord(headers) ? headersFrom(headers, name, work) : {};
  if (!isRecord(headers) && typeof given === 'string' && given.trim() !== '')
    work.omit(name, 'its headers are no JSON object.');
  const body = bodyFrom(row.text('body'), name, work);
  const encoding = ofTable(contentTypes, row.text('http_body_encoding') || 'json');
  const isTyped = Object.keys(own).some((header) => /^content-type$/i.test(header));
  const method = methodFrom(row.text('method'), name, work);
  const redirects = row.number('maxredirects');
  const keyword = wordsFrom([row.text('keyword')], name, work);
  const isWarned = !row.isOff('expiry_notification');
  row.value('expiry_notification');
  const statuses = row.value('accepted_statuscodes_json');
  const list = typeof statuses === 'string' ? parsed(statuses) : statuses;
  return {
    method,
    expected_status: statusesFrom(Array.isArray(list) ? list.map(String) : [], name, work),
    headers:
      body !== '' && method !== undefined && !isTyped && encoding !== undefined
        ? { ...own, 'Content-Type': encoding }
        : own,
    body,
    ip_family: familyOf(row),
    verify_tls: row.isOn('ignore_tls') ? false : undefined,
    ...(redirects === 0 ? { follow_redirects: false } : {}),
    max_redirects:
      redirects === undefined || redirects <= 0
        ? undefined
        : Math.min(10, Math.max(1, Math.round(redirects))),
    tls_expires_within_days: isWarned || !/^https:/i.test(target) ? undefined : 0,
    [row.isOn('invert_keyword') ? 'body_not_contains' : 'body_contains']:
      row.text('type') === 'keyword' ? keyword : undefined,
    json: row.text('type') === 'json-query' ? jsonOf(row, name, work) : undefined,
    ...signInOf(row, name, work),
  };
}

function signInOf(row: Row, name: string, work: Work): Raw {
  const method = row.text('auth_method');
  const [username, password] = [row.text('basic_auth_user'), row.text('basic_auth_pass')];
  if (method === 'basic') return { basic_auth: credentialsFrom(username, password, name, work) };
  const token = row.text('bearer_token');
  if (method === 'bearer' && token !== '')
    return { bearer_token: work.secret(name, 'bearer_token', token) };
  const [certificate, key] = [row.text('tls_cert'), row.text('tls_key')];
  if (method === 'mtls' && certificate !== '')
    return {
      client_certificate: work.secret(
        name,
        'client certificate and its private key, one after the other',
        `${certificate}\n${key}`,
      ),
    };
  if (method !== '' && method !== 'null')
    work.omit(name, `signing in by ${method} has no counterpart; set up what its target takes.`);
  return {};
}

const operators: Readonly<Record<string, string>> = {
  '': 'equals',
  '==': 'equals',
  contains: 'contains',
  '>': 'gt',
  '<': 'lt',
};

function jsonOf(row: Row, name: string, work: Work): readonly Raw[] | undefined {
  const [path, expected] = [jsonPathFrom(row.text('json_path')), row.text('expected_value')];
  const operator = ofTable(operators, row.text('json_path_operator'));
  const value =
    operator === 'gt' || operator === 'lt'
      ? row.number('expected_value')
      : operator === 'contains'
        ? expected.slice(0, 1_024)
        : scalarFrom(expected);
  if (path !== undefined && operator !== undefined && value !== undefined && value !== '')
    return [{ path, [operator]: value }];
  work.omit(name, 'its JSON query is more than a path and a value, and left out.');
  return undefined;
}

/** Conditions of Kuma 2 on records: those that each name one value. */
function answersOf(row: Row, name: string, work: Work): Raw {
  const given = row.value('conditions');
  const conditions = recordsIn(typeof given === 'string' ? parsed(given) : given);
  if (conditions.length === 0) return {};
  const values = conditions.map((one) =>
    one.variable === 'record' && one.operator === 'equals' ? rowOf(one).text('value') : '',
  );
  const isAll = conditions.slice(1).every(({ andOr }) => andOr === 'and');
  const isAny = conditions.slice(1).every(({ andOr }) => andOr === 'or');
  if (values.every((value) => value !== '' && value.length <= 4_096) && (isAll || isAny))
    return { expected_values: values.slice(0, 100), match: isAll && !isAny ? 'all' : undefined };
  work.omit(name, 'its conditions are more than a list of values, and left out.');
  return {};
}
