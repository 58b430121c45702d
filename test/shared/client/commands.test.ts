import { expect, test } from 'vitest';
import { commandName, UsageFault } from '../../../shared/base/env.ts';
import { findCommand, readLine, valuesOf } from '../../../shared/client/arguments.ts';
import { type CommandCall, callOf } from '../../../shared/client/calls.ts';
import { commands, commandWords } from '../../../shared/client/commands.ts';

const call = (...given: string[]): CommandCall => {
  const line = readLine(given, new Set(['ungroup', 'enabled']));
  const { command, rest } = findCommand(commands, line.words);
  const values = valuesOf(command, line, (path) =>
    path === 'config.json' ? '{"timeout_ms": 3000}' : '',
  );
  return callOf(command, rest, values);
};

test('every promised command exists, and no other', () => {
  expect(commands.map(commandName).toSorted()).toEqual(
    [
      'whoami',
      ...[
        'list',
        'get',
        'create',
        'update',
        'delete',
        'status',
        'results',
        'ledger',
        'checks',
        'pings',
        'batch',
      ].map((verb) => `monitors ${verb}`),
      ...['list-deleted', 'restore', 'mute', 'unmute'].map((verb) => `monitors ${verb}`),
      ...['create', 'get'].map((verb) => `tests ${verb}`),
      ...['list', 'create'].map((verb) => `events ${verb}`),
      ...[
        'list',
        'get',
        'evidence',
        'notifications',
        'add-note',
        'share',
        'withdraw-share',
        'acknowledge',
        'unacknowledge',
        'assign',
        'write-post-mortem',
      ].map((verb) => `incidents ${verb}`),
      ...['list', 'get', 'create', 'update', 'delete', 'test'].map((verb) => `channels ${verb}`),
      ...['list', 'get', 'create', 'update', 'delete', 'test', 'replay'].map(
        (verb) => `webhooks ${verb}`,
      ),
      ...['rotate-secret', 'list-deliveries', 'resend-delivery'].map((act) => `webhooks ${act}`),
      'messages list',
      'audit list',
      'causes get',
      ...['uptime', 'share', 'list-shares', 'withdraw-share', 'mail', 'list-mails', 'end-mail'].map(
        (verb) => `reports ${verb}`,
      ),
      'causes list',
      'certificates list',
      'domains list',
      'organisation show',
      ...['list', 'get', 'revoke'].map((verb) => `tokens ${verb}`),
      ...['list', 'set-role', 'remove', 'invite', 'list-invitations', 'withdraw-invitation'].map(
        (act) => `members ${act}`,
      ),
      ...['list-subscribers', 'remove-subscriber'].map((act) => `status-pages ${act}`),
      ...['show-mute', 'mute', 'unmute'].map((verb) => `alerts ${verb}`),
      ...['list', 'get', 'create', 'update', 'delete', 'preview', 'start-now', 'end-now'].map(
        (verb) => `maintenance ${verb}`,
      ),
      ...['groups', 'objectives'].flatMap((noun) =>
        ['list', 'get', 'create', 'update', 'delete'].map((verb) => `${noun} ${verb}`),
      ),
      ...[
        'list',
        'get',
        'create',
        'update',
        'delete',
        'order',
        'subscribers',
        'check-domain',
        'renew-link',
      ].map((verb) => `status-pages ${verb}`),
      ...['add', 'update', 'remove'].flatMap((verb) => [
        `status-pages ${verb}-monitor`,
        `status-pages ${verb}-group`,
      ]),
      ...['list-posts', 'create-post', 'delete-post'].map((verb) => `status-pages ${verb}`),
      ...['list-reports', 'create-report', 'report', 'update-report', 'delete-report'].map(
        (verb) => `status-pages ${verb}`,
      ),
      'status-pages add-report-update',
      ...['list', 'create', 'rotate', 'end'].map((verb) => `ping-keys ${verb}`),
      ...['get', 'plan', 'apply'].map((verb) => `files ${verb}`),
      ...['list', 'get', 'update'].map((verb) => `places ${verb}`),
      ...['list', 'invite', 'list-invitations', 'revoke-invitation', 'end'].map(
        (verb) => `probes ${verb}`,
      ),
    ].toSorted(),
  );
});

test('an operation that does not exist yet would be a command without further work', () => {
  expect(commandWords({ id: 'listPlanets', path: '/api/v1/planets' })).toEqual(['planets', 'list']);
  expect(
    commandWords({ id: 'rotateMonitorToken', path: '/api/v1/monitors/{monitor_id}/token' }),
  ).toEqual(['monitors', 'rotate-token']);
});

test.each<[string[], CommandCall]>([
  [['whoami'], { method: 'GET', path: '/api/v1/me', query: {} }],
  [
    ['monitors', 'list', '--limit', '5'],
    { method: 'GET', path: '/api/v1/monitors', query: { limit: '5' } },
  ],
  [
    ['monitors', 'get', 'a b/..'],
    { method: 'GET', path: '/api/v1/monitors/a%20b%2F..', query: {} },
  ],
  [
    ['incidents', 'list', '--state=open', '--monitor', 'm'],
    { method: 'GET', path: '/api/v1/incidents', query: { state: 'open', monitor: 'm' } },
  ],
  [
    [
      'monitors',
      'create',
      '--type',
      'https',
      '--target',
      'https://a.example/',
      '--interval-s',
      '60',
    ],
    {
      method: 'POST',
      path: '/api/v1/monitors',
      query: {},
      body: { type: 'https', target: 'https://a.example/', interval_s: 60 },
    },
  ],
  [
    [
      'monitors',
      'create',
      '--type',
      'dns',
      '--config',
      '@config.json',
      '--config.record_type',
      'MX',
      '--config.expected_values',
      '["a","b"]',
    ],
    {
      method: 'POST',
      path: '/api/v1/monitors',
      query: {},
      body: {
        type: 'dns',
        config: { timeout_ms: 3000, record_type: 'MX', expected_values: ['a', 'b'] },
      },
    },
  ],
  [
    [
      'monitors',
      'create',
      '--type',
      'https',
      '--config.basic_auth.username',
      'u',
      '--config.timeout_ms',
      '5000',
    ],
    {
      method: 'POST',
      path: '/api/v1/monitors',
      query: {},
      body: { type: 'https', config: { basic_auth: { username: 'u' }, timeout_ms: 5000 } },
    },
  ],
  [
    ['monitors', 'update', 'm', '--enabled', 'false'],
    { method: 'PATCH', path: '/api/v1/monitors/m', query: {}, body: { enabled: false } },
  ],
  [
    [
      'monitors',
      'update',
      'm',
      '--config.headers.Accept',
      'text/html',
      '--config.timeout_ms',
      '5000',
    ],
    {
      method: 'PATCH',
      path: '/api/v1/monitors/m',
      query: {},
      body: {},
      amendments: [
        {
          flag: expect.objectContaining({ key: 'config' }),
          inner: ['headers', 'Accept'],
          value: 'text/html',
        },
        { flag: expect.objectContaining({ key: 'config' }), inner: ['timeout_ms'], value: 5000 },
      ],
    },
  ],
  [
    ['monitors', 'update', 'm', '--config.headers.a', 'b', '--config', '{"headers": {"c": "d"}}'],
    {
      method: 'PATCH',
      path: '/api/v1/monitors/m',
      query: {},
      body: { config: { headers: { c: 'd', a: 'b' } } },
    },
  ],
  [
    // As "$(cat client.pem)" passes it on.
    ['monitors', 'update', 'm', '--config', '{}', '--config.client_certificate', '-----BEGIN X'],
    {
      method: 'PATCH',
      path: '/api/v1/monitors/m',
      query: {},
      body: { config: { client_certificate: '-----BEGIN X' } },
    },
  ],
  [
    ['monitors', 'update', '--ungroup', 'm'],
    { method: 'PATCH', path: '/api/v1/monitors/m', query: {}, body: { ungroup: true } },
  ],
  [
    ['monitors', 'update', 'm', '--no-enabled'],
    { method: 'PATCH', path: '/api/v1/monitors/m', query: {}, body: { enabled: false } },
  ],
  [['monitors', 'delete', 'm'], { method: 'DELETE', path: '/api/v1/monitors/m', query: {} }],
  [
    [
      'maintenance',
      'create',
      '--starts-at',
      '2027-01-01T02:00',
      '--ends-at',
      '2027-01-01T03:00',
      '--monitor',
      'a',
      '--monitor',
      'b',
      '--group',
      'g',
    ],
    {
      method: 'POST',
      path: '/api/v1/maintenance',
      query: {},
      body: {
        starts_at: '2027-01-01T02:00',
        ends_at: '2027-01-01T03:00',
        monitors: ['a', 'b'],
        groups: ['g'],
      },
    },
  ],
  [
    ['status-pages', 'remove-monitor', 'p', 'm'],
    { method: 'DELETE', path: '/api/v1/status-pages/p/monitors/m', query: {} },
  ],
])('%j is one call', (given, expected) => {
  expect(call(...given)).toEqual(expected);
});

test.each<[string[], RegExp]>([
  [['monitor', 'lst'], /Did you mean "monitors list"\?/],
  [['monitors', 'lsit'], /Did you mean "monitors list"\?/],
  [['monitors'], /monitors needs a verb: list/],
  [['xyzzy'], /There are: whoami, monitors/],
  [['monitors', 'get'], /monitors get needs ID/],
  // Sent as they are, these would climb to DELETE /api/v1/monitors/…, which takes the history
  // along.
  [['status-pages', 'remove-monitor', '..', 'm'], /needs .*; "\.\." is none/],
  [['status-pages', 'remove-group', '.', 'g'], /needs .*; "\." is none/],
  [['monitors', 'get', ''], /needs ID; "" is none/],
  [['monitors', 'get', 'a', 'b'], /does not take "b"/],
  [['status-pages', 'remove-monitor', 'p'], /needs MONITOR_ID/],
  [['monitors', 'create', '--target', 'x'], /needs --type/],
  [['monitors', 'create', '--type', 'https', '--intervals', '60'], /Did you mean --interval-s\?/],
  [
    ['monitors', 'create', '--type', 'https', '--interval-s', 'often'],
    /--interval-s takes a number/,
  ],
  [['monitors', 'create', '--type', 'https', '--interval-s'], /--interval-s needs a value/],
  [['monitors', 'create', '--type', 'https', '--type', 'dns'], /given twice/],
  [['monitors', 'update', 'm', '--enabled', '--no-enabled'], /--no-enabled is given twice/],
  [
    ['monitors', 'update', 'm', '--interval-s', '60', '--interval_s', '70'],
    /--interval_s is given twice/,
  ],
  [['monitors', 'create', '--type', 'https', '--config', '{'], /not valid JSON/],
  [['monitors', 'create', '--type', 'https', '--config', '[]'], /must be a JSON object/],
  [['monitors', 'create', '--type', 'https', '--config.__proto__.x', '1'], /__proto__/],
  [['monitors', 'update', 'm', '--config.headers.__proto__', '1'], /__proto__/],
  [['incidents', 'list', '--state', 'closed'], /takes all, open, resolved/],
])('%j is refused and told what would do', (given, message) => {
  expect(() => call(...given)).toThrow(UsageFault);
  expect(() => call(...given)).toThrow(message);
});

test.each([
  [
    ['--config', '{"n":[12345678901234567891]}'],
    /--config: the number 12345678901234567891 is not kept exactly/,
  ],
  [['--config.n', '1e400'], undefined],
  [['--config.n', '12345678901234567891'], /--config\.n: the number .* as a text/],
  [['--config.n', '"12345678901234567891"'], undefined],
])('a number that would be sent as another one is refused: %s', (given, refusal) => {
  const run = () => call('monitors', 'create', '--type', 'https', ...given);
  if (refusal) expect(run).toThrow(refusal);
  else expect(run().body).toMatchObject({ config: { n: given[1]?.replaceAll('"', '') } });
});
