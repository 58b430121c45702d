import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAnnouncementReader } from '../../../probe/presence/announcements.ts';
import { type Assignments, openAssignments } from '../../../probe/schedule/assignments.ts';
import { createAnnounce } from '../../../shared/bus/announcement.ts';
import { bucketLength, bucketOf } from '../../../shared/bus/envelope.ts';
import type { Bus, Delivered } from '../../../shared/bus/nats.ts';
import { partitionOf, subjects } from '../../../shared/bus/subjects.ts';
import {
  type Assignment,
  assignedElement,
  assignedIn,
  assignmentsDigest,
} from '../../../shared/checks/assignment.ts';
import { digestOf } from '../../support/monitors.ts';
import fc from '../../support/random.ts';
import { assignmentOf } from '../support/checkers.ts';
import { coordinatorKeys, signingKeys, silentLog } from '../support/surroundings.ts';

/**
 * A probe reads envelopes and deltas in whatever order the bus brings them; what the stream stored
 * last is what it holds.
 */

const now = 1_700_000_000_000;
const monitorOf = (nth: number): string => `00000000-0000-4000-8000-00000000${nth}007`;
const partition = partitionOf(monitorOf(0));
const middle = 3;
/** Six in the first bucket, on both sides of where it may be cut, and one in the next. */
const ordinals = [0, 1, 2, 3, 4, 5, bucketLength];

type Said = { readonly subject: string; readonly data: Uint8Array; readonly seq: number };

const textOf = (assignment: Assignment): string => JSON.stringify({ v: 1, ...assignment });

/** The database and the stream of a coordinator. */
const startWriter = (place = 'Europe') => {
  const stored = new Map<string, Assignment>();
  const said: Said[] = [];
  let version = 0;
  const say = (subject: string, data: Uint8Array): void => {
    said.push({ subject, data, seq: said.length + 1 });
  };
  const at = (nth: number) => ({ partition, bucket: bucketOf(ordinals[nth] ?? 0) });
  const subjectOf = (nth: number): string =>
    subjects.inBucket(place, { ...at(nth), item: monitorOf(nth) });
  return {
    stored,
    said,
    put: (nth: number): void => {
      version += 1;
      const ordinal = ordinals[nth] ?? 0;
      const assignment = {
        ...assignmentOf('https://a.example/', { ordinal, config_version: version }),
        ...{ monitor: monitorOf(nth), organisation: monitorOf(9) },
      };
      stored.set(assignment.monitor, assignment);
      say(subjectOf(nth), Buffer.from(textOf(assignment)));
    },
    gone: (nth: number): void => {
      stored.delete(monitorOf(nth));
      say(subjectOf(nth), new Uint8Array());
    },
    write: (bucket: number, isCut = false): void => {
      const [first, last] = [bucket * bucketLength, (bucket + 1) * bucketLength];
      const cuts = isCut ? [first, middle, last] : [first, last];
      for (const [part, until] of cuts.slice(1).entries()) {
        const from = cuts[part] ?? 0;
        const inside = [...stored.values()].filter(
          ({ ordinal }) => ordinal >= from && ordinal < until,
        );
        const digest = assignmentsDigest(
          digestOf(inside.map((one) => assignedElement(assignedIn(one)))),
        );
        const head = JSON.stringify({ v: 1, from, until, digest }).slice(0, -1);
        const body = `${head},"assignments":[${inside.map(textOf).join()}]}`;
        const isEmpty = inside.length === 0 && !isCut;
        say(
          subjects.inBucket(place, { partition, bucket, item: part }),
          isEmpty ? new Uint8Array() : deflateRawSync(body),
        );
      }
    },
  };
};

type Writer = ReturnType<typeof startWriter>;

/** As a coordinator signs it. */
const headersOf = (said: Said, at: number): Delivered['header'] => {
  const [headers = {}] = createAnnounce(coordinatorKeys, () => at)([said]);
  return (name) => headers[name];
};

const delivered = (said: Said, more: Partial<Delivered> = {}): Delivered => ({
  ...said,
  header: headersOf(said, now),
  respond: () => false,
  reply: undefined,
  deliveries: 2,
  delivery: 9,
  storedAt: now,
  pending: 1,
  ack: () => undefined,
  nak: () => undefined,
  working: () => undefined,
  ...more,
});

describe('a probe', () => {
  let folder: string;
  let assignments: Assignments;
  let deliver: (messages: readonly Delivered[]) => Promise<void>;
  const put: string[] = [];

  const open = async (): Promise<void> => {
    assignments = await openAssignments({
      folder,
      probe: { id: monitorOf(8), organisation: null },
      onPut: ({ monitor }) => void put.push(monitor),
      onGone: () => undefined,
      onRoster: () => undefined,
      announcements: createAnnouncementReader({
        trust: () => signingKeys,
        now: () => now,
        log: silentLog,
      }),
      clock: { now: () => now, isMeasured: () => true },
      log: silentLog,
    });
    const bus: Pick<Bus, 'pull'> = {
      pull: ({ onMessages }) => {
        deliver = onMessages;
        return { stop: () => Promise.resolve() };
      },
    };
    assignments.attach(bus);
  };
  const reopen = async (): Promise<void> => {
    await assignments.close();
    await open();
  };
  const start = async (): Promise<void> => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-envelopes-'));
    await open();
  };
  const end = async (): Promise<void> => {
    await assignments.close();
    await rm(folder, { recursive: true });
  };
  beforeEach(start);
  afterEach(end);

  const expectAll = ({ stored }: Writer): void => {
    const all = [...stored.values()];
    for (const one of all) expect(assignments.find(one.monitor)).toEqual(one);
    const digest = digestOf(all.map((one) => assignedElement(assignedIn(one))));
    expect(assignments.state()).toEqual({
      count: all.length,
      digest: assignmentsDigest(digest),
    });
  };

  test('holds what the stream stored last, whatever comes twice, late, in another order, or not at all because it is replaced, and whenever it restarts', async () => {
    const nth = fc.nat(ordinals.length - 1);
    const step = fc.oneof(
      fc.record({ is: fc.constant('put' as const), nth }),
      fc.record({ is: fc.constant('gone' as const), nth }),
      fc.record({ is: fc.constant('write' as const), bucket: fc.nat(1), isCut: fc.boolean() }),
    );
    const story = fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 30 }),
      /** Of each message: when it comes, and again. */
      order: fc.array(fc.tuple(fc.nat(100), fc.nat(100)), { minLength: 80, maxLength: 80 }),
      restarts: fc.array(fc.nat(80), { maxLength: 3 }),
    });
    await end();
    await fc.assert(
      fc.asyncProperty(story, async ({ steps, order, restarts }) => {
        await start();
        const writer = startWriter();
        for (const one of steps) {
          if (one.is === 'write') writer.write(one.bucket, one.isCut && one.bucket === 0);
          else writer[one.is](one.nth);
        }
        const lastOf = new Map(writer.said.map(({ subject, seq }) => [subject, seq]));
        const inOrder = writer.said
          .filter(({ subject, seq }) => lastOf.get(subject) === seq || (order[seq]?.[0] ?? 0) < 50)
          .flatMap((said, place) => (order[place] ?? []).map((when) => ({ said, when })))
          .toSorted((a, b) => a.when - b.when);
        for (const [place, { said }] of inOrder.entries()) {
          if (restarts.includes(place)) await reopen();
          await deliver([delivered(said)]);
        }
        expectAll(writer);
        await reopen();
        expectAll(writer);
        await end();
      }),
      { numRuns: 300 },
    );
    await start();
  });

  test('believes a stream that was made again, and counts from the start', async () => {
    const before = startWriter();
    for (const nth of [0, 1, 2, 6]) before.put(nth);
    before.write(0);
    before.write(1);
    await deliver(before.said.map((said) => delivered(said)));
    expectAll(before);
    const after = startWriter();
    for (const nth of [0, 1]) after.put(nth);
    after.write(0);
    // The first one is lost, and comes later.
    const [lost, ...rest] = after.said.slice(-2);
    if (!lost) throw new Error('it said something');
    await deliver(rest.map((said) => delivered(said, { deliveries: 1, delivery: 2 })));
    await reopen();
    await deliver([delivered(lost)]);
    expect(assignments.find(monitorOf(1))?.config_version).toBe(2);
    expect(assignments.find(monitorOf(2))).toBeUndefined();
  });

  test('drops what is missing when everything comes once more', async () => {
    const before = startWriter();
    for (const nth of [0, 1, 6]) before.put(nth);
    before.write(0);
    before.write(1);
    await deliver(before.said.map((said) => delivered(said)));
    const kept = before.said.filter(({ subject }) => subject.endsWith('.0.0'));
    await deliver(kept.map((said) => delivered(said, { deliveries: 1, delivery: 1, pending: 0 })));
    before.stored.delete(monitorOf(6));
    expectAll(before);
  });

  test('leaves alone what an envelope says again', async () => {
    const writer = startWriter();
    for (const nth of [0, 1, 2]) writer.put(nth);
    writer.write(0);
    await deliver(writer.said.map((said) => delivered(said)));
    const first = assignments.find(monitorOf(0));
    put.length = 0;
    writer.put(1);
    writer.write(0);
    await deliver(writer.said.slice(-1).map((said) => delivered(said)));
    expect(put).toEqual([monitorOf(1)]);
    expect(assignments.find(monitorOf(0))).toBe(first);
    expectAll(writer);
  });

  test('skips an envelope that is cut short or of a newer form, and takes the next', async () => {
    const writer = startWriter();
    writer.put(0);
    writer.write(0);
    const [, whole] = writer.said;
    if (!whole) throw new Error('it said something');
    const broken = [
      whole.data.subarray(0, 20),
      Buffer.from('{"v":2}'),
      deflateRawSync('{"v":2,"from":0,"until":7168,"digest":"","assignments":[]}'),
    ];
    await deliver(broken.map((data) => delivered({ ...whole, data })));
    expect(assignments.state().count).toBe(0);
    await deliver([delivered(whole)]);
    expectAll(writer);
  });

  test('believes envelopes and deltas as a coordinator signed them: not forged, moved, or said again when something newer is held', async () => {
    const signed = (said: Said, at: number, subject = said.subject): Delivered =>
      delivered({ ...said, subject }, { header: headersOf(said, at) });
    const unsigned = (said: Said): Delivered => delivered(said, { header: () => undefined });
    const writer = startWriter();
    writer.put(0);
    writer.write(0);
    const [olderDelta, olderEnvelope] = writer.said;
    writer.put(0);
    writer.put(1);
    writer.write(0);
    const newer = writer.said.at(-1);
    if (!olderDelta || !olderEnvelope || !newer) throw new Error('it said something');
    await deliver([signed(newer, now)]);
    expectAll(writer);
    const later = (said: Said): Said => ({ ...said, seq: 100 });
    const { subject } = later(olderDelta);
    await deliver([
      signed(later(olderEnvelope), now - 60_000),
      signed(later(olderDelta), now - 60_000),
      signed({ subject, data: new Uint8Array(), seq: 100 }, now - 60_000),
      signed(later(olderEnvelope), now, newer.subject.replace('.0.0', '.1.0')),
      unsigned(later(olderEnvelope)),
      unsigned({ subject: newer.subject, data: new Uint8Array(), seq: 100 }),
    ]);
    expectAll(writer);
    await reopen();
    await deliver([signed(later(olderEnvelope), now - 60_000)]);
    expectAll(writer);
  });
});
