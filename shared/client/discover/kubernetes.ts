import { isFileName } from '../../api/files.ts';
import { pause } from '../../base/async.ts';
import { UsageFault } from '../../base/env.ts';
import { inputOf, type Line, valuesOf } from '../arguments.ts';
import { literalFileText } from '../files/export.ts';
import {
  CallRefused,
  type CommandContext,
  clientOf,
  type Exit,
  exits,
  type HttpClient,
  ServiceNotReached,
} from '../http.ts';
import { printable } from '../terminal.ts';
import { applyDraft } from './apply.ts';
import { type Cluster, ClusterFault, clusterOf } from './cluster.ts';
import { discoverCommand, discoverKinds } from './command.ts';
import { type Draft, draftOf } from './draft.ts';
import { follow, type Kept, listInto, type Pauses, pluralOf, type Source } from './watch.ts';

/** `antipode discover kubernetes`: what a cluster exposes becomes monitors, and stays so. */

type Options = {
  readonly sources: readonly Source[];
  readonly fileName: string;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly isOnce: boolean;
  readonly isDryRun: boolean;
  readonly prunesAll: boolean;
};

export async function discover(line: Line, world: CommandContext): Promise<Exit> {
  const options = optionsOf(line, world);
  const cluster = clusterOf({ ...options, environment: world.environment });
  const ends = new AbortController();
  const end = (): void => ends.abort();
  process.on('SIGTERM', end).on('SIGINT', end);
  try {
    if (options.isOnce || options.isDryRun) return await once(options, cluster, world, ends.signal);
    await keepFollowing(options, { cluster, client: clientOf(world), world, signal: ends.signal });
    return exits.done;
  } finally {
    process.off('SIGTERM', end).off('SIGINT', end);
  }
}

function optionsOf({ words, typed }: Line, world: CommandContext): Options {
  const [, what, more] = words;
  if (what !== 'kubernetes' || more !== undefined)
    throw new UsageFault(
      `discover reads Kubernetes alone: antipode discover kubernetes${more === undefined ? '' : `, without "${more}"`}.`,
    );
  const input = inputOf(valuesOf(discoverCommand, { words, typed }, world.readText));
  const list = (key: string): readonly string[] => {
    const value = input[key];
    return Array.isArray(value) ? value.map(String) : [];
  };
  const text = (key: string): string | undefined => {
    const value = input[key];
    return typeof value === 'string' ? value : undefined;
  };
  const fileName = text('file-name') ?? 'kubernetes';
  if (!isFileName(fileName))
    throw new UsageFault('--file-name takes small letters and digits, with dashes between them.');
  const namespaces = list('namespace');
  const wanted = list('resource');
  const unknown = wanted.find((one) => discoverKinds.every((kind) => pluralOf(kind) !== one));
  if (unknown !== undefined)
    throw new UsageFault(
      `--resource takes ${discoverKinds.map(pluralOf).join(' or ')}, not "${unknown}".`,
    );
  const kinds = discoverKinds.filter(
    (kind) => wanted.length === 0 || wanted.includes(pluralOf(kind)),
  );
  return {
    sources: (namespaces.length === 0 ? [undefined] : namespaces).flatMap((namespace) =>
      kinds.map((kind) => ({ kind, namespace, selector: text('selector') })),
    ),
    fileName,
    kubeconfig: text('kubeconfig'),
    context: text('context'),
    isOnce: input.once === true,
    isDryRun: input['dry-run'] === true,
    prunesAll: input['prune-all'] === true,
  };
}

async function once(
  { sources, fileName, isDryRun, prunesAll }: Options,
  cluster: Cluster,
  world: CommandContext,
  signal: AbortSignal,
): Promise<Exit> {
  const all = sources.map(keptOf);
  for (const kept of all)
    try {
      await listInto(kept, cluster, signal);
    } catch (error) {
      if (!(error instanceof ClusterFault)) throw error;
      say(world, obstacleSentence(kept.source, error));
      if (error.status !== 403 && error.status !== 404)
        return error.status === 0 ? exits.notReached : exits.refused;
    }
  if (!isReadable(all)) {
    say(world, 'nothing was changed, because there is nothing that may be read');
    return exits.refused;
  }
  const draft = draftIn(fileName, all);
  for (const note of draft.notes) say(world, note);
  if (isDryRun) {
    const none = { channels: {}, maintenance: {}, objectives: {}, status_pages: {} };
    world.out(literalFileText(fileName, { objects: { ...draft.objects, ...none } }));
    return exits.done;
  }
  const { summary, notes } = await applyDraft(
    clientOf(world),
    { name: fileName, draft, isWhole: isWhole(all), prunesAll },
    world,
  );
  for (const note of notes) say(world, note);
  world.out(`${fileName}: ${summary ?? 'nothing to do.'}\n`);
  return notes.length > 0 ? exits.refused : exits.done;
}

function keptOf(source: Source): Kept {
  return { source, state: 'waiting', objects: new Map() };
}

function say(world: CommandContext, sentence: string): void {
  world.err(`antipode: ${printable(sentence)}\n`);
}

function obstacleSentence(source: Source, { status, message }: ClusterFault): string {
  if (status === 404) return `the cluster has no ${pluralOf(source.kind)}; going on without them`;
  if (status === 403)
    return `${sourceName(source)} may not be read; going on without them, and nothing is deleted meanwhile. Grant get, list and watch, or leave them out by --resource (${message})`;
  return `${sourceName(source)}: ${message}`;
}

function sourceName({ kind, namespace }: Source): string {
  return `${pluralOf(kind)}${namespace === undefined ? '' : ` of ${namespace}`}`;
}

function isReadable(all: readonly Kept[]): boolean {
  return all.some(({ state }) => state === 'ready');
}

function draftIn(fileName: string, all: readonly Kept[]): Draft {
  return draftOf(
    fileName,
    all.flatMap(({ objects }) => [...objects.values()]),
  );
}

function isWhole(all: readonly Kept[]): boolean {
  return all.every(({ state }) => state === 'ready' || state === 'absent');
}

export type Timings = Pauses & {
  /** Changes within this time of each other are applied together. */
  readonly settleMs: number;
  /** The longest that a change waits for further ones. */
  readonly longestSettleMs: number;
  /** How often manual changes are reverted. */
  readonly resyncMs: number;
};

const usualTimings: Timings = {
  settleMs: 3_000,
  longestSettleMs: 15_000,
  resyncMs: 600_000,
  firstRetryMs: 1_000,
  longestRetryMs: 60_000,
  unavailableMs: 600_000,
};

export type Following = {
  readonly cluster: Cluster;
  readonly client: HttpClient;
  readonly world: CommandContext;
  readonly signal: AbortSignal;
  readonly timings?: Timings;
};

/**
 * Until the signal. Nothing is applied before all that can be read was read once. @throws when the
 * service does not know the token.
 */
export async function keepFollowing(
  { sources, fileName, prunesAll }: Pick<Options, 'sources' | 'fileName' | 'prunesAll'>,
  { cluster, client, world, signal, timings = usualTimings }: Following,
): Promise<void> {
  const all = sources.map(keptOf);
  const news = createNews();
  const obstacles = new Map<Source, string>();
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const watching = {
    cluster,
    signal: until,
    changed: news.add,
    pauses: timings,
    tell: (source: Source, obstacle: ClusterFault | undefined) => {
      const sentence = obstacle && obstacleSentence(source, obstacle);
      const isNew = sentence !== obstacles.get(source);
      if (sentence === undefined) obstacles.delete(source);
      else obstacles.set(source, sentence);
      if (isNew) say(world, sentence ?? `${sourceName(source)} can be read again`);
    },
  };
  const followers = Promise.all(all.map((kept) => follow(kept, watching))).finally(news.add);
  try {
    await Promise.race([followers, applyNews()]);
  } finally {
    stop.abort();
    await followers;
  }

  async function applyNews(): Promise<void> {
    let known: ReadonlySet<string> = new Set();
    let failures = 0;
    let isFirst = true;
    while (!until.aborted) {
      await news.wait(failures > 0 ? retryMs(failures) : timings.resyncMs, until);
      if (!isFirst) await news.settle(timings, until);
      if (until.aborted) return;
      if (all.some(({ state }) => state === 'waiting') || !isReadable(all)) continue;
      isFirst = false;
      const draft = draftIn(fileName, all);
      try {
        const { summary, notes } = await applyDraft(
          client,
          { name: fileName, draft, isWhole: isWhole(all), prunesAll },
          world,
        );
        failures = 0;
        // Notes are said once, as long as they stay.
        const present = new Set([...draft.notes, ...notes]);
        for (const note of present) if (!known.has(note)) say(world, note);
        known = present;
        if (summary !== undefined) say(world, `${fileName}: ${summary}`);
      } catch (error) {
        const isLasting =
          !(error instanceof ServiceNotReached || error instanceof CallRefused) ||
          (error instanceof CallRefused && (error.status === 401 || error.status === 403));
        if (isLasting) throw error;
        failures += 1;
        say(world, `not applied, trying again: ${error.message}`);
      }
    }
  }

  function retryMs(attempt: number): number {
    return Math.min(timings.longestRetryMs, timings.firstRetryMs * 2 ** Math.min(attempt, 10));
  }
}

/** Whether something happened that was not applied yet. */
function createNews() {
  let isNew = false;
  let wake: (() => void) | undefined;
  const take = async (ms: number, signal: AbortSignal): Promise<boolean> => {
    if (!isNew) {
      const early = new AbortController();
      wake = () => early.abort();
      await pause(ms, AbortSignal.any([signal, early.signal]));
      wake = undefined;
    }
    const was = isNew;
    isNew = false;
    return was;
  };
  return {
    add: (): void => {
      isNew = true;
      wake?.();
    },
    wait: take,
    /** Returns once nothing more came for a while. */
    settle: async ({ settleMs, longestSettleMs }: Timings, signal: AbortSignal): Promise<void> => {
      for (let waited = 0; waited < longestSettleMs && !signal.aborted; waited += settleMs) {
        await pause(settleMs, signal);
        const was = isNew;
        isNew = false;
        if (!was) return;
      }
    },
  };
}
