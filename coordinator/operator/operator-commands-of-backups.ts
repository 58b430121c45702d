import { backoff, pause } from '../../shared/base/async.ts';
import { UsageFault } from '../../shared/base/env.ts';
import type { Given, HouseCommand } from './operator-command.ts';
import { required, today } from './operator-command-parts.ts';

/** What is kept of the database, and how it comes back. */

const wholeNumber = (given: Given, flag: string, fallback: number, [least, most]: readonly [number, number]): number => {
  const text = given.get(flag) ?? String(fallback);
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > most)
    throw new UsageFault(`--${flag}: "${text}" must be a number from ${least} to ${most}.`);
  return number;
};

const folder = required('the folder of the backups');
const withoutResults = { what: 'leave raw results out, which are nearly all of it; hourly figures stay', alone: true } as const;

/** Milliseconds from `now` to the next time that clocks in UTC show HH:MM. */
export const untilNext = (at: string, now: number): number => {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(at) ?? [];
  if (hours === undefined || minutes === undefined) throw new UsageFault(`--at: "${at}" must be a time of the day in UTC, such as 03:17.`);
  const next = new Date(now).setUTCHours(Number(hours), Number(minutes), 0, 0);
  return next > now ? next - now : next + 86_400_000 - now;
};

/** For containers, which have no timer: stays, and does it each day. What failed was told to the heartbeat, and is tried again after a while. */
const eachDay = async (at: string, once: () => Promise<unknown>): Promise<unknown> => {
  const leaving = new AbortController();
  let isWorking = false;
  let failures = 0;
  // The first process of a container ends by no signal that it does not listen for.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      if (leaving.signal.aborted) return;
      leaving.abort();
      if (isWorking) process.exit(143); // What it has half written is swept away by the next run.
    });
  for (;;) {
    await pause(failures === 0 ? untilNext(at, Date.now()) : backoff(failures - 1, 60_000, 3_600_000), leaving.signal);
    if (leaving.signal.aborted) return { ended: 'was told to end' };
    isWorking = true;
    try {
      process.stdout.write(`${JSON.stringify(await once())}\n`);
      failures = 0;
    } catch (error) {
      failures += 1;
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    }
    isWorking = false;
  }
};

const nightly: HouseCommand['run'] = async ({ backups }, given) => {
  const wishes = {
    folder: given.get('folder') ?? '',
    keepDays: wholeNumber(given, 'keep-days', 14, [1, 36_500]),
    withResults: !given.has('without-results'),
    reserveBytes: wholeNumber(given, 'leave-free-mb', 1_024, [0, 1_000_000_000]) * 1_000_000,
  };
  const at = given.get('at');
  if (at === undefined) return backups.nightly(wishes);
  untilNext(at, 0);
  return eachDay(at, () => backups.nightly(wishes));
};

export const commandsOfBackups: readonly HouseCommand[] = [
  {
    ...today,
    words: ['backup'],
    what: 'Write everything to one file, as it is at this moment',
    flags: { file: required('where to write it'), 'without-results': withoutResults },
    run: async ({ backup }, given, progress) => {
      const file = given.get('file') ?? '';
      return { file, ...(await backup(file, progress, { withResults: !given.has('without-results') })) };
    },
  },
  {
    ...today,
    words: ['backups', 'nightly'],
    what: 'Write a backup into a folder, restore it on trial, let old ones go, and tell BACKUP_HEARTBEAT_URL of it',
    flags: {
      folder,
      'keep-days': { what: 'how long backups are kept; default 14. The newest is, however old' },
      'leave-free-mb': { what: 'what is left free of the disk, or nothing is written; default 1024' },
      'without-results': withoutResults,
      at: { what: 'stay, and do it each day at this time in UTC, such as 03:17; default once, now' },
    },
    run: nightly,
  },
  {
    ...today,
    words: ['backups', 'drill'],
    what: 'Restore the newest backup of a folder on trial, in a scratch database that is dropped again',
    flags: { folder, tell: { what: 'tell BACKUP_HEARTBEAT_URL of it, as nightly does', alone: true } },
    run: ({ backups }, given) => backups.drillNewest(given.get('folder') ?? '', given.has('tell')),
  },
  {
    ...today,
    words: ['backups', 'recovered'],
    what: 'Take up a database that was brought back to an earlier moment by its own log, before a coordinator works on it',
    flags: {},
    run: async ({ backups }) => ({ ways_in_ended: await backups.takeUp(), next: 'Start the coordinators; people sign in anew.' }),
  },
  {
    ...today,
    words: ['restore'],
    what: 'Put a backup into an empty database, while no coordinator works on it',
    flags: { file: required('the backup'), replace: { what: 'lose what the database holds now', alone: true } },
    run: async ({ restore }, given, progress) => {
      const file = given.get('file') ?? '';
      return { file, ...(await restore(file, given.has('replace'), progress)) };
    },
  },
];
