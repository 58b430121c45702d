import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Checked, createOtherTargets } from '../../../probe/schedule/other-targets.ts';
import type { Cause, Phases } from '../../../shared/checks/result.ts';
import { noPhases } from '../../../shared/checks/result.ts';
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
  ended = 100_000,
): Checked => ({
  assignment: assignmentOf(target),
  verdict: { outcome: cause ? 'fail' : 'ok', cause, phases },
  ended,
});

describe('rule 46: how the other targets of a probe fare', () => {
  const of = (known: readonly Checked[], failed: Checked) => {
    const others = createOtherTargets();
    for (const check of known) others.note(new URL(check.assignment.target).hostname, check);
    return others.besides(new URL(failed.assignment.target).hostname, failed);
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

  test('is known for a minute, of other hosts, and by the newest check of each', () => {
    const old = checked('https://old.example/', null, whole, 39_999);
    expect(of([old], shop(untrusted))).toBeUndefined();
    expect(of([shop(untrusted)], shop(untrusted))).toBeUndefined();
    const again = [checked('https://a.example/', untrusted), checked('https://a.example/')];
    expect(of(again, shop(untrusted))).toEqual({ passed: 1, failed: 0 });
  });
});

describe('rule 46: a runner that knows nothing of its other targets', () => {
  let hand: HandRunner;
  beforeEach(() => {
    hand = startHandRunner();
  });
  afterEach(() => hand.close());

  test('says so with the failures of others that it has just checked', async () => {
    for (const name of ['a', 'b']) {
      hand.turn(assignmentOf(`https://${name}.example/`));
      await hand.untilStarted(hand.started.length + 1);
      hand.started.at(-1)?.end({ ...good, phases: whole });
    }
    await hand.untilReported(2);
    hand.turn(assignmentOf('https://shop.example/'));
    await hand.untilStarted(3);
    hand.started[2]?.end({ ...down, cause: untrusted });
    await hand.untilReported(3);
    expect(hand.reported[2]?.result.others).toEqual({ passed: 2, failed: 0 });
    expect(hand.reported[0]?.result).not.toHaveProperty('others');
  });
});
