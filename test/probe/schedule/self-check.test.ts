import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createGuard } from '../../../probe/checks/guard.ts';
import type { HeldUp } from '../../../probe/presence/clock.ts';
import { createReachability, createSelfCheck, type Ended } from '../../../probe/schedule/self-check.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import type { Verdict } from '../../../shared/checks/result.ts';

const none = { longest: 0, inAll: 0 };

/** Whose fault failures are, of a probe that reaches nothing but what its checks told of. */
const probe = (heldUp: (since: number) => HeldUp = () => none, anchors: readonly string[] = []) =>
  createSelfCheck({
    guard: createGuard({ allow: ['10.0.0.0/8'], bus: () => [], own: () => [] }),
    reachability: createReachability({ anchors: () => anchors, busCounts: () => false, busRoundTrip: () => Promise.resolve() }),
    pulse: { heldUp, stop: () => undefined },
  });

const assignment = (target: string, more: Partial<Assignment> = {}): Assignment => ({
  ...{ monitor: target, organisation: 'o', kind: 'https', target, interval_ms: 60_000, timeout_ms: 10_000, config: {}, sealed: null },
  ...{ config_version: 1, ordinal: 1, continents: null, probe: null, ...more },
});
const [shop, bank] = [assignment('https://shop.example/'), assignment('https://bank.example/')];
const dns = (resolver: string) => assignment('shop.example', { kind: 'dns', config: { resolver } });

const ended = (of: Assignment, began: number, asked: readonly string[] = ['93.184.215.14']): Ended => ({
  ...{ assignment: of, asked, began, ended: began + 100 },
});
const passed: Verdict = { outcome: 'ok', cause: null, phases: null, evidence: {} };
const failed = (name: string): Verdict => ({ ...passed, outcome: 'fail', cause: { class: name, params: {} } });

describe('rule 2: a failure below http counts', () => {
  test('when another host has answered since the check began, and not by the same host', async () => {
    const selfCheck = probe();
    expect(selfCheck(passed, ended(shop, 1_000))).toBe(passed);
    const same = assignment('https://shop.example:8443/other');
    expect(await selfCheck(failed('timed_out'), ended(same, 1_050))).toMatchObject({
      outcome: 'unknown',
      cause: { class: 'probe_unvouched' },
    });
    expect(await selfCheck(failed('timed_out'), ended(bank, 1_050))).toMatchObject({ outcome: 'fail' });
    expect(await selfCheck(failed('timed_out'), ended(bank, 1_101))).toMatchObject({ outcome: 'unknown' });
  });

  test('when a resolver has answered, and not by the same resolver, nor is a resolver the host of that name', async () => {
    const selfCheck = probe();
    selfCheck(passed, ended(dns('9.9.9.9'), 1_000));
    expect(await selfCheck(failed('dns_silent'), ended(dns('9.9.9.9'), 1_000))).toMatchObject({ outcome: 'unknown' });
    expect(await selfCheck(failed('dns_silent'), ended(dns('1.1.1.1'), 1_000))).toMatchObject({ outcome: 'fail' });
    expect(await selfCheck(failed('timed_out'), ended(assignment('https://9.9.9.9/'), 1_000))).toMatchObject({ outcome: 'fail' });
  });

  test('by a host that answered with a failure of its own, but by no check that went nowhere', async () => {
    const selfCheck = probe();
    selfCheck(passed, ended(assignment('', { kind: 'heartbeat' }), 1_000, []));
    selfCheck(failed('connection_refused'), ended(shop, 1_000));
    expect(await selfCheck(failed('timed_out'), ended(bank, 1_000))).toMatchObject({ outcome: 'unknown' });
    selfCheck(failed('unexpected_status'), ended(shop, 1_000));
    expect(await selfCheck(failed('timed_out'), ended(bank, 1_000))).toMatchObject({ outcome: 'fail' });
  });

  test('outside by what is outside in all that it asked, inside by what is inside too', async () => {
    const inside = ['10.0.0.7'];
    const both = ['10.0.0.7', '93.184.215.14'];
    for (const reached of [inside, both]) {
      const selfCheck = probe();
      selfCheck(passed, ended(shop, 1_000, reached));
      expect(await selfCheck(failed('timed_out'), ended(bank, 1_000))).toMatchObject({ outcome: 'unknown' });
      expect(await selfCheck(failed('timed_out'), ended(bank, 1_000, both))).toMatchObject({ outcome: 'unknown' });
      expect(await selfCheck(failed('timed_out'), ended(bank, 1_000, []))).toMatchObject({ outcome: 'unknown' });
      expect(await selfCheck(failed('timed_out'), ended(bank, 1_000, inside))).toMatchObject({ outcome: 'fail' });
    }
  });

  test('by an anchor that refuses, unless the failure is a refusal itself', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    await new Promise((resolve) => server.close(resolve));
    const selfCheck = probe(() => none, [`127.0.0.1:${typeof address === 'object' ? address?.port : 0}`]);
    const now = performance.now();
    expect(await selfCheck(failed('timed_out'), ended(shop, now))).toMatchObject({ outcome: 'fail' });
    expect(await selfCheck(failed('connection_refused'), ended(shop, now))).toMatchObject({ outcome: 'unknown' });
  });

  test('unless the probe was held up while it ran, or it ended long after its limit', async () => {
    const selfCheck = probe((since) => (since >= 5_000 ? none : { longest: 2_001, inAll: 2_001 }));
    selfCheck(passed, ended(shop, 90_000));
    const failure = (began: number, took: number) => selfCheck(failed('timed_out'), { ...ended(bank, began), ended: began + took });
    expect(await failure(4_999, 10_000)).toMatchObject({ cause: { class: 'probe_held_up' } });
    expect(await failure(5_000, 11_000)).toMatchObject({ outcome: 'fail' });
    expect(await failure(5_000, 11_001)).toMatchObject({ cause: { class: 'probe_held_up' } });
  });

  test('is told at once when no other host is needed', () => {
    const answered = failed('unexpected_status');
    expect(probe()(answered, ended(shop, 1_000))).toBe(answered);
  });
});
