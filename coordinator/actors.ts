/**
 * Every long-lived part of a coordinator. Only these names can be started, and a test compares them
 * with what a running coordinator has. Metrics and logs use them.
 *
 *   process
 *   └─ coordinator            app.ts; ends the process when it cannot start
 *      ├─ web server, senders, limits …
 *      ├─ mail, webhooks, page mails …
 *      └─ engine              engine.ts
 *         ├─ bus, database watch, presence, pings …
 *         ├─ tickers          each forgets nothing that the database does not have
 *         └─ leases           engine/ownership.ts
 *            └─ partition     one for each of its share of 32
 *
 * A failure never passes from one to another: each starts again by itself. An error that no part
 * takes ends the process, and whatever runs it starts a new one; the database and the bus have all
 * that it knew.
 */
export const actors = {
  // The coordinator's own.
  figures: of('coordinator', 'counts', 'a read of /metrics', 'counts since the start'),
  connections: of('coordinator', 'open connections', 'queries', 'the queries under way'),
  'last uses': of('coordinator', 'when credentials were used', 'a use', 'a minute of last uses'),
  limits: of('coordinator', 'calls of each token', 'a call', 'a second of counted calls'),
  publishing: of('coordinator', 'status pages just read', 'a visit, tick', 'nothing'),
  'live pages': of('coordinator', 'open streams', 'a change', 'nothing; browsers connect again'),
  senders: of('coordinator', 'connections to receivers', 'a message', 'nothing; it is sent again'),
  readers: of('coordinator', 'connections to registries', 'a question', 'nothing'),
  assistants: of('coordinator', 'documents of clients', 'a question', 'nothing'),
  engine: of('coordinator', 'all below it', '–', 'nothing'),
  'web server': of('coordinator', 'open requests', 'a request', 'the requests under way'),
  'own record': of('coordinator', 'none', 'tick', 'nothing'),
  mail: of('coordinator', 'mails on the way', 'tick, a new mail', 'nothing; a mail may come twice'),
  'page mails': of('coordinator', 'none', 'tick', 'nothing'),
  'page webhooks': of('coordinator', 'updates on the way', 'tick', 'nothing; one may come twice'),
  webhooks: of('coordinator', 'events on the way', 'tick', 'nothing; an event may come twice'),

  // What the engine watches.
  'database watch': of('engine', 'one connection', 'tick', 'nothing'),
  'patient connection': of('engine', 'one connection', 'statements', 'the statement under way'),
  bus: of('engine', 'connections', 'all messages', 'nothing; it connects again'),
  streams: of('engine', 'when each was heard', 'tick', 'nothing'),
  watchdog: of('engine', 'when each part moved', 'tick', 'nothing'),
  outbox: of('engine', 'none', 'a line', 'nothing; tickers read it too'),

  // Partitions.
  leases: of('engine', 'its leases', 'tick, a lease given up', 'its leases: others take them'),
  partition: of('leases', 'its monitors', 'engine/messages.ts', 'nothing; it is loaded again'),
  'waiting lines': of('leases', 'none', 'tick', 'nothing'),
  writer: of('engine', 'units to commit', 'a unit', 'nothing; its messages come again'),
  receipts: of('engine', 'receipts to send', 'a receipt', 'nothing; the next one says more'),
  rechecks: of('engine', 'budgets', 'a request', 'spent budgets'),
  'first checks': of(
    'engine',
    'monitors to check',
    'tick, a wish',
    'nothing; partitions ask again',
  ),

  // Probes.
  leader: of('engine', 'whether it led', 'tick', 'nothing'),
  network: of('engine', 'the roster', 'tick, a change', 'nothing; presence comes every 5 s'),
  presence: of('engine', 'the last of each probe', 'a presence', 'nothing; it comes every 5 s'),
  'test runs': of('engine', 'runs under way', 'a run, an answer', 'the runs under way'),
  sessions: of('engine', 'who is connected', 'a connection', 'nothing'),
  consumers: of('engine', 'when one was lost', 'tick', 'nothing'),
  probes: of('engine', 'none', 'tick, an outbox line', 'nothing'),
  markers: of('engine', 'none', 'tick', 'nothing'),
  digests: of('engine', 'who differed', 'tick', 'nothing; it is seen again'),
  unassignable: of('engine', 'who cannot check what', 'tick', 'nothing'),
  trust: of('engine', 'what probes saw', 'tick, a result', 'the last minutes of what they saw'),
  location: of('engine', 'round trips', 'tick, an answer', 'measurements under way'),
  tombstones: of('engine', 'what is to be removed', 'tick', 'nothing'),

  // Heartbeats.
  pings: of('engine', 'keys, pings on the way', 'a ping', 'nothing; pings are on disk'),
  'ping keys': of('engine', 'keys by heart', 'tick, an outbox line', 'nothing'),
  'ping key check': of('engine', 'none', 'tick', 'nothing'),
  relay: of('engine', 'none', 'a request of a private probe', 'nothing; it asks again'),

  // Alerts and notices.
  alerter: of('engine', 'when the next is due', 'tick, a new alert', 'nothing'),
  notifier: of('engine', 'messages on the way', 'tick, a new alert', 'nothing; one may come twice'),
  causes: of('engine', 'when it judged', 'tick', 'nothing'),
  objectives: of('engine', 'the last minute', 'tick', 'nothing'),
  'report mails': of('engine', 'which rest', 'tick', 'nothing'),
  'sign-ins': of('engine', 'none', 'tick', 'a renewed sign-in that was not stored'),
  fallback: of('engine', 'none', 'tick', 'nothing'),
  clock: of('engine', 'none', 'tick', 'nothing'),
  zones: of('engine', 'none', 'tick', 'nothing'),
  notices: of('engine', 'who did what twice', 'tick', 'a notice that comes later'),
  'sign of life': of('engine', 'when it was accepted', 'tick', 'nothing; one may come twice'),
  refusals: of('engine', 'counts', 'tick, a refusal', 'a few counts'),
  housekeeper: of('engine', 'when each job ran', 'tick', 'nothing'),
  domains: of('engine', 'none', 'tick', 'nothing'),
} as const;

export type ActorName = keyof typeof actors;

type Row = {
  readonly supervisor: 'coordinator' | 'engine' | 'leases';
  readonly state: string;
  readonly messages: string;
  /** What is lost for good when it fails. */
  readonly loses: string;
};

function of(supervisor: Row['supervisor'], state: string, messages: string, loses: string): Row {
  return { supervisor, state, messages, loses };
}
