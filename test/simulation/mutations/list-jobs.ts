import { core, type Mutation } from './types.ts';

/** What could be wrong with how heartbeats are judged. */
export const jobMutations: readonly Mutation[] = [
  {
    name: 'a good ping that comes late changes nothing',
    file: core('heartbeat'),
    text: 'if (!found) {',
    instead: 'if (!found || found.id !== "") {',
    tells: 'job',
    seed: 31,
  },
  {
    name: 'the grace of a heartbeat is 0',
    file: 'shared/checks/heartbeat/state.ts',
    text: 'due === undefined ? Number.POSITIVE_INFINITY : due + terms.grace_ms;',
    instead: 'due === undefined ? Number.POSITIVE_INFINITY : due + 0 * terms.grace_ms;',
    tells: 'job',
    seed: 2,
  },
  {
    name: 'a run of a job has twice its time',
    file: 'shared/checks/heartbeat/state.ts',
    text: 'state.open.map(({ at }) => at + max_run_ms).find(',
    instead: 'state.open.map(({ at }) => at + 2 * max_run_ms).find(',
    tells: 'job',
    seed: 1,
  },
  {
    name: 'a good ping that comes late ends nothing before what the job said later',
    file: core('heartbeat'),
    text: 'confirmed_at !== null && confirmed_at > at ? at : confirmed_at;',
    instead: 'confirmed_at !== null && confirmed_at < at ? at : confirmed_at;',
    tells: 'job',
    seed: 910043,
  },
  {
    name: 'a failure that was told late leaves nothing',
    file: core('heartbeat'),
    text: "  if (!closed) {\n    write(draft, past(draft, id, failure, at, until), 'opened');",
    instead: '  if (!closed) {',
    tells: 'job',
    seed: 54,
  },
];
