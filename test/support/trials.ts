/**
 * For test files: trials whose answers come when the test says so, beside a network where they come
 * from probes.
 */

import type {
  AskedProbe,
  TestAnswer,
  TestRunRequest,
  TestRunsPart,
} from '../../coordinator/monitors/test-run.ts';
import { newId } from '../../shared/base/crypto.ts';

type Open = { readonly wanted: TestRunRequest; readonly answers: TestAnswer[]; over: boolean };

type TestRunsByHand = {
  readonly part: TestRunsPart;
  /** What was asked for, oldest first. */
  readonly wanted: readonly TestRunRequest[];
  /** An answer to the newest trial. */
  readonly answer: (continent: string, more?: Partial<TestAnswer>) => void;
  /** No more answers come to it. */
  readonly end: () => void;
  /**
   * It is known no more, as after its coordinator was replaced; or the next question about it
   * fails, as never should be.
   */
  readonly lose: (how: 'forgotten' | 'failing') => void;
};

export const createTestRunsByHand = (asked: readonly AskedProbe[]): TestRunsByHand => {
  const open = new Map<string, Open>();
  const waiting = new Set<() => void>();
  let lost: 'forgotten' | 'failing' | undefined;
  const newest = (): Open => {
    const trial = [...open.values()].at(-1);
    if (!trial) throw new Error('nothing is being tried');
    return trial;
  };
  const wake = (): void => {
    for (const go of [...waiting]) go();
    waiting.clear();
  };
  return {
    get wanted() {
      return [...open.values()].map(({ wanted }) => wanted);
    },
    part: {
      begin: (wanted) => {
        const id = newId();
        lost = undefined;
        open.set(id, { wanted, answers: [], over: asked.length === 0 });
        return id;
      },
      hear: async (id, of, { known, waitMs }) => {
        const trial = open.get(id);
        if (!trial || trial.wanted.user !== of.user) return undefined;
        // A test says when it is over: whoever waits at all waits for that.
        while (waitMs > 0 && !trial.over && !lost && trial.answers.length <= known)
          await new Promise<void>((go) => waiting.add(go));
        if (lost === 'failing') throw new Error('the test wanted it to fail');
        if (lost === 'forgotten') return undefined;
        return { asked, answers: [...trial.answers], over: trial.over };
      },
    },
    answer: (continent, more = {}) => {
      const trial = newest();
      const probe = asked.find((each) => each.continent === continent)?.probe ?? continent;
      const usual = {
        at: Date.now(),
        took_ms: 61,
        outcome: 'ok',
        cause: null,
        phases: { dns: 3, tcp: 8, tls: 13, first_byte: 30, total: 61 },
      } as const;
      trial.answers.push({ ...usual, continent, probe, evidence: { status: 200 }, ...more });
      trial.over = trial.answers.length === asked.length;
      wake();
    },
    end: () => {
      newest().over = true;
      wake();
    },
    lose: (how) => {
      lost = how;
      wake();
    },
  };
};

const cause = { class: 'unexpected_status', params: { status: 503, expected: '2xx' } } as const;

/** One of each outcome, at once. */
const answersOfDemo: readonly TestAnswer[] = [
  {
    continent: 'Europe',
    probe: 'Frankfurt',
    at: Date.UTC(2026, 10, 22, 14),
    took_ms: 61,
    outcome: 'ok',
    cause: null,
    phases: { dns: 3, tcp: 8, tls: 13, first_byte: 31, total: 61 },
    evidence: { status: 200, address: '203.0.113.10:443' },
  },
  {
    continent: 'North America',
    probe: 'Virginia',
    at: Date.UTC(2026, 10, 22, 14),
    took_ms: 263,
    outcome: 'fail',
    cause,
    phases: { dns: 8, tcp: 84, tls: 98, first_byte: 71, total: 263 },
    evidence: {
      status: 503,
      address: '203.0.113.10:443',
      body: 'upstream connect error or disconnect/reset before headers',
      headers: [
        ['content-type', 'text/plain'],
        ['server', 'envoy'],
      ],
    },
  },
  {
    continent: 'Asia',
    probe: 'Singapore',
    at: Date.UTC(2026, 10, 22, 14),
    took_ms: 10_000,
    outcome: 'unknown',
    cause: null,
    phases: null,
    evidence: null,
  },
];

/** What the demo is tried with. */
export const testRunsOfDemo: TestRunsPart = {
  begin: newId,
  hear: async () => ({
    asked: answersOfDemo.map(({ continent, probe }) => ({ continent, probe })),
    answers: answersOfDemo,
    over: true,
  }),
};
