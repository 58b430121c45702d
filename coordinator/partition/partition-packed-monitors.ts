import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import { continents } from '../../shared/base/continents.ts';
import type { Checkpoint, Failure, MonitorState, Observer, ProbeView } from '../domain/decision-types.ts';
import { checkpointOf } from '../domain/state-restore.ts';

/** What a partition knew, in one piece: rows as arrays and each probe named once, because it is written over and over. */
const version = 2;

const view = z.tuple([
  z.int(),
  z.number(),
  z.boolean(),
  z.number().nullable(),
  z.custom<Failure>((value) => value !== undefined).nullable(),
]);
const row = z.tuple([z.int(), z.int(), z.number(), z.number(), z.number(), z.number(), z.number().nullable(), z.array(view)]);
const packed = z.object({
  version: z.literal(version),
  seers: z.array(z.object({ probe: z.string(), name: z.string(), continent: z.enum(continents) })),
  rows: z.array(row),
});

export type Packed = { readonly key: number; readonly changedAt: number; readonly state: MonitorState };
export type Unpacked = { readonly configVersion: number; readonly changedAt: number; readonly checkpoint: Checkpoint };

export const pack = (monitors: Iterable<Packed>): Uint8Array => {
  const observers: Observer[] = [];
  const indexes = new Map<string, number>();
  const indexOf = (observer: Observer): number => {
    const known = indexes.get(observer.probe);
    if (known !== undefined) return known;
    indexes.set(observer.probe, observers.length);
    return observers.push(observer) - 1;
  };
  const rowOf = (key: number, changedAt: number, state: MonitorState): z.infer<typeof row> => {
    const { views, clock, covered_until, decides_from, beat_at } = checkpointOf(state);
    const packedViews = views.map(({ from, at, ok, ok_at, failure }): z.infer<typeof view> => [indexOf(from), at, ok, ok_at, failure]);
    return [key, state.watched.config_version, changedAt, clock, covered_until, decides_from, beat_at, packedViews];
  };
  const rows = Array.from(monitors, ({ key, changedAt, state }) => rowOf(key, changedAt, state));
  return deflateRawSync(JSON.stringify({ version, seers: observers, rows }), { level: 1 });
};

/** By the monitor's key. A checkpoint of another version, or a broken one, is none: what is needed is then read from the results. */
export const unpack = (bytes: Uint8Array, intern: (observer: Observer) => Observer): ReadonlyMap<number, Unpacked> | undefined => {
  const read = packed.safeParse(JSON.parse(inflateRawSync(bytes).toString()));
  if (!read.success) return undefined;
  const observers = read.data.seers.map(intern);
  const viewOf = ([index, at, ok, ok_at, failure]: z.infer<typeof view>): ProbeView[] => {
    const from = observers[index];
    return from ? [{ from, at, ok, ok_at, failure }] : [];
  };
  return new Map(
    read.data.rows.map(([key, configVersion, changedAt, clock, covered_until, decides_from, beat_at, views]) => [
      key,
      { configVersion, changedAt, checkpoint: { views: views.flatMap(viewOf), clock, covered_until, decides_from, beat_at } },
    ]),
  );
};
