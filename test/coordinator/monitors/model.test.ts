import { describe, expect, test } from 'vitest';
import type { PlanName } from '../../../coordinator/gate/plans.ts';
import type { Checker } from '../../../coordinator/monitors/locations.ts';
import {
  amendMonitor,
  draftMonitor,
  type Monitor,
  type MonitorInput,
  type MonitorPatch,
} from '../../../coordinator/monitors/model.ts';
import { newestRegistries } from '../../../coordinator/registrations/model.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { httpsKeys } from '../../../shared/checks/https/keys.ts';

const organisation = '01890000-0000-7000-8000-000000000001';
const unknownSender = '01890000-0000-7000-8000-000000000002';
const privateProbe = '01890000-0000-7000-8000-0000000000aa';

const publicProbe = (
  continent: Checker['continent'],
  allowed_cidrs: readonly string[] = [],
): Checker => ({
  id: `01890000-0000-7000-8000-${continent.length.toString().padStart(12, '0')}`,
  organisation: null,
  place: null,
  place_name: null,
  continent,
  region: null,
  allowed_cidrs,
  kinds: [],
});

const registries = newestRegistries(undefined);
const checkers = [
  publicProbe('Europe'),
  publicProbe('Asia'),
  {
    id: privateProbe,
    organisation,
    place: privateProbe,
    place_name: 'Office',
    continent: 'Europe' as const,
    region: null,
    allowed_cidrs: ['10.0.0.0/8', '127.0.0.1/32'],
    kinds: [],
  },
];

const draft = (
  input: Partial<MonitorInput>,
  plan: PlanName = 'self_hosted',
  of: readonly Checker[] = checkers,
): Monitor =>
  draftMonitor(
    {
      type: 'https',
      target: 'https://example.com/health',
      name: '',
      interval_s: null,
      config: null,
      group: null,
      affects_group_status: true,
      external_id: null,
      tags: null,
      runbook: null,
      depends_on_monitors: null,
      depends_on_groups: null,
      ...input,
    },
    organisation,
    { plan, checkers: of, registries },
  );

const nothing: MonitorPatch = {
  name: null,
  target: null,
  interval_s: null,
  config: null,
  enabled: null,
  group: null,
  ungroup: false,
  affects_group_status: null,
  external_id: null,
  tags: null,
  runbook: null,
  depends_on_monitors: null,
  depends_on_groups: null,
};
const amend = (monitor: Monitor, patch: Partial<MonitorPatch>, plan: PlanName = 'self_hosted') =>
  amendMonitor(monitor, { ...nothing, ...patch }, { plan, checkers, registries });

const refusal = (attempt: () => unknown): [code: string, message: string] => {
  try {
    attempt();
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.message];
    throw error;
  }
  return ['taken', ''];
};

describe('a new monitor', () => {
  test('gets the name of its host, 60 seconds, and what it was sent', () => {
    expect(draft({ target: 'https://MÜNCHEN.example:8443/x' }).name).toBe('münchen.example:8443');
    expect(draft({ target: 'http://[2606:4700::1111]/' }).name).toBe('[2606:4700::1111]');
    expect(draft({ type: 'dns', target: '2001:db8::1', config: { record_type: 'PTR' } }).name).toBe(
      '2001:db8::1',
    );
    const monitor = draft({ config: { expected_status: ['2xx'], tags: { team: 'shop' } } });
    expect(monitor).toMatchObject({
      name: 'example.com',
      interval_s: 60,
      enabled: true,
      config_version: 1,
      secrets: {},
    });
    expect(monitor.config).toEqual({ expected_status: ['2xx'], tags: { team: 'shop' } });
  });

  test('has the minimum of its plan as its interval, and no shorter one', () => {
    expect(draft({}, 'free').interval_s).toBe(180);
    expect(refusal(() => draft({ interval_s: 179 }, 'free'))[0]).toBe('plan_limit_interval');
    expect(refusal(() => draft({ interval_s: 59 }, 'team'))[0]).toBe('plan_limit_interval');
    expect(draft({ interval_s: 10 }, 'business').interval_s).toBe(10);
  });

  test.each<[why: string, input: Partial<MonitorInput>, code: string, about: RegExp]>([
    [
      'a type that does not exist',
      { type: 'telepathy' },
      'monitor_type_unknown',
      /https, dns, tcp, tls, websocket, grpc, icmp, heartbeat, domain/,
    ],
    ['a target that is no address', { target: 'example.com' }, 'target_invalid', /http/],
    [
      'a target with a password',
      { target: 'https://ada:secret@example.com' },
      'target_invalid',
      /basic authentication/,
    ],
    ['a target of another protocol', { target: 'file:///etc/passwd' }, 'target_invalid', /http/],
    [
      'a target with NUL',
      { type: 'heartbeat', name: 'x', target: 'a\u0000b' },
      'target_invalid',
      /NUL/,
    ],
    [
      'a target that is too long',
      { target: `https://example.com/${'a'.repeat(2048)}` },
      'target_invalid',
      /2048/,
    ],
    ['a heartbeat without a name', { type: 'heartbeat', target: '' }, 'name_invalid', /name/],
    ['a name of 201 characters', { name: 'a'.repeat(201) }, 'name_invalid', /200/],
    ['a name with a line break', { name: 'a\nb' }, 'name_invalid', /control/],
    ['an interval below the bound', { interval_s: 9 }, 'interval_out_of_range', /10 to 86400/],
    ['an interval above the bound', { interval_s: 86_401 }, 'interval_out_of_range', /10 to 86400/],
    ['an enormous interval', { interval_s: 1e20 }, 'interval_out_of_range', /86400/],
    [
      'a heartbeat below its bound',
      { type: 'heartbeat', name: 'x', interval_s: 29 },
      'interval_out_of_range',
      /30 to 31536000/,
    ],
    [
      'a bad value of a known key',
      { config: { expected_status: ['9xx'] } },
      'config_invalid',
      /expected_status/,
    ],
    [
      'a time limit above the interval',
      { interval_s: 10, config: { timeout_ms: 10_000 } },
      'config_invalid',
      /timeout_ms/,
    ],
    [
      'a mask without a secret',
      { config: { bearer_token: '***' } },
      'config_invalid',
      /bearer_token/,
    ],
    [
      'a NUL deep in the config',
      { config: { note: { a: ['x\u0000'] } } },
      'config_invalid',
      /note\.a\[0\]/,
    ],
    ['half a character in the config', { config: { note: '\ud800' } }, 'config_invalid', /note/],
    [
      'a number that JSON cannot hold',
      { config: { note: Number.POSITIVE_INFINITY } },
      'config_invalid',
      /note/,
    ],
    [
      'a number with more digits than are kept',
      { config: { note: [12345678901234567891n] } },
      'config_invalid',
      /note\[0\].*as a text/,
    ],
    [
      'a config of more than 16 KiB',
      { config: { note: 'a'.repeat(17_000) } },
      'config_invalid',
      /16 KiB/,
    ],
    [
      'a place without probes',
      { config: { continents: ['Oceania'] } },
      'nobody_can_check',
      /Asia, Europe/,
    ],
    [
      'a probe that is not there',
      { config: { probe: unknownSender } },
      'nobody_can_check',
      /config\.probe/,
    ],
    [
      'a family that no probe has beside the other',
      { config: { ip_family: 'both' } },
      'nobody_can_check',
      /config\.ip_family: no probe .* both IPv4 and IPv6/,
    ],
    [
      'a certificate that no probe can show',
      { config: { client_certificate: httpsKeys.client_certificate.example } },
      'nobody_can_check',
      /config\.client_certificate/,
    ],
    ['a private address', { target: 'http://10.1.2.3/' }, 'target_forbidden', /10\.1\.2\.3/],
    ['loopback by name', { target: 'http://localhost:3000/' }, 'target_forbidden', /localhost/],
    ['loopback in disguise', { target: 'http://0x7f.1/' }, 'target_forbidden', /127\.0\.0\.1/],
    [
      'loopback in a mapped address',
      { target: 'http://[::ffff:127.0.0.1]/' },
      'target_forbidden',
      /target/,
    ],
    ['the keys of a cloud', { target: 'http://169.254.169.254/' }, 'target_forbidden', /169/],
    [
      'a private resolver',
      { type: 'dns', target: 'example.com', config: { resolver: '192.168.1.1' } },
      'target_forbidden',
      /resolver/,
    ],
  ])('is refused for %s', (_why, input, code, about) => {
    const [refused, message] = refusal(() => draft(input));
    expect(refused).toBe(code);
    expect(message).toMatch(about);
  });

  test('nested deeper than any stack is refused, not crashed upon', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 20_000; level += 1) deep = { a: deep };
    expect(refusal(() => draft({ config: { deep } }))[0]).toBe('config_invalid');
  });

  test('may check a private address from a private probe whose host allows it', () => {
    expect(draft({ target: 'http://10.1.2.3/', config: { probe: privateProbe } }).target).toBe(
      'http://10.1.2.3/',
    );
    expect(
      refusal(() => draft({ target: 'http://192.168.1.1/', config: { probe: privateProbe } }))[0],
    ).toBe('target_forbidden');
    expect(
      draft({ target: 'http://localhost/' }, 'self_hosted', [
        publicProbe('Europe', ['127.0.0.0/8']),
      ]).name,
    ).toBe('localhost');
  });

  test('inside a network is taken where every probe of its place may reach it, whichever was named', () => {
    const spareProbe = '0198c0de-0000-7000-8000-000000000099';
    const spare = { ...publicProbe('Europe'), id: spareProbe, organisation, place: privateProbe };
    const inside = { target: 'http://10.1.2.3/', config: { probe: spareProbe } };
    const allowing = { ...spare, allowed_cidrs: ['10.0.0.0/8'] };
    expect(draft(inside, 'self_hosted', [...checkers, allowing]).config).toEqual({
      probe: privateProbe,
    });
    expect(refusal(() => draft(inside, 'self_hosted', [...checkers, spare]))).toEqual([
      'target_forbidden',
      expect.stringContaining('only some of the probes of its place'),
    ]);
  });

  test('lists which probes it could name, and which not', () => {
    const words = (config: object, checkers: Parameters<typeof draft>[2]) =>
      refusal(() =>
        draft({ target: 'http://10.1.2.3/', config: { ...config } }, 'self_hosted', checkers),
      )[1];
    const none = [publicProbe('Europe')];
    expect(words({}, none)).toContain('use a private probe in that network');
    expect(words({ probe: publicProbe('Europe').id }, none)).toContain(
      'is a public probe, and only a private one can be named',
    );
    expect(words({ probe: unknownSender }, none)).toContain(
      'this organisation has no private probe that could be named',
    );
    const own = { ...publicProbe('Asia'), id: privateProbe, organisation };
    expect(words({}, [...none, own])).toContain(
      'choose one of your private probes whose host allows it',
    );
    expect(words({ probe: unknownSender }, [...none, own])).toContain(
      'is no private probe of this organisation; use the id of one',
    );
  });

  test('of a public name is accepted even while there is no probe', () => {
    expect(draft({}, 'self_hosted', []).name).toBe('example.com');
  });
});

describe('a change', () => {
  const basic = {
    basic_auth: { username: 'ada', password: 'first' },
    headers: { 'X-Key': 'k', Accept: '*/*' },
    secret_headers: ['x-key'],
  };

  test('without fields changes nothing', () => {
    const monitor = draft({ config: basic });
    expect(amend(monitor, {})).toEqual({
      monitor,
      edited: false,
      what_is_checked_changed: false,
      switched: null,
    });
  });

  test('hides secrets and keeps those that are sent back masked', () => {
    const monitor = draft({ config: basic });
    expect(JSON.stringify(monitor.config)).not.toContain('first');
    expect(monitor.config).toMatchObject({
      basic_auth: { username: 'ada', password: '***' },
      headers: { 'X-Key': '***', Accept: '*/*' },
    });
    const kept = amend(monitor, { config: monitor.config });
    expect(kept.monitor.secrets).toEqual(monitor.secrets);
    expect(kept.what_is_checked_changed).toBe(false);
    const other = amend(monitor, {
      config: { basic_auth: { username: 'ada', password: 'second' } },
    });
    expect(Object.values(other.monitor.secrets)).toEqual(['second']);
    expect(other).toMatchObject({ what_is_checked_changed: true, edited: true });
    expect(other.monitor.config_version).toBe(2);
  });

  test('keeps no secret for another scheme, host or port than it was given for', () => {
    const monitor = draft({ config: basic });
    for (const target of [
      'http://example.com',
      'https://example.org',
      'https://example.com:444',
      'https://www.example.com',
    ]) {
      const [code, message] = refusal(() => amend(monitor, { target }));
      expect([code, message], target).toEqual([
        'config_invalid',
        expect.stringMatching(
          /^`basic_auth.password`, `headers.X-Key` cannot be used: a secret belongs to the host .* send the secret again/,
        ),
      ]);
      expect(refusal(() => amend(monitor, { target, config: monitor.config }))).toEqual([
        code,
        message,
      ]);
      expect(
        refusal(() =>
          amend(monitor, {
            target,
            config: { ...monitor.config, headers: {}, secret_headers: [] },
          }),
        )[1],
      ).toMatch(/^`basic_auth.password` cannot be used/);
    }
    expect(
      amend(monitor, { target: 'https://example.com:443/other?path' }).monitor.secrets,
    ).toEqual(monitor.secrets);
    expect(amend(monitor, { target: 'https://example.org', config: basic }).monitor).toMatchObject({
      secrets: monitor.secrets,
    });
    expect(amend(monitor, { target: 'https://example.org', config: {} }).monitor.secrets).toEqual(
      {},
    );
    expect(amend(draft({}), { target: 'https://example.org' }).monitor.target).toBe(
      'https://example.org',
    );
  });

  test('of what is checked raises the version; of name, continents, interval or unknown keys does not', () => {
    const monitor = draft({});
    const version = (patch: Partial<MonitorPatch>) => amend(monitor, patch).monitor.config_version;
    expect(version({ target: 'https://example.org' })).toBe(2);
    expect(version({ config: { method: 'HEAD' } })).toBe(2);
    expect(version({ name: 'Shop' })).toBe(1);
    expect(version({ interval_s: 120 })).toBe(1);
    expect(version({ config: { continents: ['Asia'], alert_after_s: 60, colour: 'red' } })).toBe(1);
    expect(amend(monitor, { interval_s: 120 }).edited).toBe(true);
    expect(amend(monitor, { config: { continents: ['Asia'] } }).edited).toBe(true);
    expect(amend(monitor, { name: 'Shop' }).edited).toBe(false);
  });

  test('pauses, resumes, moves between groups and out of them', () => {
    const monitor = draft({ group: unknownSender });
    expect(amend(monitor, { enabled: false }).switched).toBe('paused');
    expect(amend({ ...monitor, enabled: false }, { enabled: true }).switched).toBe('resumed');
    expect(amend(monitor, { enabled: true }).switched).toBeNull();
    expect(amend(monitor, { ungroup: true }).monitor.group).toBeNull();
    expect(amend(monitor, { group: organisation }).monitor.group).toBe(organisation);
  });

  test('of the interval of a heartbeat changes its schedule: the silence until then is no failure', () => {
    const agreed = draft({ type: 'heartbeat', target: '', name: 'backup', interval_s: 86_400 });
    expect(amend(agreed, { interval_s: 3_600 })).toMatchObject({
      what_is_checked_changed: true,
      monitor: { config_version: 2 },
    });
    // A schedule stands in the place of the interval, which then says nothing.
    const byClock = draft({
      type: 'heartbeat',
      target: '',
      name: 'backup',
      interval_s: 86_400,
      config: { schedule: '0 2 * * *' },
    });
    expect(amend(byClock, { interval_s: 3_600 })).toMatchObject({
      what_is_checked_changed: false,
      monitor: { config_version: 1 },
    });
  });

  test('is validated for its own fields only: a stored interval below a smaller plan does not prevent a new name', () => {
    const monitor = draft({ interval_s: 10, config: { timeout_ms: 5_000 } });
    expect(amend(monitor, { name: 'Shop' }, 'free').monitor.name).toBe('Shop');
    expect(refusal(() => amend(monitor, { interval_s: 20 }, 'free'))[0]).toBe(
      'plan_limit_interval',
    );
    expect(
      refusal(() => amend(draft({ config: { timeout_ms: 30_000 } }), { interval_s: 20 }))[0],
    ).toBe('config_invalid');
    expect(amend(monitor, { name: '' }).monitor.name).toBe('example.com');
  });
});
