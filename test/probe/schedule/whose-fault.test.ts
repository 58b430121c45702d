import { describe, expect, test } from 'vitest';
import { needsSelfCheck, reachedTarget, settle } from '../../../probe/schedule/self-check.ts';
import { causeLayer, causeSentence } from '../../../shared/checks/causes.ts';
import { dnsCauses } from '../../../shared/checks/dns/causes.ts';
import { heartbeatCauses } from '../../../shared/checks/heartbeat/causes.ts';
import { httpsCauses } from '../../../shared/checks/https/causes.ts';
import type { Cause } from '../../../shared/checks/result.ts';
import { noPhases, type Outcome, type Verdict } from '../../../shared/checks/result.ts';

const verdict = (outcome: Outcome, name?: string): Verdict => {
  const cause: Cause | null = name === undefined ? null : { class: name, params: {} };
  return { outcome, cause, phases: noPhases, evidence: { seen: 1 } };
};

describe('a failure below http counts only if the probe vouches for itself', () => {
  test.each(['name_not_found', 'connection_refused', 'certificate_expired', 'timed_out'])('%s', (name) => {
    const failed = verdict('fail', name);
    expect(needsSelfCheck(failed)).toBe(true);
    expect(reachedTarget(failed)).toBe(false);
    expect(settle(failed, { reached_other: true })).toBe(failed);
    expect(settle(failed, { reached_other: false })).toMatchObject({
      outcome: 'unknown',
      cause: { class: 'probe_unvouched' },
      evidence: { seen: 1, would_be: name },
    });
  });

  test.each(['unexpected_status', 'response_malformed', 'body_lacks', 'redirect_loop'])('%s is an answer, and counts by itself', (name) => {
    const failed = verdict('fail', name);
    expect(needsSelfCheck(failed)).toBe(false);
    expect(reachedTarget(failed)).toBe(true);
    expect(settle(failed, { reached_other: false, overrun_ms: 60_000 })).toBe(failed);
  });

  test('what is fine or unknown already stays as it is', () => {
    for (const one of [verdict('ok'), verdict('unknown', 'probe_internal')]) expect(settle(one, { reached_other: false })).toBe(one);
    expect(reachedTarget(verdict('ok'))).toBe(true);
    expect(reachedTarget(verdict('unknown', 'probe_internal'))).toBe(false);
  });

  test('what is unknown, or a failure without a cause, is nobody’s word', () => {
    for (const one of [verdict('unknown', 'timed_out'), verdict('unknown', 'unexpected_status'), verdict('fail')]) {
      expect(needsSelfCheck(one)).toBe(false);
      expect(reachedTarget(one)).toBe(false);
      expect(settle(one, { reached_other: false })).toBe(one);
    }
  });

  test('what the probe’s own resolver said may come from its memory, and vouches for nobody', () => {
    for (const said of [verdict('ok'), verdict('fail', 'unexpected_status')]) {
      expect(reachedTarget({ ...said, evidence: { resolver: { address: '127.0.0.1', own: true } } })).toBe(false);
      for (const resolver of [{ address: '192.0.2.1', own: false }, { address: '192.0.2.1' }, null, 'own'])
        expect(reachedTarget({ ...said, evidence: { resolver } })).toBe(true);
    }
  });

  test('what becomes unknown keeps all that was seen', () => {
    expect(settle(verdict('fail', 'timed_out'), { reached_other: false })).toEqual({
      outcome: 'unknown',
      cause: { class: 'probe_unvouched', params: {} },
      phases: noPhases,
      evidence: { seen: 1, would_be: 'timed_out' },
    });
  });

  test('a check that the probe itself held up says nothing about its target, whoever vouches', () => {
    const failed = verdict('fail', 'timed_out');
    expect(settle(failed, { reached_other: true, overrun_ms: 1_001 })).toMatchObject({
      outcome: 'unknown',
      cause: { class: 'probe_held_up' },
    });
    expect(settle(failed, { reached_other: true, overrun_ms: 1_000 })).toBe(failed);
  });
});

const heldUp = { outcome: 'unknown', cause: { class: 'probe_held_up' } };

test('a check in which the probe stood still for a fifth of the time limit says nothing either', () => {
  const refused = verdict('fail', 'connection_refused');
  expect(settle(refused, { reached_other: true, held_up: { longest: 2_001, inAll: 2_001, limit_ms: 10_000 } })).toMatchObject(heldUp);
  expect(settle(refused, { reached_other: true, held_up: { longest: 2_000, inAll: 2_000, limit_ms: 10_000 } })).toBe(refused);
  const told = verdict('fail', 'unexpected_status');
  expect(settle(told, { reached_other: true, held_up: { longest: 9_000, inAll: 9_000, limit_ms: 10_000 } })).toBe(told);
});

test('a silence is the probe’s own, too, when its steps waited for it as long together; what the target said in so many words counts', () => {
  const slow = { longest: 300, inAll: 2_001, limit_ms: 10_000 };
  for (const silence of ['timed_out', 'dns_silent'])
    expect(settle(verdict('fail', silence), { reached_other: true, held_up: slow })).toMatchObject(heldUp);
  for (const said of ['connection_refused', 'connection_reset', 'certificate_self_signed']) {
    const failed = verdict('fail', said);
    expect(settle(failed, { reached_other: true, held_up: slow })).toBe(failed);
  }
});

describe('the closed list of causes', () => {
  test('names each class once over all kinds, so that none hides another', () => {
    const names = [httpsCauses, dnsCauses, heartbeatCauses].flatMap((table) => Object.keys(table));
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  test('has a sentence for a class of a newer version too', () => {
    expect(causeSentence({ class: 'quantum_noise', params: {} })).toBe('Failed (quantum noise)');
    expect(causeLayer({ class: 'constructor', params: {} })).toBe('assertion');
  });
});
