/** The DNS check alone, as the probe has it, in a process of its own. A line of JSON on standard input says what to do; one on standard output what came of it. */
import { createInterface } from 'node:readline';
import { createDnsCheck } from '../../../probe/checks/dns.ts';
import { createUdpSockets } from '../../../probe/checks/dns-sockets.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import { systemClock } from '../../../shared/base/clock.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';

type Order = {
  readonly resolver: string;
  readonly name: string;
  readonly expected: readonly string[];
  readonly in_flight: number;
  readonly ms: number;
};

const sockets = createUdpSockets();
const check = createDnsCheck({ sockets });
const guard = createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] });
const probe = { name: 'bench', continent: 'Europe', base_url: 'https://antipode.example', version: '0' } as const;

/** So many checks at any time, one after the other, until the time is over; each with a time limit of its own, as the runner gives it. */
const keepChecking = async ({ resolver, name, expected, in_flight, ms }: Order): Promise<object> => {
  const assignment: Assignment = {
    monitor: 'a monitor',
    organisation: 'an organisation',
    kind: 'dns',
    target: name,
    interval_ms: 60_000,
    timeout_ms: 10_000,
    config: { resolver, expected_values: expected, match: 'exact' },
    sealed: null,
    config_version: 1,
    ordinal: 0,
    continents: null,
    probe: null,
  };
  const before = process.cpuUsage();
  const end = performance.now() + ms;
  let checks = 0;
  let failed = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < end) {
      const stopping = new AbortController();
      const timer = setTimeout(() => stopping.abort(), assignment.timeout_ms);
      const verdict = await check({
        assignment,
        started_at: systemClock.now(),
        deadline: stopping.signal,
        evidence_wanted: false,
        guard,
        probe,
        clock: systemClock,
      });
      clearTimeout(timer);
      if (verdict.outcome !== 'ok') failed += 1;
      checks += 1;
    }
  };
  await Promise.all(Array.from({ length: in_flight }, lane));
  const { user, system } = process.cpuUsage(before);
  return { checks, failed, cpu_ms: (user + system) / 1_000 };
};

for await (const line of createInterface({ input: process.stdin })) {
  const order: Order = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await keepChecking(order))}\n`);
}
sockets.close();
