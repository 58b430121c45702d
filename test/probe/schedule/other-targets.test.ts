import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Checked, createOtherTargets } from '../../../probe/schedule/other-targets.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import { type Cause, noPhases, type Phases } from '../../../shared/checks/result.ts';
import { assignmentOf } from '../support/checkers.ts';
import { down, good, type HandRunner, startHandRunner } from '../support/surroundings.ts';

const whole: Phases = { dns: 1, tcp: 2, tls: 3, first_byte: 4, total: 5 };
const untrusted: Cause = { class: 'certificate_untrusted', params: {} };
const refused: Cause = { class: 'connection_refused', params: {} };
const silentIn = (phase: string): Cause => ({ class: 'timed_out', params: { phase } });

const checked = (
  target: string,
  cause: Cause | null = null,
  phases: Phases | null = whole,
  began = 100_000,
): Checked => ({
  assignment: assignmentOf(target),
  verdict: { outcome: cause ? 'fail' : 'ok', cause, phases },
  began,
  ended: began + 100,
});

describe('rule 46: how the other targets of a probe fare', () => {
  const of = (known: readonly Checked[], failed: Checked, since = failed.began) => {
    const others = createOtherTargets();
    for (const check of known) others.note(new URL(check.assignment.target).hostname, check);
    return others.besides(new URL(failed.assignment.target).hostname, { ...failed, since });
  };
  const shop = (cause: Cause, phases: Phases = { ...noPhases, dns: 1, tcp: 2 }) =>
    checked('https://shop.example/', cause, phases);

  test('is counted in the layer in which one fails', () => {
    const known = [
      checked('https://a.example/', untrusted, { ...noPhases, dns: 1, tcp: 2 }),
      checked('https://b.example/', silentIn('tls'), { ...noPhases, dns: 1, tcp: 2 }),
      checked('http://c.example/', null, { ...whole, tls: null }),
    ];
    expect(of(known, shop(untrusted))).toEqual({ passed: 0, failed: 2 });
    expect(of(known, shop(refused))).toEqual({ passed: 3, failed: 0 });
    expect(of(known, shop(silentIn('first_byte')))).toEqual({ passed: 1, failed: 0 });
  });

  test('of a name is told by names, because a resolver that is wrong fails no addresses', () => {
    const known = [checked('https://192.0.2.1/'), checked('https://a.example/', refused, noPhases)];
    expect(of(known, shop(refused))).toEqual({ passed: 0, failed: 1 });
    expect(of(known, checked('https://192.0.2.9/', refused))).toEqual({ passed: 1, failed: 1 });
  });

  test('is known of other hosts, and by the newest check of each', () => {
    expect(of([shop(untrusted)], shop(untrusted))).toBeUndefined();
    const again = [checked('https://a.example/', untrusted), checked('https://a.example/')];
    expect(of(again, shop(untrusted))).toEqual({ passed: 1, failed: 0 });
  });

  test('is what was checked since it began to fail, and for a minute: before, the probe was well', () => {
    const before = checked('https://a.example/', null, whole, 99_999);
    expect(of([before], shop(untrusted))).toBeUndefined();
    const meanwhile = checked(
      'https://a.example/',
      untrusted,
      { ...noPhases, dns: 1, tcp: 2 },
      100_050,
    );
    const later = (began: number) =>
      checked('https://shop.example/', untrusted, { ...noPhases, dns: 1, tcp: 2 }, began);
    expect(of([before, meanwhile], later(101_000), 100_000)).toEqual({ passed: 0, failed: 1 });
    expect(of([meanwhile], later(160_000), 100_000)).toBeUndefined();
    expect(of([meanwhile], later(101_000))).toBeUndefined();
  });

  test('is to be checked of those that took the same step, where it is not known', () => {
    const others = createOtherTargets();
    for (const check of [
      checked('https://a.example/', null, whole, 90_000),
      checked('http://plain.example/', null, { ...whole, tls: null }, 90_000),
    ])
      others.note(new URL(check.assignment.target).hostname, check);
    const taken = others.take('shop.example', { ...shop(untrusted), since: 100_000 });
    expect(taken.map(({ target }) => target)).toEqual(['https://a.example/']);
  });

  test('is checked seldom, and of different targets, however many fail', () => {
    const others = createOtherTargets();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `${name}.example`);
    const note = (name: string, began: number) =>
      others.note(name, checked(`https://${name}/`, null, whole, began));
    for (const name of names) note(name, 90_000);
    const times = new Map<string, number[]>();
    for (let began = 100_000; began < 160_000; began += 50) {
      const failed = checked(`https://${began}.example/`, untrusted, whole, began);
      for (const { target } of others.take(`${began}.example`, { ...failed, since: began })) {
        const { hostname } = new URL(target);
        note(hostname, began + 10);
        times.set(hostname, [...(times.get(hostname) ?? []), began]);
      }
    }
    expect([...times.keys()].toSorted()).toEqual(names);
    for (const taken of times.values()) expect(taken).toHaveLength(6);
  });
});

describe('rule 46: a runner that knows nothing of its other targets', () => {
  let hand: HandRunner;
  beforeEach(() => {
    hand = startHandRunner();
  });
  afterEach(() => hand.close());

  const shop = assignmentOf('https://shop.example/');
  const passed = { ...good, phases: whole };
  const failed = { ...down, cause: untrusted };
  const check = async (assignment: Assignment, verdict: typeof good): Promise<void> => {
    const [started, reported] = [hand.started.length, hand.reported.length];
    hand.turn(assignment);
    await hand.untilStarted(started + 1);
    hand.started[started]?.end(verdict);
    await hand.untilReported(reported + 1);
  };

  test('says so with the failures of others that it has just checked', async () => {
    for (const name of ['a', 'b']) await check(assignmentOf(`https://${name}.example/`), passed);
    await check(shop, failed);
    expect(hand.reported.at(-1)?.result).not.toHaveProperty('others');
    // Both others are checked now.
    await hand.untilStarted(5);
    for (const check of hand.started.slice(3)) check.end({ ...good, phases: whole });
    await check(shop, failed);
    expect(hand.reported.at(-1)?.result.others).toEqual({ passed: 2, failed: 0 });
  });

  test('knows since when a target fails, though another of its host passes in between', async () => {
    await check(shop, failed);
    for (const name of ['a', 'b', 'c'])
      await check(assignmentOf(`https://${name}.example/`), passed);
    await check(assignmentOf('https://shop.example/about'), passed);
    await check(shop, failed);
    expect(hand.reported.at(-1)?.result.others).toEqual({ passed: 3, failed: 0 });
  });
});
