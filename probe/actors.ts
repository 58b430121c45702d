/**
 * Every long-lived part of a probe. Only these names can be started, and a test compares them with
 * what a running probe has. Logs use them.
 *
 *   process
 *   └─ probe          app.ts; ends its parts in the reverse of this order
 *      ├─ data folder, bus, knowledge, bus addresses
 *      ├─ assignments, reporter, presence
 *      ├─ name look-ups, runner
 *      ├─ ping receiver, receiver keys
 *      └─ deadlines, wheel
 *
 * What a check throws is caught by the runner, and only that check fails. Any other error ends the
 * process: results are on disk by then, and whatever runs it starts a new one.
 */
export const actors = {
  'data folder': of('the lock of the folder', '–', 'nothing'),
  bus: of('one connection', 'all messages', 'nothing; it connects again'),
  knowledge: of('keys and addresses, on disk', 'a reply to a presence', 'nothing'),
  'bus addresses': of('addresses that no check may reach', 'tick', 'nothing'),
  assignments: of('what to check, on disk', 'an assignment, the roster', 'nothing'),
  reporter: of('results, on disk', 'a result, a receipt', 'nothing; they are on disk'),
  presence: of('whether it is heard', 'tick, a reply', 'nothing; it comes every 5 s'),
  'name look-ups': of('sockets', 'a question', 'the questions under way'),
  runner: of('checks under way', 'a turn, a recheck, a test run', 'the checks under way'),
  'ping receiver': of('pings, on disk', 'a ping', 'nothing; a job may send it again'),
  'receiver keys': of('keys of heartbeats, on disk', 'tick, a key', 'nothing'),
  deadlines: of('when heartbeats are judged', 'tick', 'nothing'),
  wheel: of('when monitors are due', 'tick', 'nothing'),
} as const;

export type ActorName = keyof typeof actors;

type Row = {
  readonly state: string;
  readonly messages: string;
  /** What is lost when it fails, and nobody has again. */
  readonly loses: string;
};

function of(state: string, messages: string, loses: string): Row {
  return { state, messages, loses };
}
