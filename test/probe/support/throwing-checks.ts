import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { createGunzip } from 'node:zlib';
import { createDnsCheck } from '../../../probe/checks/dns/perform.ts';
import { createUdpSockets } from '../../../probe/checks/dns/sockets.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import { chargeUncaught, newAlarm, setAlarm } from '../../../probe/checks/limits.ts';
import type { Check, CheckContext } from '../../../probe/checks/types.ts';
import { createRunner } from '../../../probe/schedule/runner.ts';
import { createReachability } from '../../../probe/schedule/self-check.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { answerTo, startResolver } from '../../support/name-servers.ts';
import { assignmentOf } from './checkers.ts';
import { silentLog } from './surroundings.ts';

/**
 * For a process of its own: checks that throw wherever a check can, beside one that is well and
 * takes longer than they do. Prints what is reported, one line of JSON for each, and what was no
 * check's fault.
 */

process.on('uncaughtException', (error) => {
  if (!chargeUncaught(error))
    process.stdout.write(`${JSON.stringify({ host: 'nobody', outcome: String(error) })}\n`);
});

const boom = (): never => {
  throw new Error('boom');
};
const server = createServer((socket) => socket.on('error', boom).write('hello'));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;

const never = new Promise<never>(() => undefined);
const throwing: Readonly<Record<string, (context: CheckContext) => void>> = {
  'at-once': boom,
  'in-a-timer': () => void setTimeout(boom, 5),
  'in-a-turn': () => void setImmediate(boom),
  'in-a-microtask': () => queueMicrotask(boom),
  'in-a-lost-promise': () => void Promise.resolve().then(boom),
  'in-a-socket': () => void connect(port, '127.0.0.1').once('data', boom),
  'in-a-stream': () => void createGunzip().end('no gzip'),
  'at-its-deadline': ({ deadline }) => deadline.listen({ expire: boom }),
};

const sockets = createUdpSockets();
const resolver = await startResolver(({ query, name }) =>
  answerTo(query, { answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.1' }] }),
);
const dns = createDnsCheck({ sockets });
const dnsThrowing: Check = (context) => {
  // The answer is heard by a socket that all questions share, and the throwing is in what is done
  // with it.
  const verdict = dns({ ...context, evidence_wanted: true });
  return context.assignment.target.startsWith('thrown') ? verdict.then(boom) : verdict;
};

const runner = createRunner({
  checks: {
    https: async (context) => {
      const { hostname } = new URL(context.assignment.target);
      if (hostname !== 'well') {
        throwing[hostname]?.(context);
        return never;
      }
      await new Promise((resolve) => setTimeout(resolve, 600));
      return { outcome: 'ok', cause: null, phases: null, evidence: {} };
    },
    dns: dnsThrowing,
    heartbeat: async () => ({ outcome: 'ok', cause: null, phases: null, evidence: {} }),
  },
  concurrency: 400,
  clock: systemClock,
  guard: createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] }),
  identity: () => ({ name: 'eu-1', continent: 'Europe', base_url: '', version: '1' }),
  reachability: createReachability({ anchors: () => [], busRoundTrip: () => Promise.resolve() }),
  unseal: (assignment) => assignment,
  report: ({ monitor, outcome, cause }) => {
    const host = hosts.get(monitor);
    process.stdout.write(`${JSON.stringify({ host, outcome, cause: cause?.class ?? null })}\n`);
    if (host === 'reported badly') boom();
  },
  log: silentLog,
});

const hosts = new Map<string, string>();
const turn = (host: string, assignment: ReturnType<typeof assignmentOf>): void => {
  hosts.set(assignment.monitor, host);
  runner.turn(assignment, systemClock.now());
};
const config = { resolver: resolver.address, record_type: 'A' };
turn('well', assignmentOf('https://well/', { ordinal: 0, timeout_ms: 5_000 }));
turn(
  'well by dns',
  assignmentOf('well.example', { ordinal: 1, kind: 'dns', timeout_ms: 5_000, config }),
);
for (const [index, host] of Object.keys(throwing).entries())
  turn(host, assignmentOf(`https://${host}/`, { ordinal: index + 2, timeout_ms: 300 }));
turn(
  'in a shared socket',
  assignmentOf('thrown.example', { ordinal: 20, kind: 'dns', timeout_ms: 5_000, config }),
);
turn('reported badly', assignmentOf('beat', { ordinal: 21, kind: 'heartbeat', timeout_ms: 5_000 }));
setAlarm(
  newAlarm(() => process.exit(0)),
  performance.now() + 1_500,
);
