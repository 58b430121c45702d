import { z } from 'zod';
import { ConfigurationFault } from '../shared/base/env.ts';
import { keepHeapSmall } from '../shared/base/process.ts';
import { useSystemZones } from '../shared/zones/system.ts';
import type { ProbeApp } from './app.ts';

/** Before anything else: the process may restart. */
export function haveNewestZones(): Promise<void> {
  return useSystemZones(process.env).catch(tell);
}

/** Calls of the probe's own parts go through this proxy; checks never do. */
export async function useProxy({ HTTPS_PROXY, https_proxy }: NodeJS.ProcessEnv): Promise<void> {
  if (HTTPS_PROXY || https_proxy) (await import('node:http')).setGlobalProxyFromEnv();
}

/**
 * Reports why the probe cannot continue: the message for a user's mistake, the stack too for our
 * own.
 */
function tell(error: unknown): void {
  const text =
    error instanceof ConfigurationFault
      ? error.message
      : error instanceof Error
        ? error.stack
        : String(error);
  process.stderr.write(`${text}\n`);
}

/** A part that does not end must not delay the exit for ever. */
const longestStopMs = 10_000;

/** A failure to a supervisor, which starts the next process. */
const exitForNext = 75;

/** Exit codes of a probe that the bus no longer lets in. */
const exitOf = { revoked: 22, refused: 1 } as const;

const sentenceOf = {
  revoked:
    'the credentials of this probe were revoked: it stops for good. To check from this host again, ask for a new invitation and join with an empty data folder.',
  refused:
    'for an hour the bus has refused the credentials of this probe: it was revoked, or was given newer credentials, or the bus lost its accounts. It stops.',
} as const;

const seats = z.array(z.record(z.string(), z.string())).min(1);

/**
 * What each probe of this process is told: one, or as many as PROBE_SEATS says in JSON, each with
 * what it has besides.
 */
function seatsOf({ PROBE_SEATS: text, ...environment }: NodeJS.ProcessEnv): NodeJS.ProcessEnv[] {
  if (!text) return [environment];
  return seats.parse(JSON.parse(text)).map((seat) => ({ ...environment, ...seat }));
}

/**
 * A probe as a process, or the several of a small house. SIGTERM, SIGINT, or a later process of the same probe end it once its
 * checks are reported and its results are on disk. It then exits with 0, so a supervisor that
 * restarts failed processes does not restart it. SIGUSR1 does the same and exits with 75: then it does,
 * and the next process is of a program that was replaced meanwhile. One that was revoked exits with
 * 22, which the unit of `join --install` takes for an end, too; one that is refused without a reason
 * exits with 1.
 */
export async function runProbe(): Promise<void> {
  keepHeapSmall();
  try {
    const [{ createProbe }, { readConfig }] = await Promise.all([
      import('./app.ts'),
      import('./config.ts'),
    ]);
    const configs = seatsOf(process.env).map(readConfig);
    await useProxy(process.env);
    const apps = new Set(await Promise.all(configs.map((config) => createProbe(config))));
    const ending: Promise<void>[] = [];
    let isStopping = false;
    const stop = (exit = 0): void => {
      if (isStopping) return;
      isStopping = true;
      Promise.all([...ending, ...[...apps].map((app) => app.close())]).then(
        () => process.exit(exit),
        (error: unknown) => {
          tell(error);
          process.exit(1);
        },
      );
    };
    /** The process ends with its last probe. */
    const end = (app: ProbeApp, exit: number): void => {
      if (apps.size === 1) stop(exit);
      else if (!isStopping) {
        apps.delete(app);
        ending.push(app.close());
      }
    };
    for (const app of apps) {
      void app.displaced.then(() => end(app, 0));
      void app.accessLost.then((how) => {
        process.stderr.write(`antipode-probe: ${sentenceOf[how]}\n`);
        end(app, exitOf[how]);
      });
    }
    // No one knows what still works: it stops, and what runs it starts a new one.
    for (const event of ['uncaughtException', 'unhandledRejection'] as const)
      process.on(event, (error: unknown) => {
        tell(error);
        setTimeout(() => process.exit(1), longestStopMs).unref();
        stop(1);
      });
    process.on('SIGTERM', () => stop());
    process.on('SIGUSR1', () => stop(exitForNext));
    process.on('SIGINT', () => stop());
  } catch (error) {
    tell(error);
    process.exit(1);
  }
}

// In the single-file probe, `probe/program.ts` starts it. There is no top-level await, because such
// a file could not be bundled.
if (import.meta.main) void haveNewestZones().then(runProbe);
