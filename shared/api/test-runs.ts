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
import { innerOperation } from './operation.ts';

/** Test runs of a config before it is saved (rule 41). */

const AskedProbe = object('AskedProbeOut', { continent: string(), probe: string() });

export const testMonitor = innerOperation({
  id: 'tryMonitor',
  access: 'write',
  summary: 'Test a config once from every continent',
  body: object('TrialIn', {
    type: string(),
    target: string(),
    interval_s: maybe(integer()),
    config: maybe(dict()),
    monitor: maybe(uuid(), {
      description:
        'The monitor that this would be an edit of: masks replace its secrets, while the address stays on its host.',
    }),
  }),
  response: object('TrialOut', {
    trial: uuid(),
    asked: array(AskedProbe, { description: 'The probes that check now.' }),
  }),
  refusals: [
    ...([
      'monitor_type_unknown',
      'target_invalid',
      'target_forbidden',
      'config_invalid',
      'interval_out_of_range',
      'nobody_can_check',
    ] as const),
    ...(['plan_limit_interval', 'monitor_not_found', 'trial_impossible', 'trial_limit'] as const),
  ],
});

const TestAnswerOut = object('TrialAnswerOut', {
  continent: string(),
  probe: string(),
  at: dateTime(),
  outcome: string({ description: '`ok`, `fail` or `unknown`.' }),
  took_ms: number(),
  cause: nullable(string()),
  phases: nullable(dict()),
  evidence: nullable(dict()),
});

export const getTestResults = innerOperation({
  id: 'hearTrial',
  access: 'read',
  summary: 'Get the results of a test so far; waits for more, or until it is over',
  params: { trial_id: uuid() },
  query: {
    known: optional(integer({ ge: 0 }, { description: 'How many answers are known already.' }), 0),
  },
  response: object('TrialSoFarOut', {
    asked: array(AskedProbe),
    answers: array(TestAnswerOut),
    over: boolean({ description: 'Probes that have not answered by then are left out.' }),
  }),
  refusals: ['trial_not_found'],
});
