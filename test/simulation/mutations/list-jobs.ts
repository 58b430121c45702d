import { always, instead, leftOut, mutationsOf } from './types.ts';

const mutation = mutationsOf('job');

/** What could be wrong with how heartbeats are judged. */
export const jobMutations = [
  mutation(
    'a good ping that comes late changes nothing',
    'coordinator/core/heartbeat.ts#goodThatCameLate',
    always('!found'),
    31,
  ),
  mutation(
    'the grace of a heartbeat is 0',
    'shared/checks/heartbeat/state.ts#graceAfter',
    instead('due + terms.grace_ms', 'due'),
    2,
  ),
  mutation(
    'a run of a job has twice its time',
    'shared/checks/heartbeat/state.ts#lapseOf',
    instead('at + max_run_ms', 'at + 2 * max_run_ms'),
    1,
  ),
  mutation(
    'a good ping that comes late ends nothing before what the job said later',
    'coordinator/core/heartbeat.ts#confirmedBefore',
    instead('confirmed_at > at', 'confirmed_at < at'),
    910043,
  ),
  mutation(
    'a failure that was told late leaves nothing',
    'coordinator/core/heartbeat.ts#badThatCameLate',
    leftOut("write(draft, past(draft, id, failure, at, until), 'opened')"),
    54,
  ),
];
