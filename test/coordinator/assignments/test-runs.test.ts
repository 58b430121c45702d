import { afterEach, expect, test } from 'vitest';
import { createTestRuns, type TestRuns } from '../../../coordinator/assignments/test-runs.ts';
import { verdictOf } from '../../../coordinator/monitors/test-run.ts';
import { newId } from '../../../shared/base/crypto.ts';
import type { Message } from '../../../shared/bus/nats.ts';
import { subjects } from '../../../shared/bus/subjects.ts';

let made: TestRuns | undefined;
afterEach(() => made?.close());

/** A coordinator that hears of others' test runs; `signed`: whether they prove who says so. */
const coordinator = (signed: boolean) => {
  let heard: (message: Message) => void = () => undefined;
  made = createTestRuns({
    bus: {
      isConnected: () => true,
      publish: () => expect.fail('it says nothing itself'),
      subscribe: (_, handler) => {
        heard = (message) => void handler(message);
        return { stop: () => undefined };
      },
    },
    clock: { now: () => 0 },
    roster: () => expect.fail('it chooses no probes'),
    assignments: { trialFor: () => expect.fail('it asks nobody') },
    announcements: { read: () => (signed ? { revision: 1 } : undefined) },
    directory: { byId: () => undefined },
  });
  const begun = (said: object & { readonly trial: string }): void => {
    const subject = subjects.testRun(said.trial);
    const data = Buffer.from(JSON.stringify(said));
    heard({ subject, data, header: () => undefined, reply: undefined, respond: () => false });
  };
  return { runs: made, begun };
};

const owner = { organisation: newId(), user: newId() };
const asked = [{ id: newId(), probe: 'fra-1', continent: 'Europe' }];
const announcement = () => ({ v: 1, trial: newId(), ...owner, asked, lasts_ms: 60_000 });
const answerOf = ({ trial }: { readonly trial: string }) => ({
  v: 1 as const,
  probe: asked[0]?.id ?? '',
  trial,
  result: {
    at: 5,
    took_ms: 1,
    outcome: 'ok' as const,
    cause: null,
    phases: null,
    evidence: null,
  },
});
const atOnce = { known: 0, waitMs: 0 };

test('a coordinator that ends says what has come, and not that this is all', async () => {
  const { runs, begun } = coordinator(true);
  const said = announcement();
  begun(said);
  const waiting = runs.hear(said.trial, owner, { known: 0, waitMs: 60_000 });
  runs.close();
  expect(await waiting).toMatchObject({ answers: [], over: false });
});

test('a test run of another coordinator is read here, by its owner alone', async () => {
  const { runs, begun } = coordinator(true);
  const said = announcement();
  begun(said);
  runs.answered(answerOf(said));
  expect(await runs.hear(said.trial, owner, atOnce)).toMatchObject({
    over: true,
    answers: [{ probe: 'fra-1', continent: 'Europe', outcome: 'ok' }],
  });
  for (const other of [
    { ...owner, user: newId() },
    { ...owner, organisation: newId() },
  ])
    expect(await runs.hear(said.trial, other, atOnce)).toBeUndefined();
});

test('whoever asks before this coordinator is told of it waits for that', async () => {
  const { runs, begun } = coordinator(true);
  const said = announcement();
  const early = runs.hear(said.trial, owner, { known: 0, waitMs: 60_000 });
  begun(said);
  runs.answered(answerOf(said));
  expect(await early).toMatchObject({ answers: [{ outcome: 'ok' }], over: true });
  expect(await runs.hear(newId(), owner, { known: 0, waitMs: 60_000 })).toBeUndefined();
});

test('one that no coordinator signed is none, and so is one of another form', async () => {
  const forged = coordinator(false);
  const said = announcement();
  forged.begun(said);
  expect(await forged.runs.hear(said.trial, owner, atOnce)).toBeUndefined();
  forged.runs.close();
  const { runs, begun } = coordinator(true);
  const odd = { ...announcement(), asked: 'everybody' };
  begun(odd);
  expect(await runs.hear(odd.trial, owner, atOnce)).toBeUndefined();
});

test('whoever waits is answered when the time is over, with what is there', async () => {
  const { runs, begun } = coordinator(true);
  const said = announcement();
  begun(said);
  expect(await runs.hear(said.trial, owner, { known: 0, waitMs: 1 })).toMatchObject({
    over: false,
    answers: [],
  });
});

test.each([
  ['ok', ['ok', 'ok']],
  ['fail', ['fail', 'fail']],
  ['mixed', ['ok', 'fail', 'unknown']],
  ['ok', ['unknown', 'ok']],
  ['fail', ['fail', 'unknown']],
  ['unknown', ['unknown']],
  ['unknown', []],
] as const)('a test run is %s where the answers are %j', (verdict, outcomes) => {
  expect(verdictOf(outcomes.map((outcome) => ({ outcome })))).toBe(verdict);
});
