import { describe, expect, test } from 'vitest';
import { createGuard } from '../../../probe/checks/check-guard.ts';
import type { Lookup } from '../../../probe/checks/https-lookup.ts';
import type { RosterProbe } from '../../../shared/checks/checks-assignment.ts';
import { httpsChecker } from '../support/probe-support-https-checker.ts';
import { answerBy, serve } from '../support/probe-support-target-servers.ts';

const check = httpsChecker();

describe('names and addresses', () => {
  const leadsTo =
    (...addresses: readonly string[]): Lookup =>
    async () => ({ addresses });

  test('an address that does not answer is passed over for one that does', async () => {
    const target = await serve();
    const checker = httpsChecker({ lookup: leadsTo('127.0.0.99', '127.0.0.1') });
    expect(await checker(`http://pool.example:${target.port}/`)).toMatchObject({
      outcome: 'ok',
      evidence: {
        address: '127.0.0.1',
        attempts: [
          { address: '127.0.0.99', code: 'ECONNREFUSED' },
          { address: '127.0.0.1', code: null },
        ],
      },
    });
  });

  test('one address that is not public refuses them all, and none is connected to', async () => {
    const target = await serve();
    const checker = httpsChecker({ lookup: leadsTo('127.0.0.1', '10.0.0.1') });
    expect(await checker(`http://mixed.example:${target.port}/`)).toMatchObject({ outcome: 'fail', sentence: 'Address is not public' });
    expect(target.connections()).toBe(0);
  });

  test('what others who check the same are allowed to reach is beyond this probe alone: unknown, and where it leads is told to nobody', async () => {
    const probe = { id: 'a', name: 'a', continent: 'Asia', organisation: null, healthy: false, quarantined: false } as const;
    const beside = (others: readonly Partial<RosterProbe>[]) =>
      httpsChecker({
        lookup: leadsTo('10.0.0.1', '127.0.0.1'),
        guard: createGuard({
          ...{ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] },
          roster: () => ({ epoch: 1, probes: others.map((other) => ({ ...probe, ...other })) }),
        }),
      })('http://inside.example:9/');
    const lan = { allowed_cidrs: ['10.0.0.0/8', '127.0.0.1'] };
    expect(await beside([{}, lan])).toMatchObject({
      outcome: 'unknown',
      sentence: 'The host of this probe does not allow that address',
      evidence: { addresses: [] },
    });
    const outage = { outcome: 'fail', sentence: 'Address is not public' };
    // Nobody may; only a part of what the name leads to; only somebody's private probe.
    for (const others of [[], [{}], [{ allowed_cidrs: ['10.0.0.0/8'] }], [{ ...lan, organisation: 'o' }]])
      expect(await beside(others)).toMatchObject(outage);
  });

  test('a name that leads elsewhere at its second look-up finds the guard there too', async () => {
    const [home, trap] = await Promise.all([serve(), serve({ host: '127.0.0.2' })]);
    let asked = 0;
    const checker = httpsChecker({
      allow: ['127.0.0.1/32'],
      lookup: async () => {
        asked += 1;
        return { addresses: [asked === 1 ? '127.0.0.1' : '127.0.0.2'] };
      },
    });
    home.answer(answerBy(() => ({ status: 302, headers: { location: `http://rebinding.example:${trap.port}/` } })));
    expect(await checker(`http://rebinding.example:${home.port}/`)).toMatchObject({ outcome: 'fail', sentence: 'Address is not public' });
    expect(asked).toBe(2);
    expect(home.connections()).toBe(1);
    expect(trap.connections()).toBe(0);
  });

  test('without a word from its host, a probe connects to nothing of this machine', async () => {
    const target = await serve();
    const strict = httpsChecker({ allow: [] });
    const { port } = target;
    for (const host of [
      '127.0.0.1',
      'localhost',
      '0x7f.1',
      '2130706433',
      '0177.0.0.1',
      '127.1',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '0.0.0.0',
      '[::]',
      '[::1]',
      '１２７.0.0.1',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '169.254.169.254',
    ]) {
      expect(await strict(`http://${host}:${port}/`), host).toMatchObject({ outcome: 'fail', sentence: 'Address is not public' });
    }
    expect(target.connections()).toBe(0);
  });

  test('a probe without IPv6 does not fail a target that has nothing else', async () => {
    const checker = httpsChecker({ lookup: leadsTo('2001:4860:4860::8888'), families: { 4: true, 6: false } });
    expect(await checker('http://six.example:9/')).toMatchObject({
      outcome: 'unknown',
      sentence: 'The probe has no IPv6 and the target has nothing else',
      phases: { tcp: null },
    });
  });

  test('a probe without IPv6 checks a target that has both by IPv4', async () => {
    const target = await serve();
    const checker = httpsChecker({ lookup: leadsTo('2001:4860:4860::8888', '127.0.0.1'), families: { 4: true, 6: false } });
    expect(await checker(`http://both.example:${target.port}/`)).toMatchObject({
      outcome: 'ok',
      evidence: { attempts: [{ address: '127.0.0.1' }] },
    });
  });

  test('an address of the wrong family is no address', async () => {
    const target = await serve();
    expect(await check(target.url(), { ip_family: '6' })).toMatchObject({ outcome: 'fail', sentence: 'The name has no IPv6 address' });
    expect(await check(target.url(), { ip_family: '4' })).toMatchObject({ outcome: 'ok' });
  });
});
