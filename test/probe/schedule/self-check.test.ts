import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createGuard } from '../../../probe/checks/guard.ts';
import type { ProcessDelay } from '../../../probe/presence/clock.ts';
import {
  createReachability,
  createSelfCheck,
  type Ended,
  type ReachabilityQuestion,
} from '../../../probe/schedule/self-check.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import type { Verdict } from '../../../shared/checks/result.ts';
import { portOf } from '../../support/connections.ts';
import { assignmentOf } from '../support/checkers.ts';

describe('rule 2: a failure below http counts', () => {
  const none = { longest: 0, inAll: 0 };

  /** Whose fault failures are, of a probe that reaches nothing but what its checks told of. */
  const probe = (
    heldUp: (since: number) => ProcessDelay = () => none,
    anchors: readonly string[] = [],
  ) =>
    createSelfCheck({
      guard: createGuard({ allow: ['10.0.0.0/8'], bus: () => [], own: () => [] }),
      reachability: createReachability({
        anchors: () => anchors,
        busCounts: () => false,
        busRoundTrip: () => Promise.resolve(),
      }),
      pulse: { heldUp },
    });

  const [shop, bank] = [
    assignmentOf('https://shop.example/'),
    assignmentOf('https://bank.example/', { timeout_ms: 10_000 }),
  ];
  const dns = (resolver: string) =>
    assignmentOf('shop.example', { kind: 'dns', config: { resolver } });

  const ended = (
    of: Assignment,
    began: number,
    asked: readonly string[] = ['93.184.215.14'],
  ): Ended => ({
    assignment: of,
    asked,
    began,
    ended: began + 100,
  });
  const passed: Verdict = { outcome: 'ok', cause: null, phases: null, evidence: {} };
  const failed = (name: string): Verdict => ({
    ...passed,
    outcome: 'fail',
    cause: { class: name, params: {} },
  });

  test('when another host has answered since the check began, and not by the same host', async () => {
    const selfCheck = probe();
    expect(selfCheck(passed, ended(shop, 1_000))).toBe(passed);
    const same = assignmentOf('https://shop.example:8443/other');
    expect(await selfCheck(failed('timed_out'), ended(same, 1_050))).toMatchObject({
      outcome: 'unknown',
      cause: { class: 'probe_unvouched' },
    });
    expect(await selfCheck(failed('timed_out'), ended(bank, 1_050))).toMatchObject({
      outcome: 'fail',
    });
    expect(await selfCheck(failed('timed_out'), ended(bank, 1_101))).toMatchObject({
      outcome: 'unknown',
    });
  });

  test('when a resolver has answered, and not by the same resolver, nor is a resolver the host of that name', async () => {
    const selfCheck = probe();
    selfCheck(passed, ended(dns('9.9.9.9'), 1_000));
    expect(await selfCheck(failed('dns_silent'), ended(dns('9.9.9.9'), 1_000))).toMatchObject({
      outcome: 'unknown',
    });
    expect(await selfCheck(failed('dns_silent'), ended(dns('1.1.1.1'), 1_000))).toMatchObject({
      outcome: 'fail',
    });
    expect(
      await selfCheck(failed('timed_out'), ended(assignmentOf('https://9.9.9.9/'), 1_000)),
    ).toMatchObject({ outcome: 'fail' });
  });

  test('by a host that answered with a failure of its own, but by no check that got nowhere', async () => {
    const selfCheck = probe();
    selfCheck(passed, ended(assignmentOf('', { kind: 'heartbeat' }), 1_000, []));
    selfCheck(failed('connection_refused'), ended(shop, 1_000));
    expect(await selfCheck(failed('timed_out'), ended(bank, 1_000))).toMatchObject({
      outcome: 'unknown',
    });
    selfCheck(failed('unexpected_status'), ended(shop, 1_000));
    expect(await selfCheck(failed('timed_out'), ended(bank, 1_000))).toMatchObject({
      outcome: 'fail',
    });
  });

  test('outside by what is outside in all that it asked, inside by what is inside too', async () => {
    const inside = ['10.0.0.7'];
    const both = ['10.0.0.7', '93.184.215.14'];
    for (const reached of [inside, both]) {
      const selfCheck = probe();
      selfCheck(passed, ended(shop, 1_000, reached));
      expect(await selfCheck(failed('timed_out'), ended(bank, 1_000))).toMatchObject({
        outcome: 'unknown',
      });
      expect(await selfCheck(failed('timed_out'), ended(bank, 1_000, both))).toMatchObject({
        outcome: 'unknown',
      });
      expect(await selfCheck(failed('timed_out'), ended(bank, 1_000, []))).toMatchObject({
        outcome: 'unknown',
      });
      expect(await selfCheck(failed('timed_out'), ended(bank, 1_000, inside))).toMatchObject({
        outcome: 'fail',
      });
    }
  });

  test('by an anchor that refuses, unless the failure is a refusal itself', async () => {
    const server = createServer();
    const port = await portOf(server);
    await new Promise((resolve) => server.close(resolve));
    const selfCheck = probe(() => none, [`127.0.0.1:${port}`]);
    const now = performance.now();
    expect(await selfCheck(failed('timed_out'), ended(shop, now))).toMatchObject({
      outcome: 'fail',
    });
    expect(await selfCheck(failed('connection_refused'), ended(shop, now))).toMatchObject({
      outcome: 'unknown',
    });
  });

  test('unless the probe was held up while it ran, or it ended long after its limit', async () => {
    const selfCheck = probe((since) => (since >= 5_000 ? none : { longest: 2_001, inAll: 2_001 }));
    selfCheck(passed, ended(shop, 90_000));
    const failure = (began: number, took: number) =>
      selfCheck(failed('timed_out'), { ...ended(bank, began), ended: began + took });
    expect(await failure(4_999, 10_000)).toMatchObject({ cause: { class: 'probe_held_up' } });
    expect(await failure(5_000, 11_000)).toMatchObject({ outcome: 'fail' });
    expect(await failure(5_000, 11_001)).toMatchObject({ cause: { class: 'probe_held_up' } });
  });

  test('is decided at once when no other host is needed', () => {
    const answered = failed('unexpected_status');
    expect(probe()(answered, ended(shop, 1_000))).toBe(answered);
  });
});

describe('reachability', () => {
  let anchor: Server;
  let anchorAddress: string;
  let knocks: number;

  beforeEach(async () => {
    knocks = 0;
    anchor = createServer((socket) => {
      knocks += 1;
      socket.destroy();
    });
    anchorAddress = `127.0.0.1:${await portOf(anchor)}`;
  });
  afterEach(() => {
    anchor.close();
  });

  const noBus = () => Promise.reject(new Error('no bus'));
  const alone = () => createReachability({ anchors: () => [], busRoundTrip: noBus });
  const asked = (more: Partial<ReachabilityQuestion> = {}): ReachabilityQuestion => ({
    host: 'a',
    since: 1_000,
    wasRefused: false,
    isInside: false,
    ...more,
  });

  describe('a probe vouches for itself', () => {
    test('by another host that answered since the check began', async () => {
      const reachability = alone();
      reachability.reached('b', 1_500, false);
      expect(await reachability.reachedOther(asked())).toBe(true);
    });

    test('also when the host in question was itself the last to answer', async () => {
      const reachability = alone();
      reachability.reached('b', 1_500, false);
      reachability.reached('a', 1_600, false);
      reachability.reached('a', 1_700, false);
      expect(await reachability.reachedOther(asked())).toBe(true);
    });

    test('not by the host in question, and not by one that answered before', async () => {
      const reachability = alone();
      reachability.reached('b', 999, false);
      reachability.reached('a', 1_600, false);
      expect(await reachability.reachedOther(asked())).toBe(false);
    });

    test('not for an external target by an internal one, which it reaches without its way out; but for an internal one too', async () => {
      const reachability = alone();
      reachability.reached('b', 1_500, true);
      reachability.reached('c', 1_600, true);
      expect(await reachability.reachedOther(asked())).toBe(false);
      expect((await reachability.selfTest()).ok).toBe(false);
      expect(await reachability.reachedOther(asked({ isInside: true }))).toBe(true);
      reachability.reached('d', 1_400, false);
      reachability.reached('b', 1_700, true);
      expect(await reachability.reachedOther(asked())).toBe(true);
    });

    test('by an anchor that can be reached', async () => {
      const reachability = createReachability({
        anchors: () => [anchorAddress],
        busRoundTrip: noBus,
      });
      expect(await reachability.reachedOther(asked({ since: performance.now() }))).toBe(true);
    });

    test('by the bus, when the anchors are silent', async () => {
      const reachability = createReachability({
        anchors: () => [],
        busRoundTrip: () => Promise.resolve(),
      });
      expect(await reachability.reachedOther(asked({ since: performance.now() }))).toBe(true);
    });

    test('not by the bus where it does not count, because the operator chose other anchors', async () => {
      const reachability = createReachability({
        anchors: () => ['127.0.0.1:1'],
        busCounts: () => false,
        busRoundTrip: () => Promise.resolve(),
      });
      expect(
        await reachability.reachedOther(asked({ since: performance.now(), wasRefused: true })),
      ).toBe(false);
    });

    test('by an anchor that refuses, but not for a refusal', async () => {
      anchor.close();
      await once(anchor, 'close');
      const reachability = createReachability({
        anchors: () => [anchorAddress],
        busRoundTrip: noBus,
      });
      expect(await reachability.reachedOther(asked({ since: performance.now() }))).toBe(true);
      expect(
        await reachability.reachedOther(asked({ since: performance.now(), wasRefused: true })),
      ).toBe(false);
    });

    test('not by an invalid anchor', async () => {
      const reachability = createReachability({
        anchors: () => ['nonsense', 'host:99999'],
        busRoundTrip: noBus,
      });
      expect(await reachability.reachedOther(asked({ since: performance.now() }))).toBe(false);
    });
  });

  describe('failures that come together', () => {
    test('ask the anchors once', async () => {
      const reachability = createReachability({
        anchors: () => [anchorAddress],
        busRoundTrip: noBus,
      });
      const since = performance.now();
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => reachability.reachedOther(asked({ since }))),
      );
      expect(answers).toEqual(Array.from({ length: 50 }, () => true));
      expect(knocks).toBeLessThanOrEqual(1);
    });

    test('ask again when the last attempt found nothing', async () => {
      const anchors: string[] = [];
      const reachability = createReachability({ anchors: () => anchors, busRoundTrip: noBus });
      const since = performance.now();
      expect(await reachability.reachedOther(asked({ since }))).toBe(false);
      anchors.push(anchorAddress);
      expect(await reachability.reachedOther(asked({ since }))).toBe(true);
    });
  });

  describe('the self-test', () => {
    test('fails when neither a target nor an anchor answers', async () => {
      expect(await alone().selfTest()).toEqual({
        ok: false,
        detail: 'no target and no anchor answers',
      });
    });

    test('passes when a target answered lately', async () => {
      const reachability = alone();
      reachability.reached('b', performance.now(), false);
      expect((await reachability.selfTest()).ok).toBe(true);
    });
  });
});
