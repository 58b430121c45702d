import { describe, expect, test } from 'vitest';
import { cronFrom } from '../../../shared/imports/calendar.ts';
import { downloadFrom, type Reach, SourceRefused } from '../../../shared/imports/download.ts';
import { readAnswer } from '../../../shared/imports/sources.ts';
import { importedFrom as from, omissionsOf, variable } from '../../support/imports.ts';

/** By hand after the documented forms of the peers: no file of theirs. */

test('Healthchecks: checks with their period or schedule', () => {
  const imported = from('healthchecks', {
    checks: [
      {
        name: 'Backup',
        slug: 'backup',
        tags: 'prod db',
        desc: 'on host 7',
        grace: 600,
        timeout: 3_600,
        status: 'up',
        uuid: 'a96a8bc5-1a74-4b37-9f0a-3d0d5f3b1a01',
        ping_url: 'https://hc-ping.com/a96a',
        channels: '1,2',
        manual_resume: false,
        methods: '',
        n_pings: 9,
      },
      {
        name: 'Report',
        slug: '',
        tags: '',
        desc: '',
        grace: 60,
        schedule: '30 2 * * *',
        tz: 'Europe/Riga',
        status: 'paused',
        filter_body: true,
      },
      { name: 'Odd', schedule: '*-*~1 12:00', tz: 'UTC', grace: 60, status: 'new' },
      { name: 'Work', schedule: 'Mon..Fri 12:00', tz: 'Asia/Tokyo', grace: 60, status: 'new' },
      { name: 'Lost', schedule: 'hourly', tz: 'Mars/Base', grace: 60, status: 'new' },
    ],
  });
  expect(imported.objects.monitors).toMatchObject({
    backup: {
      name: 'Backup',
      type: 'heartbeat',
      target: 'on host 7',
      interval_s: 3_600,
      tags: ['prod', 'db'],
      config: { grace_s: 600, ping_alias: 'a96a8bc5-1a74-4b37-9f0a-3d0d5f3b1a01' },
    },
    report: { enabled: false, config: { schedule: '30 2 * * *', timezone: 'Europe/Riga' } },
    odd: { type: 'heartbeat', enabled: false, config: { grace_s: 60 } },
    work: { config: { schedule: '0 12 * * 1-5', timezone: 'Asia/Tokyo' } },
    lost: { config: { schedule: '0 * * * *' } },
  });
  expect(imported.objects.monitors.work).not.toHaveProperty('enabled');
  expect(omissionsOf(imported, 'Odd').join()).toContain(
    'its schedule "*-*~1 12:00" is none that cron can say: it is paused',
  );
  expect(omissionsOf(imported, 'Lost').join()).toContain('its time zone Mars/Base is not known');
  expect(omissionsOf(imported, 'Backup')).toContain(
    'its description is its target here: a note, which decides nothing.',
  );
  expect(omissionsOf(imported, 'Report').join()).toContain('pings are not read for words');
  expect(omissionsOf(imported, 'Backup').join()).toContain('integrations of a check');
});

test.each([
  ['daily', '0 0 * * *', ''],
  ['weekly UTC', '0 0 * * 1', 'UTC'],
  ['quarterly', '0 0 1 1,4,7,10 *', ''],
  ['*:*', '* * * * *', ''],
  ['*-*-* *:0/15:00', '0-59/15 * * * *', ''],
  ['*:*/10', '*/10 * * * *', ''],
  ['Mon,Wed..Fri *-*-* 09:30', '30 9 * * 1,3-5', ''],
  ['Sat..Mon 9:00 Europe/Riga', '0 9 * * 6-7,1-1', 'Europe/Riga'],
  ['Sunday', '0 0 * * 7', ''],
  ['12-24..26', '0 0 24-26 12 *', ''],
])('the calendar event %s is cron’s %s', (event, schedule, zone) => {
  expect(cronFrom(event)).toEqual({ schedule, zone });
});

test.each([
  '',
  'sometimes',
  'constructor',
  '2027-*-* 00:00',
  '*-*~03 00:00',
  '*-*-* 00:00:30',
  '*:*:0/10',
  'Mon *-*-1..7 00:00',
  '25:00',
  'Mon Tue',
  '09:00 10:00',
])('the calendar event "%s" is more than cron says', (event) => {
  expect(cronFrom(event)).toBeUndefined();
});

test('UptimeRobot: both versions of its API', () => {
  const second = from('uptimerobot', {
    stat: 'ok',
    monitors: [
      {
        id: 1,
        friendly_name: 'Front',
        url: 'https://a.example/',
        type: 2,
        keyword_type: 1,
        keyword_case_type: 0,
        keyword_value: 'Error',
        interval: 300,
        timeout: 30,
        status: 2,
        http_username: 'u',
        http_password: 'p4ss',
        http_auth_type: 1,
        custom_http_headers: { Accept: '*/*' },
        custom_http_statuses: { up: ['200', '302'], down: ['500'] },
        alert_contacts: [{ id: 1 }],
      },
      {
        id: 2,
        friendly_name: 'Mail',
        url: 'mail.example',
        type: 4,
        sub_type: 99,
        port: 587,
        interval: 60,
        status: 0,
      },
      { id: 3, friendly_name: 'Job', url: '', type: 5, interval: 86_400, status: 1 },
    ],
  });
  expect(second.objects.monitors).toMatchObject({
    front: {
      interval_s: 300,
      config: {
        body_not_contains: ['Error'],
        expected_status: [200, 302],
        basic_auth: { username: 'u', password: variable('FRONT_PASSWORD') },
      },
    },
    mail: { type: 'tcp', target: 'mail.example:587', enabled: false },
    job: { type: 'heartbeat', interval_s: 86_400 },
  });
  expect(omissionsOf(second, 'Front')).toEqual([
    'statuses that mean down are left out; others are down.',
    'alert contacts are to be set up as channels.',
  ]);
  const third = from('uptimerobot', {
    data: [
      {
        id: 1,
        friendlyName: 'Front',
        url: 'https://a.example/',
        type: 'HTTP',
        interval: 60,
        timeout: 30,
        status: 'PAUSED',
        httpMethodType: 'HEAD',
        successHttpResponseCodes: ['2xx', '301'],
        followRedirections: false,
        checkSSLErrors: true,
        tags: [{ id: 1, name: 'EU' }],
        responseTimeThreshold: 0,
      },
      { id: 2, friendlyName: 'Zone', url: 'a.example', type: 'DNS', interval: 60 },
    ],
  });
  expect(third.objects.monitors.front).toMatchObject({
    enabled: false,
    tags: ['eu'],
    config: { method: 'HEAD', expected_status: ['2xx', 301], follow_redirects: false },
  });
  expect(third.objects.monitors.zone).toEqual({
    name: 'Zone',
    type: 'dns',
    target: 'a.example',
    interval_s: 60,
  });
});

test('UptimeRobot: records of DNS, and assertions of APIs', () => {
  const monitor = (friendlyName: string, type: string, config: object, more: object = {}) => ({
    ...{ friendlyName, type, config, url: 'a.example', interval: 60, sslBrand: 'X', ...more },
  });
  const api = { url: 'https://a.example/', authType: 'BEARER', httpPassword: 't0k3n' };
  const check = (property: string, comparison: string, target?: unknown) => ({
    ...{ property, comparison, target },
  });
  const imported = from('uptimerobot', {
    data: [
      monitor('Zone', 'DNS', {
        dnsRecords: { A: ['192.0.2.1', 'x'], MX: ['10 mail.example'], SPF: ['v=spf1'], NS: [] },
        sslExpirationPeriodDays: [3],
      }),
      monitor(
        'Either',
        'API',
        {
          apiAssertions: {
            logic: 'OR',
            checks: [check('$.a', 'equals', 1), check('$.b', 'is_null')],
          },
        },
        api,
      ),
      monitor(
        'All',
        'API',
        {
          ipVersion: 'ipv4Only',
          apiAssertions: {
            logic: 'AND',
            checks: [
              check('$.status', 'equals', 'ok'),
              check('$.count', 'greater_than', 0),
              check('$.error', 'is_null'),
            ],
          },
        },
        api,
      ),
      monitor('Echo', 'PING', { ipVersion: 'ipv6Only' }),
      monitor('Datagram', 'UDP', { udp: { payload: 'ping' } }),
    ],
  });
  expect(imported.objects.monitors).toMatchObject({
    zone: {
      type: 'dns',
      config: { expected_values: ['192.0.2.1'], match: 'all' },
    },
    'zone-2': { config: { record_type: 'MX', expected_values: ['10 mail.example'] } },
    all: {
      type: 'https',
      config: {
        ip_family: '4',
        bearer_token: variable('EITHER_BEARER_TOKEN'),
        json: [
          { path: '$.status', equals: 'ok' },
          { path: '$.count', gt: 0 },
        ],
      },
    },
    echo: { type: 'icmp', config: { ip_family: '6' } },
  });
  expect(imported.objects.monitors.either?.config).not.toHaveProperty('json');
  expect(omissionsOf(imported, 'Zone')).toEqual([
    'its records of type A are not all taken over; write them as dig does.',
    'its records of type SPF are not all taken over; write them as dig does.',
    'its config.sslExpirationPeriodDays has no counterpart.',
  ]);
  expect(omissionsOf(imported, 'Either')).toEqual([
    'the assertion $.a equals is left out: no assertion says it.',
    'the assertion $.b is_null is left out: no assertion says it.',
  ]);
  expect(omissionsOf(imported, 'All')).toEqual([
    'the assertion $.error is_null is left out: no assertion says it.',
  ]);
  expect(omissionsOf(imported, 'Datagram')).toEqual([
    'monitors of type udp have no counterpart as they are.',
  ]);
});

describe('UptimeRobot: the CSV of its dashboard', () => {
  const answer = (text: string) => readAnswer('uptimerobot', text);

  test('with the columns that there are', () => {
    const imported = from(
      'uptimerobot',
      answer(
        '\uFEFFID,Type,Status,Friendly Name,URL/IP,Keyword Type,Keyword Value,Port,Colour\r\n' +
          '1,HTTP(s),Up,"Shop, front",https://a.example/,,,,red\r\n' +
          '2,Keyword,Paused,Words,https://b.example/,exists,"say ""no""",,\r\n' +
          '3,Port,Up,Mail,mail.example,,,587,\r\n\r\n',
      ),
    );
    const usual = 'its interval is not in the file: it is checked every 5 minutes.';
    expect(imported.objects.monitors).toMatchObject({
      'shop-front': { name: 'Shop, front', type: 'https', interval_s: 300 },
      words: { enabled: false, config: { body_not_contains: ['say "no"'] } },
      mail: { type: 'tcp', target: 'mail.example:587' },
    });
    expect(omissionsOf(imported, 'Shop, front')).toEqual([
      usual,
      expect.stringContaining('colour'),
    ]);
    expect(omissionsOf(imported, 'Words')).toEqual([usual]);
    const other = answer(
      'URL,Friendly Name,Type,Interval\nhttps://a.example/,A,1,5\n1.1.1.1,B,Ping,60',
    );
    expect(from('uptimerobot', other).objects.monitors).toMatchObject({
      a: { type: 'https', interval_s: 300 },
      b: { type: 'icmp', interval_s: 60 },
    });
  });

  test.each(['', 'hello', 'a,b\n1,2', 'Type,URL\n"1,2'])('is not %j', (text) =>
    expect(answer(text)).toBeUndefined(),
  );
});

test('Better Stack: monitors, heartbeats and their groups', () => {
  const imported = from('better-stack', {
    data: [
      { id: '7', type: 'monitor_group', attributes: { name: 'Web' } },
      {
        id: '1',
        type: 'monitor',
        attributes: {
          url: 'https://a.example/',
          pronounceable_name: 'Front',
          monitor_type: 'expected_status_code',
          expected_status_codes: [200, 401],
          check_frequency: 30,
          request_timeout: 15,
          http_method: 'post',
          request_body: 'x=1',
          request_headers: [{ id: '1', name: 'X-Token', value: 't0k' }],
          verify_ssl: true,
          follow_redirects: true,
          regions: ['us', 'eu'],
          paused: false,
          monitor_group_id: 7,
          call: true,
          confirmation_period: 3,
          ssl_expiration: 14,
          domain_expiration: 30,
          maintenance_from: '01:00:00',
          ip_version: null,
        },
      },
      {
        id: '2',
        type: 'monitor',
        attributes: {
          url: 'mail.example',
          pronounceable_name: 'Mail',
          monitor_type: 'smtp',
          port: '587',
          check_frequency: 60,
          request_timeout: 5_000,
          paused: true,
        },
      },
      {
        id: '3',
        type: 'monitor',
        attributes: { url: 'a.example', pronounceable_name: 'Udp', monitor_type: 'udp' },
      },
      {
        id: '4',
        type: 'heartbeat',
        attributes: {
          name: 'Job',
          period: 3_600,
          grace: 300,
          url: 'https://uptime.betterstack.com/api/v1/heartbeat/x',
        },
      },
    ],
  });
  expect(imported.objects.monitors).toMatchObject({
    front: {
      group: 'web',
      interval_s: 30,
      config: {
        timeout_ms: 15_000,
        method: 'POST',
        headers: { 'X-Token': variable('FRONT_X_TOKEN') },
        expected_status: [200, 401],
        continents: ['North America', 'Europe'],
        tls_expires_within_days: 14,
      },
    },
    mail: {
      target: 'mail.example:587',
      enabled: false,
      config: { banner: 'smtp', timeout_ms: 5_000 },
    },
    job: { interval_s: 3_600, config: { grace_s: 300 } },
  });
  expect(omissionsOf(imported, 'Front').toSorted()).toEqual([
    'a monitor of type domain watches the end of a registration.',
    'its maintenance has no counterpart as it is; schedule a window.',
    'its times of confirmation are left out: another continent confirms instead.',
    'whom to call and when is set on channels.',
  ]);
  expect(omissionsOf(imported, 'Udp').join()).toContain('type udp');
});

test('Better Stack: every port, region and value of an answer', () => {
  const monitor = (id: string, attributes: object) => ({
    id,
    type: 'monitor',
    attributes: { pronounceable_name: id, check_frequency: 60, ...attributes },
  });
  const resolved = { monitor_type: 'dns', url: '1.1.1.1', request_body: 'a.example' };
  const imported = from('better-stack', {
    data: [
      monitor('mail', { monitor_type: 'smtp', url: 'a.example', port: '25,465, 587' }),
      monitor('box', { monitor_type: 'imap', url: 'a.example', port: '143,none' }),
      monitor('far', { monitor_type: 'status', url: 'https://a.example', regions: ['us', 'mars'] }),
      monitor('four', { ...resolved, required_keyword: '192.0.2.1' }),
      monitor('six', { ...resolved, required_keyword: '2001:db8::1' }),
      monitor('words', { ...resolved, required_keyword: 'cdn.example' }),
    ],
  });
  expect(imported.objects.monitors).toMatchObject({
    'mail-25': { name: 'mail 25', target: 'a.example:25', config: { banner: 'smtp' } },
    'mail-465': { target: 'a.example:465', config: { banner: 'smtp', tls: 'implicit' } },
    'mail-587': { target: 'a.example:587' },
    'box-143': { target: 'a.example:143' },
    far: { config: { continents: ['North America'] } },
    four: { type: 'dns', config: { resolver: '1.1.1.1', expected_values: ['192.0.2.1'] } },
    six: { config: { record_type: 'AAAA', expected_values: ['2001:db8::1'] } },
    words: { type: 'dns', config: { resolver: '1.1.1.1' } },
  });
  expect(Object.keys(imported.objects.monitors)).toHaveLength(8);
  expect(omissionsOf(imported, 'mail')).toEqual([]);
  expect(omissionsOf(imported, 'box')).toEqual(['it has no port that can be checked.']);
  expect(omissionsOf(imported, 'far')).toEqual(['its region mars has no counterpart.']);
  expect(omissionsOf(imported, 'words').join()).toContain('its keyword cdn.example is left out');
});

describe('a download', () => {
  type Answer = { status?: number; retryAfter?: string; body: unknown };
  const serve = (answers: readonly Answer[]) => {
    const asked: Parameters<Reach>[0][] = [];
    const waited: number[] = [];
    const left = [...answers];
    return {
      asked,
      waited,
      reach: async (request: Parameters<Reach>[0]) => {
        asked.push(request);
        const { status = 200, retryAfter = null, body } = left.shift() ?? { body: {} };
        return { status, retryAfter, text: JSON.stringify(body) };
      },
      wait: async (seconds: number) => void waited.push(seconds),
    };
  };

  test('follows pages on the same host alone, and waits as it is told', async () => {
    const world = serve([
      { body: { data: [{ id: '1' }] } },
      { body: { data: [] } },
      { status: 429, retryAfter: '7', body: {} },
      {
        body: {
          data: [{ id: '2' }],
          pagination: { next: 'https://bs.example/api/v2/monitors?page=2' },
        },
      },
      { body: { data: [{ id: '3' }], pagination: { next: 'https://evil.example/take' } } },
      { body: { data: [] } },
    ]);
    const found = await downloadFrom(
      'better-stack',
      { key: 'k', host: 'https://bs.example/' },
      world,
    );
    expect(found).toEqual({ data: [{ id: '1' }, { id: '2' }, { id: '3' }] });
    expect(world.waited).toEqual([7]);
    expect(world.asked.map(({ url }) => new URL(url).host)).toEqual(
      Array.from({ length: 6 }, () => 'bs.example'),
    );
    expect(world.asked[0]?.headers.authorization).toBe('Bearer k');
  });

  test('of a list without an end is refused', async () => {
    const page = { data: Array.from({ length: 5_000 }, (_, id) => ({ id })) };
    const pagination = { next: 'https://uptime.betterstack.com/api/v2/monitors?page=2' };
    const world = serve(Array.from({ length: 9 }, () => ({ body: { ...page, pagination } })));
    await expect(downloadFrom('better-stack', { key: 'k' }, world)).rejects.toThrow(
      'Better Stack lists more than a file can have.',
    );
    expect(world.asked).toHaveLength(5);
  });

  test('of UptimeRobot goes on until it has all, with its key in the body', async () => {
    const world = serve([
      { body: { stat: 'ok', pagination: { total: 3 }, monitors: [{ id: 1 }, { id: 2 }] } },
      { body: { stat: 'ok', pagination: { total: 3 }, monitors: [{ id: 3 }] } },
    ]);
    expect(await downloadFrom('uptimerobot', { key: 'ur-1' }, world)).toEqual({
      monitors: [{ id: 1 }, { id: 2 }, { id: 3 }],
    });
    expect(world.asked[1]?.body).toContain('offset=2');
    expect(world.asked[1]?.url).not.toContain('ur-1');
  });

  test.each<[string, Answer, Parameters<typeof downloadFrom>[0], string]>([
    [
      'a wrong key',
      { status: 401, body: {} },
      'healthchecks',
      'Healthchecks does not accept this key',
    ],
    [
      'a wrong key of UptimeRobot',
      { body: { stat: 'fail', error: { type: 'invalid_parameter', parameter_name: 'api_key' } } },
      'uptimerobot',
      'UptimeRobot does not accept this key',
    ],
    [
      'a page that is none',
      { status: 502, body: 'no' },
      'better-stack',
      'Better Stack answers 502',
    ],
    [
      'no more calls',
      { status: 429, retryAfter: '9999', body: {} },
      'healthchecks',
      'allows no more calls',
    ],
  ])('of %s ends in a sentence', async (_, answer, service, sentence) => {
    const failed = downloadFrom(service, { key: 'k' }, serve([answer]));
    await expect(failed).rejects.toThrow(SourceRefused);
    await expect(failed).rejects.toThrow(sentence);
  });
});
