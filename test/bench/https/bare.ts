/** The https check alone, as the probe has it, in a process of its own. A line of JSON on standard input says what to do; one on standard output what came of it. */

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGuard } from '../../../probe/checks/guard.ts';
import { createHttpsCheck } from '../../../probe/checks/https.ts';
import { createLookup, watchFamilies } from '../../../probe/checks/https-lookup.ts';
import { createTrust } from '../../../probe/checks/https-trust.ts';
import { systemClock } from '../../../shared/base/clock.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import type { Outcome } from '../../../shared/checks/result.ts';

type Order = { readonly url: string; readonly in_flight: number; readonly ms: number; readonly once: boolean };

const [authority = ''] = process.argv.slice(2);
const families = watchFamilies();
const check = createHttpsCheck({
  resolver: { works: async () => true },
  lookup: createLookup(families),
  families,
  trust: createTrust([readFileSync(authority, 'utf8')]),
});
const guard = createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] });
const probe = { name: 'bench', continent: 'Europe', base_url: 'https://antipode.example', version: '0' } as const;

const assigned = (target: string, timeout_ms: number): Assignment => ({
  monitor: 'a monitor',
  organisation: 'an organisation',
  kind: 'https',
  target,
  interval_ms: 60_000,
  timeout_ms,
  config: {},
  sealed: null,
  config_version: 1,
  ordinal: 0,
  continents: null,
  probe: null,
});

const perform = async (assignment: Assignment): Promise<Outcome> => {
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
  return verdict.outcome;
};

/** So many checks at any time, one after the other, until the time is over. */
const keepChecking = async ({ url, in_flight, ms }: Order): Promise<object> => {
  const assignment = assigned(url, 10_000);
  const before = process.cpuUsage();
  const end = performance.now() + ms;
  let checks = 0;
  let failed = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < end) {
      if ((await perform(assignment)) !== 'ok') failed += 1;
      checks += 1;
    }
  };
  await Promise.all(Array.from({ length: in_flight }, lane));
  const { user, system } = process.cpuUsage(before);
  return { checks, failed, cpu_ms: (user + system) / 1_000 };
};

/** So many checks at once, all of them waiting for an answer that never comes: what memory they hold. */
const holdOpen = async ({ url, in_flight, ms }: Order): Promise<object> => {
  const collect = globalThis.gc ?? (() => undefined);
  collect();
  const before = process.memoryUsage.rss();
  const all = Array.from({ length: in_flight }, () => perform(assigned(url, ms)));
  await new Promise((resolve) => setTimeout(resolve, ms * 0.9));
  collect();
  const during = process.memoryUsage.rss();
  const open = process.getActiveResourcesInfo().filter((one) => one === 'TCPSocketWrap').length;
  await Promise.all(all);
  return { before, during, open };
};

for await (const line of createInterface({ input: process.stdin })) {
  const order: Order = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await (order.once ? holdOpen(order) : keepChecking(order)))}\n`);
}
