import { describe, expect, test } from 'vitest';
import { reportOf } from '../../../shared/imports/result.ts';
import { importKuma } from '../../../shared/imports/uptime-kuma.ts';
import { importedFrom as from, omissionsOf, today, variable } from '../../support/imports.ts';

/** By hand after the documented forms of the peers: no file of theirs. */

describe('Uptime Kuma', () => {
  const tables = {
    monitor: [
      { id: 1, name: 'Shop', type: 'group', active: 1, description: 'All of it' },
      { id: 2, name: 'Pages', type: 'group', active: 0, parent: 1 },
      {
        id: 3,
        name: 'Checkout',
        type: 'keyword',
        active: 1,
        parent: 1,
        interval: 60,
        retry_interval: 60,
        maxretries: 2,
        timeout: 48,
        url: 'https://shop.example/checkout?token=s3cret',
        method: 'POST',
        body: '{"ping":1}',
        http_body_encoding: 'json',
        headers: '{"Accept":"text/html","X-Api-Key":"k-123","User-Agent":"me"}',
        auth_method: 'basic',
        basic_auth_user: 'ana',
        basic_auth_pass: 'hunter2',
        accepted_statuscodes_json: '["200-299","301"]',
        keyword: 'Welcome',
        maxredirects: 0,
        ignore_tls: 1,
        dns_resolve_type: 'A',
        dns_resolve_server: '1.1.1.1',
        expiry_notification: 1,
        resend_interval: 3,
        push_token: null,
        user_id: 1,
        weight: 2000,
        upside_down: 0,
        packet_size: 56,
      },
      {
        id: 4,
        name: 'State',
        type: 'json-query',
        active: 1,
        parent: 2,
        interval: 5,
        url: 'https://shop.example/state',
        json_path: 'data.items[0].state',
        json_path_operator: '==',
        expected_value: 'ok',
      },
      { id: 5, name: 'Backup', type: 'push', active: 1, interval: 3600, push_token: 'abcdef' },
      {
        id: 6,
        name: 'Db',
        type: 'postgres',
        active: 1,
        interval: 60,
        database_connection_string: 'postgres://u:p@db.example:5433/shop',
        database_query: 'select 1',
      },
      {
        id: 7,
        name: 'Mail',
        type: 'port',
        active: 1,
        interval: 60,
        hostname: '2001:db8::25',
        port: 25,
      },
      { id: 8, name: 'Box', type: 'docker', active: 1, interval: 60, docker_container: 'web' },
      {
        id: 9,
        name: 'Inverse',
        type: 'http',
        active: 1,
        interval: 60,
        url: 'https://a.example/',
        upside_down: 1,
      },
      {
        id: 10,
        name: 'Name',
        type: 'dns',
        active: 1,
        interval: 60,
        hostname: 'shop.example',
        port: 5353,
        dns_resolve_type: 'MX',
        dns_resolve_server: '9.9.9.9, 1.1.1.1',
        conditions:
          '[{"type":"expression","variable":"record","operator":"equals","value":"mail.shop.example"}]',
      },
      {
        id: 11,
        name: 'Paused',
        type: 'ping',
        active: 0,
        interval: 60,
        hostname: 'shop.example',
        description: 'Ring the **floor**',
      },
    ],
    tag: [{ id: 1, name: 'Team', color: '#fff' }],
    monitor_tag: [{ id: 1, tag_id: 1, monitor_id: 3, value: 'Shop Floor' }],
    notification: [
      {
        id: 1,
        name: 'Chat',
        active: 1,
        is_default: 1,
        config:
          '{"type":"slack","slackwebhookURL":"https://hooks.slack.com/services/T/B/x","slackchannel":"#ops"}',
      },
      {
        id: 2,
        name: 'Mail',
        active: 1,
        config: '{"type":"smtp","smtpTo":"a@x.example, b@x.example","smtpHost":"mail"}',
      },
      { id: 3, name: 'Signal', active: 1, config: '{"type":"signal"}' },
    ],
    monitor_notification: [
      { id: 1, monitor_id: 3, notification_id: 1 },
      { id: 2, monitor_id: 1, notification_id: 1 },
    ],
    maintenance: [
      {
        id: 1,
        title: 'Night',
        strategy: 'recurring-weekday',
        active: 1,
        weekdays: '[1,3]',
        start_time: '23:30:00',
        end_time: '01:00:00',
        start_date: '2025-01-01 00:00:00',
        timezone: 'Europe/Berlin',
        duration: 5400,
        cron: '30 23 * * 1,3',
      },
      {
        id: 2,
        title: 'Move',
        strategy: 'single',
        active: 1,
        start_date: '2026-12-01 02:00:00',
        end_date: '2026-12-01 03:00:00',
        timezone: 'SAME_AS_SERVER',
      },
      { id: 3, title: 'By cron', strategy: 'cron', active: 1, cron: '0 3 * * *', duration: 3600 },
      {
        id: 4,
        title: 'Past',
        strategy: 'single',
        active: 1,
        start_date: '2024-12-01 02:00:00',
        end_date: '2024-12-01 03:00:00',
      },
    ],
    monitor_maintenance: [1, 2, 3, 4].map((id) => ({ id, monitor_id: 3, maintenance_id: id })),
    status_page: [
      {
        id: 1,
        slug: 'shop',
        title: 'Shop status',
        description: 'How we do',
        icon: '/icon.svg',
        theme: 'light',
        published: 1,
        search_engine_index: 1,
        footer_text: 'Bye',
        password: null,
      },
    ],
    group: [{ id: 1, name: 'Services', weight: 1, status_page_id: 1, public: 1, active: 1 }],
    monitor_group: [
      { id: 1, monitor_id: 10, group_id: 1, weight: 2 },
      { id: 2, monitor_id: 3, group_id: 1, weight: 1 },
      { id: 3, monitor_id: 8, group_id: 1, weight: 3 },
    ],
    status_page_cname: [{ id: 1, status_page_id: 1, domain: 'status.shop.example' }],
    incident: [{ id: 1, title: 'We moved', active: 1 }],
  };
  const imported = importKuma(tables, today);

  test('becomes groups, monitors, channels, maintenance and status pages', () => {
    const { groups, monitors, channels, maintenance, status_pages } = imported.objects;
    expect(Object.keys(groups)).toEqual(['shop', 'shop-/-pages']);
    expect(monitors.checkout).toEqual({
      name: 'Checkout',
      type: 'https',
      target: `https://shop.example/checkout?token=${variable('CHECKOUT_TOKEN')}`,
      interval_s: 60,
      group: 'shop',
      tags: ['team:shop-floor'],
      config: {
        timeout_ms: 48_000,
        method: 'POST',
        body: '{"ping":1}',
        headers: {
          Accept: 'text/html',
          'X-Api-Key': variable('CHECKOUT_X_API_KEY'),
          'Content-Type': 'application/json',
        },
        expected_status: ['2xx', 301],
        follow_redirects: false,
        verify_tls: false,
        body_contains: ['Welcome'],
        basic_auth: { username: 'ana', password: variable('CHECKOUT_PASSWORD') },
      },
    });
    expect(monitors.state).toMatchObject({
      interval_s: 10,
      enabled: false,
      group: 'shop-/-pages',
      config: { json: [{ path: '$.data.items[0].state', equals: 'ok' }] },
    });
    expect(monitors.backup).toMatchObject({ type: 'heartbeat', interval_s: 3_600 });
    expect(monitors.db).toMatchObject({
      type: 'tcp',
      target: 'db.example:5433',
      config: { banner: 'postgres' },
    });
    expect(monitors.mail).toMatchObject({ target: '[2001:db8::25]:25' });
    expect(monitors.name).toMatchObject({
      type: 'dns',
      config: {
        record_type: 'MX',
        resolver: '9.9.9.9:5353',
        expected_values: ['mail.shop.example'],
      },
    });
    expect(monitors.paused).toMatchObject({
      type: 'icmp',
      enabled: false,
      runbook: 'Ring the **floor**',
    });
    expect(Object.keys(monitors)).not.toContain('box');
    expect(channels).toEqual({
      chat: {
        name: 'Chat',
        kind: 'slack',
        config: { url: variable('CHAT_SLACKWEBHOOKURL') },
        covers: 'chosen',
        monitors: ['checkout'],
        groups: ['shop'],
      },
      mail: { name: 'Mail', kind: 'email', config: { address: 'a@x.example' }, covers: 'chosen' },
      'mail-2': {
        name: 'Mail',
        kind: 'email',
        config: { address: 'b@x.example' },
        covers: 'chosen',
      },
    });
    expect(maintenance).toEqual({
      night: {
        name: 'Night',
        // 2026-11-26 is a Thursday: the next of them is Monday.
        starts_at: '2026-11-30T23:30',
        ends_at: '2026-12-01T01:00',
        rrule: 'FREQ=WEEKLY;BYDAY=MO,WE',
        time_zone: 'Europe/Berlin',
        monitors: ['checkout'],
      },
      move: {
        name: 'Move',
        starts_at: '2026-12-01T02:00',
        ends_at: '2026-12-01T03:00',
        monitors: ['checkout'],
      },
    });
    expect(status_pages).toEqual({
      'shop-status': {
        name: 'Shop status',
        slug: 'shop',
        description: 'How we do',
        domain: 'status.shop.example',
        rows: [{ monitor: 'checkout' }, { monitor: 'name' }],
      },
    });
  });

  test('drops nothing in silence, and shows no secret', () => {
    expect(omissionsOf(imported, 'Checkout')).toEqual([
      'the header user-agent is written by the check itself.',
      'its retries are left out: another continent confirms an outage instead.',
      'reminders are set on channels.',
    ]);
    for (const [name, why] of [
      ['Box', 'monitors of type docker have no counterpart'],
      ['Inverse', 'it is up while its target is down'],
      ['State', 'checked every 10 seconds'],
      ['Backup', 'its ping address is a new one'],
      ['Shop / Pages', 'groups do not nest'],
      ['Signal', 'notifications of kind signal'],
      ['Chat', 'its slackchannel has no counterpart'],
      ['By cron', 'maintenance "cron" has no counterpart'],
      ['Past', 'this maintenance is over'],
      ['Shop status', 'its footer has no counterpart'],
      ['Shop status: Services', 'a heading of a status page'],
      ['We moved', 'a pinned message'],
      ['Name', 'the first of its name servers is asked'],
    ] as const)
      expect(omissionsOf(imported, name).join('\n'), name).toContain(why);
    expect(imported.variables.map(({ name }) => name)).toEqual([
      'CHECKOUT_TOKEN',
      'CHECKOUT_X_API_KEY',
      'CHECKOUT_PASSWORD',
      'CHAT_SLACKWEBHOOKURL',
    ]);
    const everything = JSON.stringify(imported);
    for (const secret of ['s3cret', 'k-123', 'hunter2', 'hooks.slack', 'abcdef'])
      expect(everything).not.toContain(secret);
    const report = reportOf(imported);
    expect(report).toContain('- Box: monitors of type docker');
    expect(report).toContain('- CHECKOUT_PASSWORD: password of Checkout\n');
  });

  test('names every column that it does not know', () => {
    const odd = importKuma(
      {
        monitor: [
          { id: 1, name: 'a', type: 'http', url: 'https://a.example/', gravity: 7, off: 0 },
        ],
      },
      today,
    );
    expect(odd.omissions).toEqual([{ why: 'its gravity has no counterpart.', of: ['a'] }]);
  });

  test('is read from the backup of version 1, whose names are written otherwise', () => {
    const backup = from('uptime-kuma', {
      version: '1.23.16',
      notificationList: [
        {
          id: 1,
          name: 'Hook',
          isDefault: false,
          config: '{"type":"webhook","webhookURL":"https://hook.example/x"}',
        },
      ],
      monitorList: [
        {
          id: 1,
          name: 'Front',
          type: 'keyword',
          url: 'https://a.example/',
          interval: 60,
          maxretries: 0,
          accepted_statuscodes: ['200-299', '404'],
          invertKeyword: true,
          keyword: 'Error',
          ignoreTls: true,
          active: true,
          notificationIDList: { 1: true },
          tags: [{ tag_id: 1, name: 'eu', value: '', color: '#fff' }],
          authMethod: null,
          childrenIDs: [],
          pathName: 'Front',
          includeSensitiveData: true,
        },
      ],
    });
    expect(backup.objects.monitors.front).toMatchObject({
      tags: ['eu'],
      config: { expected_status: ['2xx', 404], verify_tls: false, body_not_contains: ['Error'] },
    });
    expect(backup.objects.channels.hook).toMatchObject({ kind: 'webhook', monitors: ['front'] });
    expect(backup.omissions).toEqual([]);
  });
});

test('says what does not belong into a file as text, and what would be a variable or a file there', () => {
  const imported = from('uptime-kuma', {
    monitorList: [
      {
        id: 1,
        name: 'A',
        type: 'keyword',
        url: 'https://a.example/',
        keyword: `costs ${variable('PRICE')}`,
        method: 'PUT',
        body: 'file:/etc/passwd',
      },
    ],
  });
  expect(imported.objects.monitors.a?.config).toMatchObject({
    body_contains: [`costs $${variable('PRICE')}`],
    body: variable('A_BODY'),
  });
  expect(JSON.stringify(imported)).not.toContain('/etc');
});

test('is silent about what every row has, and says why a type has no counterpart', () => {
  const row = {
    accepted_statuscodes_json: ['200-299'],
    ntp_stratum_threshold: 5,
    ntp_time_offset_threshold: 1_000,
    ntp_root_dispersion_threshold: 500,
    ping_count: 1,
    expiry_notification: 1,
    hostname: 'a.example',
  };
  const typed = (type: string) => ({
    ...row,
    name: type,
    type,
    port: type === 'port' ? 22 : undefined,
  });
  const types = ['port', 'ping', 'snmp', 'steam', 'mqtt', 'grpc-keyword'];
  const imported = from('uptime-kuma', {
    monitorList: [
      ...types.map(typed),
      { ...row, name: 'web', type: 'http', url: 'https://a.example/', expiryNotification: false },
      {
        name: 'old',
        type: 'port',
        hostname: 'a.example',
        port: 1,
        accepted_statuscodes: ['2xx'],
      },
    ],
  });
  const told = (name: string) => omissionsOf(imported, name);
  expect(types.map(told)).toEqual([
    [],
    [],
    ['monitors of type snmp have no counterpart: no check speaks its UDP.'],
    ['monitors of type steam have no counterpart: no check speaks its UDP.'],
    ['monitors of type mqtt have no counterpart; one of type tcp watches a port.'],
    [
      'monitors of type grpc-keyword have no counterpart; one of type grpc asks a server for its health.',
    ],
  ]);
  expect(told('web')).toEqual([]);
  expect(told('old')).toEqual(['its accepted_statuscodes_json has no counterpart.']);
  expect(imported.objects.monitors).toMatchObject({
    ping: { config: { packets: 1 } },
    web: { config: { tls_expires_within_days: 0 } },
  });
});
