import { describe, expect, test } from 'vitest';
import { isKind } from '../../../shared/api/config-keys.ts';
import { isRecord } from '../../../shared/base/json.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import { configFaults, targetFault } from '../../../shared/checks/config.ts';
import { readConfiguration } from '../../../shared/client/files/configuration.ts';
import { fileText } from '../../../shared/client/files/export.ts';
import { type Imported, reportOf } from '../../../shared/imports/result.ts';
import { convert, type Source, sources } from '../../../shared/imports/sources.ts';
import { importKuma, kumaTables } from '../../../shared/imports/uptime-kuma.ts';
import { today } from '../../support/imports.ts';
import fc from '../../support/random.ts';

/** Whatever other programs keep: no throw, and always a file that can be validated and planned. */

const word = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(
    'GET',
    'HEAD',
    'POST',
    'http',
    'keyword',
    'json-query',
    'port',
    'ping',
    'dns',
    'push',
    'smtp',
    'postgres',
    'group',
    'single',
    'recurring-weekday',
    'recurring-day-of-month',
    'recurring-interval',
    'status',
    'heartbeat',
    'tcp',
    'basic',
    'mtls',
    'bearer',
    'https://ana:secret@shop.example/a?token=x&b=1',
    'http://shop.example',
    'tcp://mail.example:25',
    'tls://[2001:db8::1]:443',
    'icmp://shop.example',
    'wss://shop.example/live',
    'shop.example',
    '192.0.2.1',
    'file:///etc/passwd',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what a text may hold.
    'a ${HOME} b $${HOME}',
    '{each}',
    '<<',
    '***',
    '\u0000HOME\u0000',
    '__proto__',
    'constructor',
    '[STATUS] == 200',
    '[STATUS] < 700',
    '[STATUS] != any(404, 410)',
    '[BODY] == any(a, pat(b*))',
    '[BODY] == SERVING',
    '[BODY].a[0] == 1',
    '[BODY] == pat(*ok*)',
    '[RESPONSE_TIME] < 500',
    '[CERTIFICATE_EXPIRATION] > 48h',
    '{"X-Token":"x","User-Agent":"y","a b":"c","Host":"\\n"}',
    '["200-299","301"]',
    '[1,3]',
    '[1,"lastDay1",31]',
    '{"type":"slack","slackwebhookURL":"https://hooks.example/x"}',
    '{"type":"smtp","smtpTo":"a@b.example, c"}',
    '02:00:00',
    '2026-12-01 02:00:00',
    'Europe/Berlin',
    '*/5 * * * *',
    '1h30m',
    '0',
    '-5',
    '1e999',
  ),
);
const scalar = fc.oneof(
  { weight: 6, arbitrary: word },
  fc.integer({ min: -10, max: 100_000 }),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
);
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: scalar },
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.oneof(word, fc.constantFrom('Cookie', 'X-Api-Key', 'Accept')), scalar, {
    maxKeys: 3,
  }),
);
const rowOf = (fields: readonly string[]): fc.Arbitrary<Record<string, unknown>> =>
  fc
    .array(fc.tuple(fc.constantFrom(...fields), anyValue), { maxLength: 14 })
    .map((entries) => Object.fromEntries(entries));
const rows = (fields: string, base: Record<string, fc.Arbitrary<unknown>> = {}) =>
  fc.array(
    fc
      .tuple(rowOf(fields.split(' ')), fc.record(base, { requiredKeys: [] }))
      .map(([row, more]) => ({ ...row, ...more })),
    { maxLength: 4 },
  );

const kumaType = fc.constantFrom(
  'http',
  'keyword',
  'json-query',
  'port',
  'ping',
  'dns',
  'push',
  'smtp',
  'redis',
  'websocket-upgrade',
  'group',
  'docker',
);
const address = fc.constantFrom('https://shop.example/', 'http://u:p@a.example/?key=1', 'x');
const small = fc.constantFrom(1, 2, 3);
const kumaMonitor = rows(
  'id name type active parent interval url hostname port method body headers basic_auth_user ' +
    'basic_auth_pass auth_method accepted_statuscodes_json keyword invert_keyword json_path ' +
    'json_path_operator expected_value maxredirects ignore_tls timeout dns_resolve_type ' +
    'dns_resolve_server conditions upside_down tls_cert tls_key bearer_token ip_family retry_interval ' +
    'expiry_notification database_connection_string ping_count smtp_security ws_subprotocol',
  {
    id: small,
    type: kumaType,
    url: address,
    name: word,
    hostname: fc.constantFrom('a.example', '::1', 'b c'),
    port: fc.constantFrom(80, '443', 0, 99_999),
    interval: fc.integer({ min: 0, max: 200_000 }),
    timeout: fc.double({ min: 0, max: 100 }),
  },
);
const link = (other: string) => rows('monitor_id', { monitor_id: small, [other]: small });

const kuma = fc.record({
  monitor: kumaMonitor,
  notification: rows('id name config active is_default', { id: small }),
  monitor_notification: link('notification_id'),
  maintenance: rows(
    'id title description strategy active start_date end_date start_time end_time weekdays ' +
      'days_of_month interval_day timezone',
    {
      id: small,
      strategy: fc.constantFrom('single', 'recurring-weekday', 'recurring-day-of-month', 'cron'),
      start_time: fc.constant('02:00:00'),
      end_time: fc.constant('01:00'),
      weekdays: fc.constant('[0,6]'),
      days_of_month: fc.constant('[31,"lastDay1"]'),
    },
  ),
  monitor_maintenance: link('maintenance_id'),
  status_page: rows('id slug title description published password theme icon', { id: small }),
  group: rows('id name weight status_page_id', { id: small, status_page_id: small }),
  monitor_group: link('group_id'),
  status_page_cname: rows('status_page_id domain', { status_page_id: small, domain: word }),
  tag: rows('id name', { id: small, name: word }),
  monitor_tag: link('tag_id'),
  incident: rows('title active'),
  proxy: rows('host'),
});

const gatus = fc.record({
  endpoints: rows(
    'name group url interval method headers body conditions dns client alerts enabled',
    {
      name: word,
      url: fc.oneof(
        address,
        word,
        fc.constantFrom('grpc://a.example:1', 'wss://a.example/s', 'tls://a.example:2'),
      ),
      conditions: fc.array(word, { maxLength: 5 }),
      alerts: fc.constant([{ type: 'slack', 'failure-threshold': 3 }, { type: 'email' }]),
      client: fc.constant({ insecure: true, timeout: '5s', oauth2: { 'client-id': 'x' } }),
    },
  ),
  'external-endpoints': rows('name group token heartbeat', { name: word }),
  alerting: rowOf(['slack', 'email', 'ntfy', 'custom', 'telegram']),
});

const robot = fc.record({
  monitors: rows(
    'friendly_name friendlyName url type sub_type port interval timeout status keyword_type ' +
      'keyword_value custom_http_headers http_username http_password http_method ' +
      'custom_http_statuses successHttpResponseCodes tags post_value responseTimeThreshold',
    {
      type: fc.constantFrom(1, 2, 3, 4, 5, 'HTTP', 'DNS', 'API'),
      url: fc.oneof(address, word),
      config: fc.record({
        dnsRecords: rowOf(['A', 'AAAA', 'MX', 'TXT', 'NS', 'SOA', 'CNAME', 'SPF']),
        ipVersion: fc.constantFrom('ipv4Only', 'ipv6Only', ''),
        apiAssertions: fc.record({
          logic: fc.constantFrom('AND', 'OR'),
          checks: rows('property comparison target', {
            property: fc.constantFrom('$.a', '$..b'),
            comparison: fc.constantFrom('equals', 'contains', 'greater_than', 'is_null'),
          }),
        }),
      }),
    },
  ),
});

const checks = fc.record({
  checks: rows('name slug tags desc grace timeout schedule tz status uuid channels filter_body', {
    timeout: fc.integer({ min: -1, max: 99_999_999 }),
    schedule: fc.constantFrom('*/5 * * * *', 'Mon..Fri 12:00', '*-*~1', ''),
  }),
});

const betterStack = fc.record({
  data: fc.array(
    fc.record({
      type: fc.constantFrom('monitor', 'heartbeat', 'monitor_group', 'policy'),
      id: word,
      attributes: rows(
        'url pronounceable_name name monitor_type check_frequency request_timeout http_method ' +
          'request_headers request_body auth_username auth_password expected_status_codes ' +
          'required_keyword port regions ssl_expiration paused period grace monitor_group_id',
        { monitor_type: fc.constantFrom('status', 'keyword', 'tcp', 'dns', 'ping', 'udp') },
      ).map(([first = {}]) => first),
    }),
    { maxLength: 4 },
  ),
});

const blackbox = fc.record({
  modules: fc.dictionary(
    fc.constantFrom('http_2xx', 'tcp', 'dns', 'grpc'),
    fc.record({
      prober: fc.constantFrom('http', 'tcp', 'icmp', 'dns', 'grpc', 'x'),
      timeout: word,
      http: rowOf([
        ...['method', 'headers', 'body', 'valid_status_codes', 'basic_auth', 'tls_config'],
        ...['ip_protocol_fallback', 'preferred_ip_protocol', 'bearer_token'],
      ]),
      dns: rowOf(['query_name', 'query_type', 'valid_rcodes', 'transport_protocol']),
      tcp: fc.record({
        query_response: rows('send expect', { send: word, expect: word }),
        ip_protocol_fallback: fc.boolean(),
      }),
      grpc: rowOf(['service', 'tls']),
    }),
  ),
  scrape_configs: fc.array(
    fc.record({
      job_name: word,
      scrape_interval: word,
      params: fc.record({ module: fc.constantFrom(['http_2xx'], ['tcp'], ['dns'], ['x'], []) }),
      static_configs: rows('targets labels', {
        targets: fc.array(fc.oneof(address, word), { maxLength: 3 }),
      }),
    }),
    { maxLength: 3 },
  ),
});

const documents: Readonly<Record<Source, fc.Arbitrary<unknown>>> = {
  'uptime-kuma': fc.record({
    monitorList: rows(
      'id name type active parent url acceptedStatuscodes notificationIDList tags',
      {
        id: small,
        type: kumaType,
        url: address,
      },
    ),
    notificationList: rows('id name config'),
  }),
  uptimerobot: robot,
  healthchecks: checks,
  'better-stack': betterStack,
  gatus,
  blackbox,
};

const asConfig = (config: unknown): Config => JSON.parse(JSON.stringify(config ?? {}));

/** What a file that was made must be: valid, and each monitor one that a plan takes. */
const expectWhole = (imported: Imported): void => {
  const text = fileText('moved', imported);
  const read = readConfiguration([{ file: 'antipode.yaml', text }], undefined);
  expect(read.faults).toEqual([]);
  expect(read.warnings).toEqual([]);
  const environment = Object.fromEntries(
    [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'value']),
  );
  const filled = readConfiguration([{ file: 'antipode.yaml', text }], {
    environment,
    readText: (path) => {
      throw new Error(`reads ${path}`);
    },
  });
  expect(filled.faults).toEqual([]);
  for (const { type, target, config, interval_s } of Object.values(filled.objects.monitors)) {
    const open = isRecord(config) ? { ...config } : {};
    // Its variable is a certificate, which no made-up value is.
    delete open.client_certificate;
    const kind = String(type);
    if (!isKind(kind)) continue;
    expect(targetFault(kind, String(target ?? ''))).toBeUndefined();
    expect(
      configFaults(kind, String(target ?? ''), asConfig(open), Number(interval_s)),
      JSON.stringify({ type, target, config }),
    ).toEqual([]);
  }
  expect(reportOf(imported)).not.toContain('undefined');
};

describe('anything at all', () => {
  test.each(sources)(
    'from %s makes a file that is valid, with configs that a plan takes',
    (source) => {
      fc.assert(
        fc.property(documents[source], (document) => {
          const imported = convert(source, [document], today);
          if (typeof imported !== 'string') expectWhole(imported);
        }),
        { numRuns: 300 },
      );
    },
  );

  test('from the tables of Kuma does, too', () => {
    fc.assert(
      fc.property(kuma, (tables) => expectWhole(importKuma(tables, today))),
      { numRuns: 500 },
    );
    expect(kumaTables).toContain('monitor');
  });

  test.each(sources)('that is no export of %s is refused in a sentence', (source) => {
    for (const document of [undefined, null, 7, 'text', [], {}, { data: 7 }, [[1]]]) {
      const imported = convert(source, [document], today);
      if (typeof imported === 'string') expect(imported).toMatch(/^T.*\.$/);
      else expectWhole(imported);
    }
  });
});
