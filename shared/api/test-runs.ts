import {
  array,
  boolean,
  dateTime,
  dict,
  integer,
  maybe,
  nullable,
  number,
  object,
  optional,
  string,
  uuid,
} from './fields.ts';
import { MonitorIn } from './monitors.ts';
import { exampleIds, operation } from './operation.ts';

/** Test runs of a config, without a monitor or before one is saved (rule 41). */

/** As long as an answer may be waited for: shorter than clients and proxies wait at most. */
const longestWaitS = 25;

const wait_s = optional(
  integer(
    { ge: 0, le: longestWaitS },
    {
      description:
        'How many seconds to wait until all probes have answered. After that it is answered as far as it is: go on with getTest. 0 does not wait.',
    },
  ),
  20,
);

const TestedProbeOut = object('TestedProbeOut', {
  continent: string({ example: 'Europe' }),
  probe: string({ meaning: 'The probe.', example: 'fra-1' }),
});

const TestAnswerOut = object('TestAnswerOut', {
  continent: string({ example: 'Europe' }),
  probe: string({ meaning: 'The probe.', example: 'fra-1' }),
  at: dateTime({ meaning: 'When the check began.', example: '2026-11-18T04:03:35.000Z' }),
  outcome: string({
    description:
      '`ok`, `fail`, or `unknown` where the probe has no result, which says nothing of the target.',
    example: 'ok',
  }),
  took_ms: number({ meaning: 'How long the check took, in milliseconds.', example: 61.2 }),
  cause: nullable(string(), {
    description: 'Why it failed, in one sentence.',
    example: null,
  }),
  phases: nullable(dict(), {
    description: 'How long each phase of the check took, in milliseconds.',
    example: { dns: 3.1, tcp: 7.8, tls: 12.5, first_byte: 30.6, total: 61.2 },
  }),
  evidence: nullable(dict(), {
    description:
      'What the check itself received. It came from the target: show it as text, never as markup.',
    example: { status: 200, address: '203.0.113.7:443' },
  }),
});

const TestOut = object('TestOut', {
  id: uuid({ example: exampleIds.test }),
  over: boolean({
    description: 'Whether no more answers come: all have answered, or their time is over.',
    example: true,
  }),
  verdict: nullable(string(), {
    description:
      'Once it is over: `ok` or `fail` where all answers agree, `mixed` where they differ, `unknown` where no probe has a result.',
    example: 'ok',
  }),
  asked: array(TestedProbeOut, { description: 'The probes that check, one of each continent.' }),
  answers: array(TestAnswerOut, {
    description:
      'In the order in which they came. A probe that does not answer in time is left out.',
  }),
});

/** As of a monitor. */
const { type, target, interval_s, config } = MonitorIn.shape;

export const createTest = operation({
  id: 'createTest',
  method: 'POST',
  path: '/api/v1/tests',
  tag: 'Tests',
  access: 'write',
  summary: 'Check a target once, now, from every continent',
  description:
    'As a monitor with this config would be checked: `config.places`, `config.continents` or `config.probe` chooses from where. No incident begins, nobody is notified, and no history has it; with an Idempotency-Key the answer is kept for a repeat of the call, as of every call. An organisation may run ten a minute. The result can be read for a minute after it is over.',
  body: object('TestIn', {
    type,
    target,
    interval_s,
    config,
    monitor: maybe(uuid(), {
      description:
        'The monitor that this would be an edit of: `***` then stands for its secrets, while the address stays on its host.',
      example: exampleIds.monitor,
    }),
    wait_s,
  }),
  response: TestOut,
  success: 201,
  refusals: [
    ...([
      'monitor_type_unknown',
      'target_invalid',
      'target_forbidden',
      'config_invalid',
      'interval_out_of_range',
      'nobody_can_check',
      'place_unknown',
    ] as const),
    ...(['plan_limit_interval', 'monitor_not_found', 'test_impossible', 'test_limit'] as const),
  ],
});

export const getTest = operation({
  id: 'getTest',
  method: 'GET',
  path: '/api/v1/tests/{test_id}',
  tag: 'Tests',
  access: 'read',
  summary: 'Get the results of a test',
  description: 'For its creator alone, until a minute after it is over.',
  params: { test_id: uuid() },
  query: {
    known: maybe(integer({ ge: 0, le: 100 }), {
      description:
        'How many answers you have already: it is answered as soon as there are more, or the test is over.',
    }),
    wait_s,
  },
  response: TestOut,
  refusals: ['test_not_found'],
});
