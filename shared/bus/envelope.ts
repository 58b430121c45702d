import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import {
  type Assignment,
  assignmentsDigest,
  createDigest,
  type Element,
} from '../checks/assignment.ts';
import { assignmentMessage, wireVersion } from './messages.ts';

/**
 * Assignments travel by the envelope, some 224 in a message. A bucket is all monitors of a
 * partition whose ordinals lie in one range, so that no list of its members is kept anywhere.
 *
 *   assign.<place>.<partition>.<bucket>.<part>      an envelope: a bucket, or a part of one
 *   assign.<place>.<partition>.<bucket>.<monitor>   a delta: one assignment since; empty: none now
 *
 * Invariants, whoever reads or replays them in any order:
 *
 * - The version of each is its number in the stream. Whatever was stored later wins, so a delta
 *   that comes twice, late, or before the envelope that includes it changes nothing.
 * - An envelope is authoritative for its range of ordinals: a monitor that it does not name is not
 *   checked, unless a later delta says so.
 * - A writer stores all parts of a bucket first, and only then removes what they replace. Between
 *   both, and after a crash there, a reader still finds everything, older messages first.
 * - The digest sums up the assignments inside, so that a probe that starts need not hash them. That
 *   a probe missed a message shows by the digest of all that it holds.
 */
/** Of ordinals: few partitions have more of them in use than an envelope holds. */
export const bucketLength = 7_168;

export function bucketOf(ordinal: number): number {
  return Math.floor(ordinal / bucketLength);
}

/** Few buckets have more; those have two parts. */
const maxMonitors = 256;
/** Before compression: a message of the bus holds 1 MB, and some texts cannot be compressed. */
const maxBytes = 768 * 1_024;
/** More than an envelope may have, and little enough for a reader's memory. */
const maxReadBytes = 8 * maxBytes;

/** One assignment as it is sent, with what places and sums it up. */
export type Packed = {
  readonly ordinal: number;
  readonly text: string;
  readonly element: Element;
};

/** The envelopes of a bucket, in their order. @param packed by ordinal. */
export function packEnvelopes(bucket: number, packed: readonly Packed[]): readonly Uint8Array[] {
  const parts: Packed[][] = [];
  let bytes = 0;
  for (const one of packed) {
    const last = parts.at(-1);
    const length = Buffer.byteLength(one.text) + 1;
    if (!last || last.length === maxMonitors || bytes + length > maxBytes) {
      parts.push([one]);
      bytes = length;
    } else {
      last.push(one);
      bytes += length;
    }
  }
  const starts = parts.map((part, nth) =>
    nth === 0 ? bucket * bucketLength : (part[0]?.ordinal ?? 0),
  );
  return parts.map((part, nth) => {
    const digest = createDigest();
    for (const { element } of part) digest.add(element);
    const head = {
      v: wireVersion,
      from: starts[nth],
      until: starts[nth + 1] ?? (bucket + 1) * bucketLength,
      digest: assignmentsDigest(digest),
    };
    const texts = part.map(({ text }) => text).join();
    return deflateRawSync(`${JSON.stringify(head).slice(0, -1)},"assignments":[${texts}]}`, {
      level: 1,
    });
  });
}

const envelopeMessage = z.object({
  v: z.literal(wireVersion),
  from: z.int().min(0),
  until: z.int().min(1),
  digest: z.string(),
  assignments: z.array(z.unknown()),
});

export type Envelope = {
  /** The ordinals that it covers. */
  readonly from: number;
  readonly until: number;
  readonly digest: string;
  readonly assignments: readonly Assignment[];
  /** How many assignments a newer coordinator wrote in a way that is not understood here. */
  readonly unread: number;
};

/** Of a bucket without monitors, an empty message is left. @throws when it cannot be read. */
export function readEnvelope(bucket: number, data: Uint8Array): Envelope {
  if (data.length === 0) {
    const from = bucket * bucketLength;
    const digest = assignmentsDigest(createDigest());
    return { from, until: from + bucketLength, digest, assignments: [], unread: 0 };
  }
  const text = inflateRawSync(data, { maxOutputLength: maxReadBytes }).toString();
  const { from, until, digest, assignments: all } = envelopeMessage.parse(JSON.parse(text));
  const assignments = all.flatMap((one) => {
    const read = assignmentMessage.safeParse(one);
    return read.success ? [read.data] : [];
  });
  return { from, until, digest, assignments, unread: all.length - assignments.length };
}
