import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { createAccount } from '../support/services.ts';
import { startServices } from '../support/services-run.ts';
import type { Bench, Figure } from './figure.ts';
import { cores, start, stop } from './processes.ts';

/**
 * The probe's schedule with 100,000 monitors at 60 s, sending what is due to a real nats-server,
 * against a timer for each and against the sending alone.
 */

const monitors = 100_000;
const usualWindowMs = 60_000;

const lateness = z.object({ p50: z.number(), p99: z.number(), max: z.number() });
const said = z.object({
  fired: z.number(),
  per_second: z.number(),
  cpu_percent: z.number(),
  bytes_each: z.number(),
  all: lateness,
  own: lateness,
  busiest: z.number(),
});

export const wheel: Bench = {
  name: 'wheel',
  about:
    '100,000 monitors at 60 s on the probe’s schedule: CPU with publish, lateness, spread, memory (2 min)',
  run: async (say, { windowMs = usualWindowMs } = {}) => {
    const { services, stop: end } = await startServices(async () => undefined);
    try {
      const account = await createAccount(services);
      const measure = async (way: string) => {
        say(`${way}, ${windowMs / 1_000} s`);
        const child = start(
          cores.subject,
          [
            process.execPath,
            '--expose-gc',
            join(import.meta.dirname, 'wheel/scheduler.ts'),
            '--way',
            way,
            '--monitors',
            String(monitors),
            '--ms',
            String(windowMs),
          ],
          {
            env: {
              PATH: process.env.PATH,
              NATS_URL: account.url,
              NATS_CREDENTIALS: account.coordinatorCredentials,
            },
            stdio: ['ignore', 'pipe', 'inherit'],
          },
        );
        try {
          if (!child.stdout) throw new Error('a part of the bench did not start');
          const [out] = await Promise.all([text(child.stdout), once(child, 'exit')]);
          return said.parse(JSON.parse(out));
        } finally {
          await stop(child);
        }
      };
      // At the same time on the same core: what the ticker has to wait is the machine's doing.
      const [ticker, ours] = await Promise.all([measure('ticker'), measure('wheel')]);
      const timers = await measure('timers');
      const ms = (value: number): string => `${value.toFixed(2)} ms`;
      // What it stood ready for while others had the core is the machine's doing, not the
      // schedule's: the kernel counts it.
      const late = (name: 'p50' | 'p99' | 'max', limit: number): Figure => ({
        what: `lateness of a turn against the end of its slot, without waiting for the core, ${name}`,
        ours: ms(ours.own[name]),
        against: `bare 50 ms ticker beside it ${ms(ticker.own[name])}, timers ${ms(timers.own[name])}`,
        ratio: ours.own[name] / ticker.own[name],
        // A machine that stood still (its host's doing, which no kernel counts) kept the ticker
        // too.
        goal: `≤ ${limit} ms more`,
        holds: ours.own[name] - Math.max(0, ticker.own[name]) <= limit,
      });
      return [
        {
          what: `CPU of a core, ${ours.per_second.toFixed(0)} turns a second, sent in batches`,
          ours: `${ours.cpu_percent.toFixed(2)} %`,
          against: `a timer for each ${timers.cpu_percent.toFixed(2)} %`,
          ratio: ours.cpu_percent / timers.cpu_percent,
          goal: '≤ 1.2 %',
          holds: ours.cpu_percent <= 1.2,
        },
        {
          what: 'the same against sending alone',
          ours: `${ours.cpu_percent.toFixed(2)} %`,
          against: `sending alone ${ticker.cpu_percent.toFixed(2)} %`,
          ratio: ours.cpu_percent / ticker.cpu_percent,
          goal: '–',
          holds: null,
        },
        late('p50', 2),
        late('p99', 2),
        late('max', 10),
        {
          what: 'greatest lateness with waiting for the core',
          ours: ms(ours.all.max),
          against: `bare 50 ms ticker beside it ${ms(ticker.all.max)}, timers ${ms(timers.all.max)}`,
          ratio: ours.all.max / ticker.all.max,
          goal: '–',
          holds: null,
        },
        {
          what: 'busiest second over the mean',
          ours: ours.busiest.toFixed(3),
          against: `ideal 1, ${ours.fired} turns seen`,
          ratio: ours.busiest,
          goal: '≤ 1.25',
          holds: ours.busiest <= 1.25,
        },
        {
          what: 'memory of the schedule for a monitor',
          ours: `${ours.bytes_each.toFixed(0)} B`,
          against: `a timer for each ${timers.bytes_each.toFixed(0)} B`,
          ratio: ours.bytes_each / timers.bytes_each,
          goal: '≤ 128 B',
          holds: ours.bytes_each <= 128,
        },
      ];
    } finally {
      await end();
    }
  },
};
