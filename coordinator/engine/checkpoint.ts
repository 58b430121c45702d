import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import { continents } from '../../shared/base/continents.ts';
import { checkpointOf } from '../core/lifecycle.ts';
import { observationBy } from '../core/observations.ts';
import type {
  Checkpoint,
  Failure,
  MonitorState,
  Observation,
  ObservingProbe,
  ProbeView,
} from '../core/types.ts';

/**
 * A partition's knowledge in one piece. It is written often, so rows are arrays and each probe is
 * named once.
 */
const version = 4;

const view = z.tuple([
  z.int(),
  z.number(),
  z.boolean(),
  z.number().nullable(),
  z.number().nullable(),
  z.custom<Failure>((value) => value !== undefined).nullable(),
]);
const observation = z.tuple([
  z.int(),
  z.number(),
  z.custom<Failure>((value) => value !== undefined).nullable(),
]);
const row = z.tuple([
  z.int(),
  z.int(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number().nullable(),
  z.array(view),
  z.tuple([z.string(), z.array(observation)]).nullable(),
]);

export type Packed = {
  readonly key: number;
  readonly changedAt: number;
  readonly state: MonitorState;
};

export function pack(monitors: Iterable<Packed>): Uint8Array {
  const observers: ObservingProbe[] = [];
  const indexes = new Map<string, number>();
  const indexOf = (observer: ObservingProbe): number => {
    const known = indexes.get(observer.probe);
    if (known !== undefined) return known;
    indexes.set(observer.probe, observers.length);
    return observers.push(observer) - 1;
  };
  const rowOf = (key: number, changedAt: number, state: MonitorState): z.infer<typeof row> => {
    const { views, clock, covered_until, decides_from, beat_at, observed } = checkpointOf(state);
    const packedViews = views.map(
      ({ from, at, ok, ok_at, failing_since, failure }): z.infer<typeof view> => [
        indexOf(from),
        at,
        ok,
        ok_at,
        failing_since,
        failure,
      ],
    );
    return [
      key,
      state.watched.config_version,
      changedAt,
      clock,
      covered_until,
      decides_from,
      beat_at,
      packedViews,
      observed && [
        observed.incident,
        observed.observations.map(({ ok, from, at, ...rest }) => [
          indexOf(from),
          at,
          ok ? null : { ...rest, began_at: at },
        ]),
      ],
    ];
  };
  const rows = Array.from(monitors, ({ key, changedAt, state }) => rowOf(key, changedAt, state));
  return deflateRawSync(JSON.stringify({ version, seers: observers, rows }), { level: 1 });
}

const packed = z.object({
  version: z.literal(version),
  seers: z.array(
    z.object({
      probe: z.string(),
      name: z.string(),
      continent: z.enum(continents),
      place: z.string().optional(),
    }),
  ),
  rows: z.array(row),
});

export type Unpacked = {
  readonly configVersion: number;
  readonly changedAt: number;
  readonly checkpoint: Checkpoint;
};

/**
 * By the monitor's key. A broken checkpoint, or one of another version, counts as none: the results
 * are read instead.
 */
export function unpack(
  bytes: Uint8Array,
  intern: (observer: ObservingProbe) => ObservingProbe,
): ReadonlyMap<number, Unpacked> | undefined {
  const read = packed.safeParse(JSON.parse(inflateRawSync(bytes).toString()));
  if (!read.success) return undefined;
  const observers = read.data.seers.map(intern);
  const viewOf = ([index, at, ok, ok_at, failing_since, failure]: z.infer<
    typeof view
  >): ProbeView[] => {
    const from = observers[index];
    return from ? [{ from, at, ok, ok_at, failing_since, failure }] : [];
  };
  const observationsOf = ([index, at, failure]: z.infer<typeof observation>): Observation[] => {
    const from = observers[index];
    return from ? [observationBy(from, at, failure)] : [];
  };
  return new Map(
    read.data.rows.map(
      ([
        key,
        configVersion,
        changedAt,
        clock,
        covered_until,
        decides_from,
        beat_at,
        views,
        seen,
      ]) => [
        key,
        {
          configVersion,
          changedAt,
          checkpoint: {
            views: views.flatMap(viewOf),
            clock,
            covered_until,
            decides_from,
            beat_at,
            observed: seen && {
              incident: seen[0],
              observations: seen[1].flatMap(observationsOf),
            },
          },
        },
      ],
    ),
  );
}
