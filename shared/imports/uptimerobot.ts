import { isRecord } from '../base/json.ts';
import { csvRows } from '../base/text.ts';
import { isRecordType } from '../checks/dns/keys.ts';
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
  isHost,
  isIP,
  jsonPathFrom,
  methodFrom,
  newPingAddress,
  omitUnread,
  pingIntervalFrom,
  questionFrom,
  statusesFrom,
  tagsFrom,
  timeoutFrom,
  wordsFrom,
} from './settings.ts';

/**
 * UptimeRobot: the answer of `getMonitors` of its API v2, or of `GET /v3/monitors`, or the CSV that
 * its pages export, with the columns that there are.
 */

const meaningless = new Set([
  'id',
  'create_datetime',
  'createDateTime',
  'status',
  'type',
  'ssl',
  'logs',
  'response_times',
  'average_response_time',
  'all_time_uptime_ratio',
  'custom_uptime_ratio',
  'lastIncident',
  'lastIncidentId',
  'lastDayUptimes',
  'currentStateDuration',
  'userId',
  'regionalData',
  'sslBrand',
  'sslExpiryDateTime',
  'domainExpireDate',
  'apiKey',
  'is_group_main',
]);
const contacts = 'alert contacts are to be set up as channels.';
const windows = 'maintenance is to be scheduled by hand.';
const expiry = 'a monitor of type domain watches the end of a registration.';
const reasons: Readonly<Record<string, string>> = {
  alert_contacts: contacts,
  assignedAlertContacts: contacts,
  mwindows: windows,
  maintenanceWindows: windows,
  maintenanceWindowsIds: windows,
  disable_domain_expire_notifications: expiry,
  domainExpirationReminder: expiry,
  regionData: 'it is checked from all continents; `continents` chooses among them.',
};

const types: Readonly<Record<string, string>> = {
  1: 'http',
  2: 'keyword',
  3: 'ping',
  4: 'port',
  5: 'heartbeat',
};
const portsOfSubtypes: Readonly<Record<string, number>> = {
  1: 80,
  2: 443,
  3: 21,
  4: 25,
  5: 110,
  6: 143,
};
/** By their numbers in v2. */
const methods: Readonly<Record<string, string>> = {
  1: 'HEAD',
  2: 'GET',
  3: 'POST',
  4: 'PUT',
  5: 'PATCH',
  6: 'DELETE',
  7: 'OPTIONS',
};

/** The CSV as an answer of v2; undefined where it has no monitors' columns. */
export function uptimeRobotTable(text: string): unknown {
  const [header, ...rows] = csvRows(text) ?? [];
  const fields = header?.map((title) => {
    const field = title.trim().toLowerCase().replace(/\W+/g, '_');
    return field === 'url_ip' ? 'url' : field;
  });
  if (fields?.includes('url') !== true || !fields.includes('type')) return undefined;
  return {
    monitors: rows
      .filter((row) => row.some((cell) => cell.trim() !== ''))
      .map((row) => Object.fromEntries(fields.map((field, nth) => [field, row[nth]]))),
  };
}

export function importUptimeRobot(answer: unknown): Imported {
  const work = beginImport();
  const raw = cleaned(answer);
  const root = rowOf(isRecord(raw) ? raw : {});
  for (const one of [...root.records('monitors'), ...root.records('data')]) {
    const row = rowOf(one, meaningless);
    const name = row.text('friendly_name', 'friendlyName') || row.text('url');
    const made = monitorsOf(row, name, work);
    const tags = row.value('tags');
    for (const monitor of made)
      work.add('monitors', name, {
        ...monitor,
        enabled: /^(?:0|paused)$/i.test(row.text('status')) ? false : undefined,
        tags: tagsFrom(
          (Array.isArray(tags) ? tags : []).map((tag) =>
            isRecord(tag) ? rowOf(tag).text('name') : String(tag),
          ),
        ),
      });
    if (made.length > 0) omitUnread(row, name, work, reasons);
  }
  return work.done();
}

/** One; or one for each type of record that it watches. */
function monitorsOf(row: Row, name: string, work: Work): readonly Raw[] {
  const monitor = monitorOf(row, name, work);
  if (monitor === undefined) return [];
  if (monitor.type !== 'dns') return [monitor];
  const given = row.inner('config').value('dnsRecords');
  const records = rowOf(isRecord(given) ? given : {});
  const made = Object.keys(isRecord(given) ? given : {}).flatMap((type) => {
    const values = records.texts(type);
    if (values.length === 0) return [];
    const expected_values = values.filter((value) => isRecordOf(type, value));
    if (expected_values.length < values.length)
      work.omit(
        name,
        `its records of type ${type} are not all taken over; write them as dig does.`,
      );
    return isRecordType(type)
      ? [{ ...monitor, config: { record_type: type, expected_values, match: 'all' } }]
      : [];
  });
  return made.length === 0 ? [monitor] : made;
}

function isRecordOf(type: string, value: string): boolean {
  if (type === 'A' || type === 'AAAA') return isIP(value) === (type === 'A' ? 4 : 6);
  if (type === 'MX') return /^\d{1,4} /.test(value) && isHost(value.slice(value.indexOf(' ') + 1));
  return type === 'TXT' || (/^(?:CNAME|NS|PTR)$/.test(type) && isHost(value));
}

function monitorOf(row: Row, name: string, work: Work): Raw | undefined {
  // CSV writes HTTP(s).
  const given = row.text('type').toLowerCase().replace('(s)', '');
  const type = ofTable(types, given) ?? given;
  const [url, seconds] = [row.text('url'), row.number('interval')];
  if (type === 'heartbeat') {
    row.value('timeout', 'http_method', 'httpMethodType', 'port');
    work.omit(name, newPingAddress);
    return {
      type: 'heartbeat',
      interval_s: pingIntervalFrom(seconds, name, work),
      config: { grace_s: graceFrom(row.number('gracePeriod', 'grace_period')) },
    };
  }
  if (seconds === undefined)
    work.omit(name, 'its interval is not in the file: it is checked every 5 minutes.');
  // Its shortest interval is 30 s; a smaller number in CSV counts minutes.
  const interval_s = intervalFrom(
    seconds === undefined ? 300 : seconds < 30 ? seconds * 60 : seconds,
    name,
    work,
  );
  const timeout_ms = timeoutFrom(row.number('timeout'), interval_s);
  const [, family] = /^ipv([46])only$/i.exec(row.inner('config').text('ipVersion')) ?? [];
  if (type === 'http' || type === 'keyword' || type === 'api') {
    const address = addressFrom(url, name, work);
    if (address === undefined) return undefined;
    const config = {
      timeout_ms,
      ip_family: family,
      ...httpOf(row, type === 'keyword', name, work),
      json: type === 'api' ? jsonOf(row.inner('config').inner('apiAssertions'), name, work) : [],
      ...(address.basic_auth === undefined ? {} : { basic_auth: address.basic_auth }),
    };
    const { target } = address;
    return { type: 'https', target, interval_s, config: consistent(config, name, work) };
  }
  if (type === 'ping') {
    const target = hostFrom(url, name, work);
    return target === undefined
      ? undefined
      : {
          type: 'icmp',
          target,
          interval_s,
          config: { timeout_ms: echoTimeout(timeout_ms), ip_family: family },
        };
  }
  if (type === 'port') {
    const port = ofTable(portsOfSubtypes, row.text('sub_type')) ?? row.number('port');
    row.value('port');
    const target = endpointFrom(url.replace(/^\w+:\/\//, ''), port, name, work);
    return target === undefined
      ? undefined
      : {
          type: 'tcp',
          target,
          interval_s,
          config: { timeout_ms: echoTimeout(timeout_ms), ip_family: family },
        };
  }
  if (type === 'dns') {
    row.value('timeout');
    const target = questionFrom(url, 'A', name, work);
    return target === undefined ? undefined : { type, target, interval_s };
  }
  work.omit(name, `monitors of type ${given || 'unknown'} have no counterpart as they are.`);
  return undefined;
}

const comparisons: Readonly<Record<string, string>> = {
  equals: 'equals',
  contains: 'contains',
  greater_than: 'gt',
  less_than: 'lt',
};

/** Its assertions on JSON, of which all must hold. */
function jsonOf(assertions: Row, name: string, work: Work): readonly Raw[] {
  const isEither = /^or$/i.test(assertions.text('logic'));
  const checks = assertions.records('checks');
  return checks.flatMap((one) => {
    const check = rowOf(one);
    const [property, comparison] = [check.text('property'), check.text('comparison')];
    const [path, key] = [jsonPathFrom(property), ofTable(comparisons, comparison)];
    const target = check.value('target');
    const isFit =
      key === 'gt' || key === 'lt'
        ? typeof target === 'number'
        : (typeof target === 'string' && target !== '' && target.length <= 1_024) ||
          (key === 'equals' && (typeof target === 'number' || typeof target === 'boolean'));
    if (path !== undefined && key !== undefined && isFit && !(isEither && checks.length > 1))
      return [{ path, [key]: target }];
    work.omit(name, `the assertion ${property} ${comparison} is left out: no assertion says it.`);
    return [];
  });
}

function httpOf(row: Row, isKeyword: boolean, name: string, work: Work): Raw {
  const headers = row.value('custom_http_headers', 'customHttpHeaders');
  const method = row.text('http_method', 'httpMethodType');
  const username = row.text('http_username', 'httpUsername');
  const password = row.text('http_password', 'httpPassword');
  const auth = row.text('http_auth_type', 'authType');
  const isDigest = auth === '2' || /digest/i.test(auth);
  const isBearer = /bearer/i.test(auth);
  if (isDigest) work.omit(name, 'signing in by Digest has no counterpart.');
  const basic_auth =
    isDigest || isBearer ? undefined : credentialsFrom(username, password, name, work);
  const word = row.text('keyword_value', 'keywordValue');
  const kind = row.text('keyword_type', 'keywordType');
  // 1: alert when it is there.
  const isUnwanted = kind === '1' || /^(?:ALERT[_ ])?EXISTS$/i.test(kind);
  if (
    isKeyword &&
    (row.isOn('keyword_case_type') || /insensitive/i.test(row.text('keywordCaseType')))
  )
    work.omit(name, 'its keyword is compared with small and capital letters.');
  row.value('keyword_case_type', 'keywordCaseType');
  const isSsl = row.isOff('checkSSLErrors') || row.isOn('ignore_ssl_errors');
  row.value(
    'checkSSLErrors',
    'followRedirections',
    'sslExpirationReminder',
    'responseTimeThreshold',
  );
  const slow = row.number('responseTimeThreshold');
  const posted = row.value('post_value', 'postValueData');
  const { up = [], down = [] } = statusesOf(row.value('custom_http_statuses'));
  if (down.length > 0) work.omit(name, 'statuses that mean down are left out; others are down.');
  return {
    method: methodFrom(ofTable(methods, method) ?? method, name, work),
    headers: isRecord(headers) ? headersFrom(headers, name, work) : undefined,
    body: bodyFrom(
      typeof posted === 'string' ? posted : isRecord(posted) ? JSON.stringify(posted) : '',
      name,
      work,
    ),
    expected_status: statusesFrom([...up, ...row.texts('successHttpResponseCodes')], name, work),
    basic_auth,
    bearer_token: isBearer ? work.secret(name, 'bearer_token', password) : undefined,
    verify_tls: isSsl ? false : undefined,
    follow_redirects: row.isOff('followRedirections') ? false : undefined,
    warn:
      slow === undefined || slow < 1
        ? undefined
        : { response_ms: Math.min(Math.round(slow), 5_000) },
    [isUnwanted ? 'body_not_contains' : 'body_contains']: isKeyword
      ? wordsFrom([word], name, work)
      : undefined,
  };
}

function statusesOf(given: unknown): { readonly up?: string[]; readonly down?: string[] } {
  if (!isRecord(given)) return {};
  const list = (value: unknown): string[] =>
    (Array.isArray(value) ? value : String(value ?? '').split('-')).map(String).filter(Boolean);
  return { up: list(given.up), down: list(given.down) };
}
