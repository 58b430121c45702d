import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { importedFrom as from, omissionsOf, variable } from '../../support/imports.ts';

/** By hand after the documented forms of the peers: no file of theirs. */

test('Gatus: endpoints with their conditions, and where alerts go', () => {
  const imported = from(
    'gatus',
    parse(`
alerting:
  slack: { webhook-url: "\${SLACK_URL}", default-alert: { failure-threshold: 5 } }
  email: { from: a@x.example, host: mail, to: "ops@x.example,b@x.example" }
  custom: { url: https://x.example }
maintenance: { start: "23:00", duration: 1h }
endpoints:
  - name: front
    group: core
    url: https://shop.example/health
    interval: 1m30s
    headers: { Authorization: "Bearer \${TOKEN}", X-Key: plain }
    client: { timeout: 3s, insecure: true, ignore-redirect: true, oauth2: { client-id: x } }
    conditions:
      - "[STATUS] == any(200, 204)"
      - "[BODY].status == UP"
      - "[BODY] == pat(*welcome*)"
      - "[BODY] == pat(<html>*v?.1*)"
      - "[BODY] != pat(*[0-9])"
      - "has([BODY].errors) == false"
      - "len([BODY].items) > 2"
      - "[RESPONSE_TIME] < 800"
      - "[CERTIFICATE_EXPIRATION] > 240h"
    alerts: [{ type: slack, failure-threshold: 3 }]
  - { name: open, url: "http://a.example/", enabled: false, conditions: ["[CONNECTED] == true"] }
  - { name: below, url: "http://a.example/b", conditions: ["[STATUS] < 300", "[STATUS] >= 200"] }
  - { name: port, url: "tcp://mail.example:25", conditions: ["[CONNECTED] == true"] }
  - { name: ns, url: "8.8.8.8", dns: { query-name: shop.example, query-type: A }, conditions: ["[BODY] == 192.0.2.1", "[DNS_RCODE] == NOERROR"] }
  - { name: sctp, url: "sctp://a.example:1", conditions: ["[CONNECTED] == true"] }
external-endpoints:
  - { name: job, group: core, token: t0k3n, heartbeat: { interval: 30m } }
`),
  );
  const { monitors, channels, groups } = imported.objects;
  expect(groups).toEqual({ core: {} });
  expect(monitors.front).toEqual({
    type: 'https',
    target: 'https://shop.example/health',
    interval_s: 90,
    group: 'core',
    config: {
      timeout_ms: 3_000,
      headers: { Authorization: `Bearer ${variable('TOKEN')}`, 'X-Key': variable('FRONT_X_KEY') },
      verify_tls: false,
      follow_redirects: false,
      max_response_ms: 800,
      tls_expires_within_days: 10,
      fail_on: ['slow', 'certificate'],
      expected_status: [200, 204],
      body_contains: ['welcome'],
      body_matches: ['(?s)^<html>.*v.\\.1.*$'],
      json: [
        { path: '$.status', equals: 'UP' },
        { path: '$.errors', exists: false },
      ],
    },
  });
  expect(monitors.open).toMatchObject({ enabled: false, config: { expected_status: ['100-599'] } });
  expect(monitors.below).not.toHaveProperty('config');
  expect(monitors.port).toEqual({ type: 'tcp', target: 'mail.example:25', interval_s: 60 });
  expect(monitors.ns).toMatchObject({
    target: 'shop.example',
    config: { resolver: '8.8.8.8', expected_values: ['192.0.2.1'], expected_rcode: 'NOERROR' },
  });
  expect(monitors.job).toEqual({ type: 'heartbeat', interval_s: 1_800, group: 'core' });
  expect(channels.slack).toEqual({
    kind: 'slack',
    config: { url: variable('SLACK_URL') },
    covers: 'chosen',
    monitors: ['front'],
  });
  expect(Object.keys(channels)).toEqual(['slack', 'email', 'email-2']);
  expect(omissionsOf(imported, 'front')).toEqual([
    'the condition [BODY] != pat(*[0-9]) is left out: no assertion says it.',
    'the condition len([BODY].items) > 2 is left out: no assertion says it.',
    'thresholds of its alerts are left out: another continent confirms an outage instead.',
    'signing in by OAuth has no counterpart; set up what its target takes.',
  ]);
  expect(omissionsOf(imported, 'sctp')).toEqual(['checks of sctp have no counterpart.']);
  expect(omissionsOf(imported, 'Gatus')).toEqual([
    'its maintenance has no counterpart as it is; schedule a window.',
  ]);
  expect(omissionsOf(imported, 'alerting').join()).toContain('its custom has no counterpart');
});

test('Gatus: every condition narrows what those before it left', () => {
  const judged = (...conditions: string[]) => {
    const endpoint = { name: 'a', url: 'https://a.example/', conditions };
    const imported = from('gatus', { endpoints: [endpoint] });
    return { config: imported.objects.monitors.a?.config, told: omissionsOf(imported, 'a') };
  };
  expect(judged('[STATUS] == 200', '[STATUS] == any(200, 429)')).toEqual({
    config: { expected_status: [200] },
    told: [],
  });
  expect(judged('[STATUS] == any(200, 302, 500)', '[STATUS] < 400')).toEqual({
    config: { expected_status: [200, 302] },
    told: [],
  });
  expect(judged('[STATUS] >= 200', '[STATUS] < 500', '[STATUS] != any(404, 410)')).toEqual({
    config: { expected_status: ['200-403', '405-409', '411-499'] },
    told: [],
  });
  expect(judged('[STATUS] == 200', '[STATUS] == 201')).toEqual({
    config: undefined,
    told: ['no status meets all its conditions; one of 200 to 299 is expected.'],
  });
  expect(judged('[STATUS] == any(200, ok)').told).toEqual([
    'the condition [STATUS] == any(200, ok) is left out: no assertion says it.',
  ]);
  const limits = ['[RESPONSE_TIME] < 300', '[RESPONSE_TIME] < 800'];
  const days = ['[CERTIFICATE_EXPIRATION] > 240h', '[CERTIFICATE_EXPIRATION] > 48h'];
  expect(judged(...limits, ...days).config).toMatchObject({
    max_response_ms: 300,
    tls_expires_within_days: 10,
  });
  expect(judged('[BODY] == a.b', '[BODY] == any(up, pat(o?k*))', '[BODY] != len(x)')).toMatchObject(
    {
      config: { body_matches: ['(?s)^a\\.b$', '(?s)^(?:up|o.k.*)$'] },
      told: ['the condition [BODY] != len(x) is left out: no assertion says it.'],
    },
  );
  const asked = (...conditions: string[]) => {
    const dns = { 'query-name': 'a.example', 'query-type': 'A' };
    const imported = from('gatus', { endpoints: [{ name: 'a', url: '8.8.8.8', dns, conditions }] });
    return { config: imported.objects.monitors.a?.config, told: omissionsOf(imported, 'a') };
  };
  expect(asked('[BODY] == any(192.0.2.1, 192.0.2.2)', '[BODY] == 192.0.2.2')).toMatchObject({
    config: { expected_values: ['192.0.2.2'] },
    told: [],
  });
  expect(asked('[BODY] == 192.0.2.1', '[BODY] == 192.0.2.2').told).toEqual([
    'no value meets all its conditions.',
  ]);
});

test('Gatus: health of gRPC, and what connections send and expect', () => {
  const imported = from('gatus', {
    endpoints: [
      {
        name: 'g',
        url: 'grpcs://a.example:443',
        client: { insecure: true },
        conditions: ['[CONNECTED] == true', '[BODY] == SERVING', '[RESPONSE_TIME] < 500'],
      },
      { name: 'h', url: 'grpc://a.example:50051', conditions: ['[BODY] == NOT_SERVING'] },
      {
        name: 'w',
        url: 'wss://a.example/s',
        body: 'ping \\o/',
        conditions: ['[BODY] == pat(*pong*)', '[BODY] == pat(*too*)', '[RESPONSE_TIME] < 500'],
      },
      { name: 'e', url: 'ws://a.example/s', body: 'a', conditions: ['[BODY] == b'] },
      { name: 't', url: 'tcp://a.example:6379', body: 'PING', conditions: ['[BODY] == +PONG'] },
      { name: 's', url: 'tls://a.example:6380', body: 'PING', conditions: [] },
    ],
  });
  expect(imported.objects.monitors).toMatchObject({
    g: {
      type: 'grpc',
      target: 'grpcs://a.example:443',
      config: { verify_tls: false, max_response_ms: 500, fail_on: ['slow'] },
    },
    h: { type: 'grpc', target: 'grpc://a.example:50051' },
    w: {
      type: 'websocket',
      config: { send: 'ping \\\\o/', expect: 'pong', max_response_ms: 500 },
    },
    e: { config: { send: 'a', expect: 'b' } },
    t: { type: 'tcp', config: { send: 'PING', expect: '+PONG' } },
    s: { type: 'tcp', config: { send: 'PING', tls: 'implicit' } },
  });
  expect(omissionsOf(imported, 'g')).toEqual([]);
  expect(omissionsOf(imported, 'h')).toEqual([
    'the condition [BODY] == NOT_SERVING is left out: no assertion says it.',
  ]);
  expect(omissionsOf(imported, 'w')).toEqual([
    'the condition [BODY] == pat(*too*) is left out: no assertion says it.',
  ]);
  expect(omissionsOf(imported, 'e')).toEqual([
    'the condition [BODY] == b is met by a message with more around it.',
  ]);
});

test('blackbox: targets of scrape configs, as their modules say', () => {
  const modules = {
    modules: {
      login: {
        prober: 'http',
        timeout: '5s',
        http: {
          method: 'POST',
          body: 'a=1',
          valid_status_codes: [200, 302],
          no_follow_redirects: true,
          fail_if_body_matches_regexp: ['x'],
          tls_config: { insecure_skip_verify: true },
          basic_auth: { username: 'u', password: 'p4ss' },
        },
      },
      ssh_banner: { prober: 'tcp', tcp: { query_response: [{ expect: '^SSH-2.0-' }] } },
      dns_mx: {
        prober: 'dns',
        dns: { query_name: 'shop.example', query_type: 'MX', transport_protocol: 'tcp' },
      },
    },
  };
  const config = {
    global: { scrape_interval: '30s' },
    scrape_configs: [
      {
        job_name: 'web',
        params: { module: ['login'] },
        static_configs: [
          { targets: ['https://shop.example/in'], labels: { team: 'Shop', __x: 'y' } },
        ],
        metrics_path: '/probe',
        relabel_configs: [{}],
      },
      {
        job_name: 'ssh',
        scrape_interval: '5m',
        params: { module: ['ssh_banner'] },
        static_configs: [{ targets: ['host.example:22'] }],
      },
      {
        job_name: 'dns',
        params: { module: ['dns_mx'] },
        static_configs: [{ targets: ['9.9.9.9'] }],
      },
      {
        job_name: 'odd',
        params: { module: ['own'] },
        static_configs: [{ targets: ['a.example'] }],
      },
      { job_name: 'node', static_configs: [{ targets: ['localhost:9100'] }] },
    ],
  };
  const imported = from('blackbox', config, modules);
  expect(Object.values(imported.objects.monitors)).toEqual([
    {
      name: 'https://shop.example/in',
      type: 'https',
      target: 'https://shop.example/in',
      interval_s: 30,
      tags: ['shop'],
      config: {
        timeout_ms: 5_000,
        method: 'POST',
        body: 'a=1',
        expected_status: [200, 302],
        basic_auth: { username: 'u', password: variable('HTTPS_SHOP_EXAMPLE_IN_PASSWORD') },
        body_not_matches: ['x'],
        verify_tls: false,
        follow_redirects: false,
      },
    },
    {
      name: 'host.example:22',
      type: 'tcp',
      target: 'host.example:22',
      interval_s: 300,
      config: { banner: 'ssh' },
    },
    {
      type: 'dns',
      target: 'shop.example',
      interval_s: 30,
      config: { record_type: 'MX', resolver: '9.9.9.9', transport: 'tcp' },
    },
  ]);
  expect(omissionsOf(imported, 'https://shop.example/in')).toEqual([]);
  expect(omissionsOf(imported, 'a.example')).toEqual([
    'the module own is not known: add blackbox.yml.',
  ]);
  expect(omissionsOf(imported, 'node').join()).toContain('no job of blackbox_exporter');
  const listed = from('blackbox', [{ targets: ['shop.example'], labels: {} }]);
  expect(Object.values(listed.objects.monitors)).toMatchObject([{ target: 'http://shop.example' }]);
});

test('blackbox: addresses, tokens and talks of each module', () => {
  const probed = (prober: string, settings: object, target = 'https://a.example/') => {
    const imported = from(
      'blackbox',
      { scrape_configs: [{ params: { module: ['m'] }, static_configs: [{ targets: [target] }] }] },
      { modules: { m: { prober, [prober]: settings } } },
    );
    const [monitor] = Object.values(imported.objects.monitors);
    return { config: monitor?.config, told: omissionsOf(imported, target) };
  };
  const alone = { ip_protocol_fallback: false };
  const fallsBack =
    'its preferred_ip_protocol is left out, because it falls back to the other; `ip_family` asks for one alone.';
  expect(probed('http', { preferred_ip_protocol: 'ip4', ...alone })).toEqual({
    config: { ip_family: '4' },
    told: [],
  });
  expect(probed('icmp', alone, 'a.example')).toEqual({ config: { ip_family: '6' }, told: [] });
  expect(probed('http', { preferred_ip_protocol: 'ip4' })).toEqual({
    config: undefined,
    told: [fallsBack],
  });
  const dns = { query_name: 'a.example', preferred_ip_protocol: 'ip4', query_type: 'ANY' };
  expect(probed('dns', { ...dns, valid_rcodes: ['NOERROR', 'NXDOMAIN'] }, '9.9.9.9')).toEqual({
    config: { resolver: '9.9.9.9', expected_rcode: 'NOERROR' },
    told: [
      'of its valid_rcodes NOERROR alone is expected.',
      'its query_type ANY has no counterpart; A is asked for.',
      'its preferred_ip_protocol has no counterpart: a name server is asked by its address.',
    ],
  });
  expect(probed('http', { valid_http_versions: ['HTTP/2.0'] }).told).toEqual([
    'its valid_http_versions has no counterpart.',
  ]);
  const token = { authorization: { credentials: 't0k3n' } };
  expect(probed('http', token)).toEqual({
    config: { bearer_token: variable('HTTPS_A_EXAMPLE_BEARER_TOKEN') },
    told: [],
  });
  expect(probed('http', { authorization: { type: 'Token', credentials: 'x' } }).told).toEqual([
    'signing in by Token has no counterpart; set an Authorization header.',
  ]);
  const talk = (query_response: readonly object[], port = 6_379) =>
    probed('tcp', { query_response }, `a.example:${port}`);
  expect(talk([{ send: 'PING' }, { expect: 'PONG' }])).toEqual({
    config: { send: 'PING\n', expect: 'PONG' },
    told: [],
  });
  expect(talk([{ expect: '^ready' }])).toEqual({
    config: { expect: 'ready' },
    told: ['what it expects, ^ready, is met anywhere in what comes.'],
  });
  for (const talked of [talk([{ send: 'a', expect: 'b.*' }]), talk([{ send: 'a' }, { send: 'b' }])])
    expect(talked).toEqual({
      config: undefined,
      told: ['what it sends and expects is left out: `send` and `expect` say one text each.'],
    });
  expect(talk([{ send: 'a' }], 25)).toEqual({
    config: undefined,
    told: ['what it sends is left out: nothing is sent to a port of mail.'],
  });
});

test('blackbox: what a body and headers must match, and what they must not', () => {
  const http = {
    fail_if_body_not_matches_regexp: ['(?i)welcome', '\\p{L}+'],
    fail_if_body_matches_regexp: ['error \\d+', 'fatal|panic'],
    fail_if_header_not_matches: [
      { header: 'Content-Type', regexp: '^text/html' },
      { header: 'Content-Type', regexp: 'utf-8$' },
      { header: 'Vary', regexp: '.', allow_missing: true },
    ],
    fail_if_header_matches: [
      { header: 'Server', regexp: 'Apache/2\\.2' },
      { header: 'Via', regexp: '.', allow_missing: true },
    ],
  };
  const imported = from(
    'blackbox',
    {
      scrape_configs: [
        {
          job_name: 'web',
          params: { module: ['own'] },
          static_configs: [{ targets: ['https://shop.example/'] }],
        },
      ],
    },
    { modules: { own: { prober: 'http', http } } },
  );
  expect(Object.values(imported.objects.monitors)).toMatchObject([
    {
      config: {
        body_matches: ['(?i)welcome'],
        body_not_matches: ['error \\d+', 'fatal|panic'],
        header_matches: { 'Content-Type': '^text/html', Server: '^' },
        header_not_matches: { Server: 'Apache/2\\.2', Via: '.' },
      },
    },
  ]);
  expect(omissionsOf(imported, 'https://shop.example/')).toEqual([
    expect.stringMatching(/^the pattern \\p\{L\}\+ is left out: write it without `\\p`/),
    expect.stringMatching(/^the pattern utf-8\$ of the header Content-Type is left out/),
    expect.stringMatching(/^the pattern \. of the header Vary is left out/),
  ]);
});
