import { z } from 'zod';
import { continents } from '../base/continents.ts';
import { isRecord } from '../base/json.ts';
import { registrationShape } from '../checks/domain/registration.ts';
import { kinds } from '../checks/kinds.ts';
import { type Json, maxServedAddresses, outcomes } from '../checks/result.ts';

/** A message as it came, of whatever kind of delivery. */
export type Message = {
  readonly subject: string;
  readonly data: Uint8Array;
  /** Where an answer is wanted. */
  readonly reply: string | undefined;
  readonly header: (name: string) => string | undefined;
  /** False when the sender did not ask for an answer. */
  readonly respond: (data: Uint8Array | string, headers?: Headers) => boolean;
};

export type Headers = Readonly<Record<string, string>>;
export type Subscription = { readonly stop: () => void };
export type BusStatus = 'connected' | 'disconnected' | 'closed';

const lenient = new TextDecoder();
const strict = new TextDecoder('utf-8', { fatal: true });

/** What a message's bytes say as JSON. @throws when they are none. */
export function jsonOf(data: Uint8Array): unknown {
  return JSON.parse(lenient.decode(data));
}

/** The same, or undefined when they are none. */
export function jsonIn(data: Uint8Array): unknown {
  try {
    return jsonOf(data);
  } catch {
    return undefined; // That it is no JSON is the answer.
  }
}

/**
 * The same for what comes from probes and is stored: bytes that are no UTF-8 are refused, not read
 * as something else. @throws then, too.
 */
export function strictJsonOf(data: Uint8Array): unknown {
  return JSON.parse(strict.decode(data));
}

/**
 * Of every message on the bus (`v`). What only adds a key needs no other: unknown keys are dropped.
 * Batches of results have a number of their own.
 */
export const wireVersion = 1;

/**
 * Every message of the wire as a schema with a version. Unknown keys are dropped, so that a newer
 * sender does no harm.
 */
const version = z.literal(wireVersion);
const id = z.uuid();
const time = z.int().min(0);
const json: z.ZodType<Json> = z.json();
/** What was read as JSON holds JSON: to ask every value again took half of a probe's start. */
const config = z.custom<Readonly<Record<string, Json>>>(isRecord, 'must be an object');

export const assignmentMessage = z.object({
  v: version,
  monitor: id,
  organisation: id,
  kind: z.enum(kinds),
  target: z.string().max(2048),
  interval_ms: z.int().min(1000),
  timeout_ms: z.int().min(1),
  config,
  sealed: z.string().nullable(),
  config_version: z.int().min(1),
  ordinal: z.int().min(0),
  continents: z.array(z.enum(continents)).nullable(),
  probe: id.nullable(),
  places: z.array(z.string().max(200)).max(64).nullable().optional(),
});

export const rosterMessage = z.object({
  v: version,
  epoch: z.int().min(0),
  probes: z.array(
    z.object({
      id,
      name: z.string(),
      continent: z.enum(continents),
      organisation: id.nullable(),
      healthy: z.boolean(),
      quarantined: z.boolean(),
      allowed_cidrs: z.array(z.string()).optional(),
      kinds: z.array(z.string()).optional(),
      region: z.string().nullable().optional(),
      site: z.string().nullable().optional(),
      origin_as: z.int().optional(),
    }),
  ),
});

/**
 * Look now. The whole assignment comes along, so that a probe need not have heard of the monitor's
 * newest version yet.
 */
export const recheckMessage = z.object({
  v: version,
  look: id,
  asked_at: time,
  assignment: assignmentMessage,
});

/**
 * Try this config once, and tell only those who asked (rule 41). Without a look, so that a probe
 * that does not know trials takes it for no look.
 */
export const testRunMessage = z.object({ v: version, trial: id, assignment: assignmentMessage });

const cause = z.object({
  class: z.string().max(64),
  params: z.record(z.string(), z.union([z.string().max(2048), z.number()])),
});
const phase = z.number().min(0).nullable();
const warning = z.object({ code: z.string().max(64), details: cause.shape.params });
const certificate = z.object({
  fingerprint: z.string().max(128),
  starts_at: z.int(),
  ends_at: z.int(),
  issuer: z.string().max(200),
});

const served = z.object({
  addresses: z.array(z.string().max(64)).max(maxServedAddresses),
  server: z.string().max(100).nullable(),
  redirect: z.string().max(300).nullable(),
});

/** In one result. */
const maxWarnings = 16;

export const resultMessage = z.object({
  seq: z.int().min(1),
  monitor: id,
  config_version: z.int().min(1),
  at: time,
  took_ms: z.number().min(0),
  outcome: z.enum(outcomes),
  cause: cause.nullable(),
  phases: z
    .object({ dns: phase, tcp: phase, tls: phase, first_byte: phase, total: phase })
    .nullable(),
  evidence: z.record(z.string(), json).nullable(),
  look: id.nullable(),
  other_looks: z.array(id).max(64).exactOptional(),
  warnings: z.array(warning).min(1).max(maxWarnings).exactOptional(),
  certificate: certificate.exactOptional(),
  served: served.exactOptional(),
  others: z.object({ passed: z.int().min(0), failed: z.int().min(0) }).exactOptional(),
});

/** In one batch. */
export const maxResults = 500;

/**
 * The form of batches. It has a number of its own, and is what probes write and coordinators read.
 */
export const batchVersion = 2;

/**
 * Results of one partition in order of seq. Of a plain pass (nobody asked for it, and it has
 * nothing to show) only its monitor and its numbers are in it, in the order of bus/batch.ts, which
 * also holds how many these are and between what bounds. Both lists are in order of seq. `after` is
 * the seq of the result of this partition that the probe sent before this batch and that is not
 * known to be committed; null when nothing before it is outstanding. A coordinator that has not
 * committed `after` refuses the batch as a gap, and the probe sends again from what is committed:
 * so a wiped bus loses nothing.
 */
export const batchMessage = z.object({
  v: z.literal(batchVersion),
  probe: id,
  generation: id,
  partition: z.int().min(0).max(31),
  after: z.int().min(1).nullable(),
  passes: z.object({ monitors: z.array(id).max(maxResults), numbers: z.array(z.number()) }),
  others: z.array(resultMessage).max(maxResults),
});

/** How far results are committed, for each partition of one generation of the spool. */
const committed = z.record(z.string(), z.int().min(0));

export const requestKey = z.object({
  x: z.string().regex(/^[\w-]{43}$/),
  authority: z.string().max(300),
  created: z.int().min(0),
  expires: z.int().min(0),
  signature: z.string().regex(/^[\w+/]{86}==$/),
});

export const presenceMessage = z.object({
  v: version,
  probe: id,
  generation: id,
  /** This very process, and for how long it has run: two may hold the same credentials. */
  session: id,
  up_ms: z.int().min(0),
  sent_at: time,
  version: z.string().max(32),
  /** The public key (X25519, base64) that secrets are sealed to. */
  seal_key: z.string().max(64),
  allowed_cidrs: z.array(z.string().max(64)).max(64),
  /** Kinds that this process checks besides the first ones, and what it can do for https. */
  kinds: z.array(z.string().max(32)).max(32).exactOptional(),
  ear: z.string().max(256).nullable(),
  spool: z.object({ waiting: z.int(), dropped: z.int(), bytes: z.int() }),
  assignments: z.object({
    count: z.int(),
    digest: z.string().max(64),
    /** Of the roster that it goes by; 0 when it has none. */
    roster_epoch: z.int().min(0),
  }),
  /**
   * By how much it corrects the clock of its host; left out until somebody has told it the time.
   */
  clock_offset_ms: z.int().exactOptional(),
  /**
   * Of credentials that end: the key that they are for, and their life; it is renewed when two
   * thirds are over.
   */
  credentials: z
    .object({ key: z.string().max(64), issued_at: time, ends_at: time })
    .exactOptional(),
  /** How it reaches the bus. */
  way: z.enum(['tcp', 'websocket']).exactOptional(),
  /** Where it comes from, with the proof of the coordinator that passes it on. */
  comes_from: z.string().max(128).exactOptional(),
  /** The autonomous system that its requests come from, as its host says. */
  origin_as: z.int().min(1).max(4_294_967_295).exactOptional(),
  load: z.object({ in_flight: z.int(), late_ms: z.number() }),
  /** How many checks of each kind ended how since this process began. */
  checks: z
    .array(
      z.object({ kind: z.string().max(32), outcome: z.string().max(16), count: z.int().min(0) }),
    )
    .max(64)
    .exactOptional(),
  self_test: z.object({ ok: z.boolean(), detail: z.string().max(200) }),
  /**
   * Of a public probe: the key that signs its requests, with its proof for the coordinators'
   * directory.
   */
  request_key: requestKey.exactOptional(),
  /** Of a private probe: equal for those that run on one host. */
  host: z.string().max(64).exactOptional(),
  /** Of a public probe: the addresses that its requests come from, as far as its host knows them. */
  addresses: z.array(z.string().max(64)).max(16).exactOptional(),
  /** How many announcements it has refused since it began, because no coordinator said them. */
  refused: z.int().min(0).exactOptional(),
  /**
   * How far the probe has handed over everything it saw while the bus or the coordinator was down
   * (rule 4).
   */
  handed_over: z.boolean(),
  /** It is about to stop: others take its turns at once (rule 7). */
  leaving: z.boolean().exactOptional(),
});

/** While one replaces another, there are two. */
export const signingKeys = z.array(z.string().max(64)).min(1).max(2);

export const presenceReply = z.object({
  v: version,
  now: time,
  /** When the presence came; `now` is when the answer left. */
  heard_at: time,
  base_url: z.string(),
  anchors: z.array(z.string()),
  roster_epoch: z.int().min(0),
  committed,
  /**
   * The keys of the network that open `sealed` configs, each sealed to this probe: key id → base64.
   */
  seal_keys: z.record(z.string(), z.string()),
  /** A process that was started later runs as this probe: this one is to end. */
  displaced: z.boolean().exactOptional(),
  /** The public keys of the coordinators: whose announcements count. */
  signing: z.object({ keys: signingKeys }),
  /** Whether public probes sign their requests and are listed. */
  identify: z.boolean().exactOptional(),
  /** The credentials of the probe, renewed. */
  jwt: z.string().max(8_192).exactOptional(),
});

/**
 * The answer to a presence that this coordinator cannot read, because it is of another version of
 * the wire; the words are for whoever reads the probe's log.
 */
export const presenceRefusal = z.object({ refused: z.string().max(500) });

/**
 * Sent after each commit, so that probes trim their spools at once; presence replies say the same
 * for those that missed it.
 */
export const receiptMessage = z.object({
  v: version,
  generation: id,
  committed,
  again: z.array(z.int()).default([]),
});

export const pingKinds = ['success', 'start', 'fail', 'log'] as const;

export const pingMessage = z.object({
  v: version,
  id,
  key: z.string().regex(/^[0-9a-f]{64}$/),
  kind: z.enum(pingKinds),
  exit_code: z.int().min(0).max(255).nullable(),
  at: time,
  rid: id.nullable(),
  method: z.string().max(8),
  body: z.string().max(16_384),
  /** The name of a probe, as long as that may be. */
  ear: z.string().max(400),
  /** Of a ping of a ping key that names no monitor yet: it creates the one of this external id. */
  create: z.object({ ping_key: id, external_id: z.string().min(1).max(400) }).exactOptional(),
});

/** So many pings go with one call to the coordinator's address. */
export const maxForwardedPings = 500;

/**
 * Pings from the disk of a ping receiver that cannot reach the bus, given to the coordinator's own
 * address. `sent_at`: a replay much later is refused.
 */
export const forwardedPingsMessage = z
  .object({
    v: version,
    probe: id,
    sent_at: time,
    beats: z.array(pingMessage).min(1).max(maxForwardedPings),
  })
  .transform(({ beats, ...message }) => ({ ...message, pings: beats }));

/**
 * The ids of those that the ping receiver need not keep any longer: the bus has them, or nobody
 * will ever take them.
 */
export const forwardedPingsReply = z.object({ v: version, done: z.array(id) });

/**
 * A known heartbeat key: which monitor it belongs to, and until when a rotated-out one still
 * counts.
 */
export const pingKeyMessage = z.object({
  v: version,
  organisation: id,
  monitor: id,
  until: time.nullable(),
});

/** How many keys a ping receiver holds, and which: a digest of them. */
export const receiverKeysMessage = z.object({
  v: version,
  probe: id,
  count: z.int(),
  digest: z.string().max(64),
});

const mark = z.object({ id, at: time, exit_code: z.int().nullable() });
const run = z.object({ rid: id.nullable(), at: time });

/** What the pings of a monitor come to; see shared/checks/heartbeat/state.ts. */
export const pingStateMessage = z.object({
  v: version,
  terms: z.int().nullable(),
  paused: z.boolean(),
  from: time.nullable(),
  good: mark.nullable(),
  bad: mark.nullable(),
  latest: z.enum(['good', 'bad']).nullable(),
  open: z.array(run).max(64),
  ended: z.array(run).max(64),
});

/**
 * The outcome of a trial. It goes the way of presence, which every probe may publish; it is signed,
 * and nobody stores it.
 */
export const testAnswerMessage = z.object({
  v: version,
  probe: id,
  trial: id,
  result: resultMessage.pick({
    at: true,
    took_ms: true,
    outcome: true,
    cause: true,
    phases: true,
    evidence: true,
  }),
});

/**
 * A test run that a coordinator began, told to the others, so that any of them can be asked for its
 * results. No probe may publish or subscribe there.
 */
export const testRunAnnouncement = z.object({
  v: version,
  trial: id,
  organisation: id,
  user: id.nullable(),
  asked: z.array(z.object({ id, probe: z.string(), continent: z.string() })).max(16),
  lasts_ms: z.int().min(0),
});

/**
 * A probe's question about a domain, sent where its presence goes; the leader answers.
 */
export const registrationQuestion = z.object({
  v: version,
  probe: id,
  domain: z.string().min(1).max(255),
});
export const registrationReply = z.object({
  v: version,
  domain: z.string(),
  registration: registrationShape,
});

export type TestRunMessage = z.infer<typeof testRunMessage>;
export type TestRunAnnouncement = z.infer<typeof testRunAnnouncement>;
export type TestAnswerMessage = z.infer<typeof testAnswerMessage>;
export type AssignmentMessage = z.infer<typeof assignmentMessage>;
export type RosterMessage = z.infer<typeof rosterMessage>;
export type RecheckMessage = z.infer<typeof recheckMessage>;
export type PresenceMessage = z.infer<typeof presenceMessage>;
export type PresenceReply = z.infer<typeof presenceReply>;
export type ReceiptMessage = z.infer<typeof receiptMessage>;
export type PingMessage = z.infer<typeof pingMessage>;
export type ForwardedPingsMessage = z.infer<typeof forwardedPingsMessage>;
