import { hash } from 'node:crypto';
import { z } from 'zod';
import { createRecentCache } from '../base/async.ts';
import { type Continent, continents } from '../base/continents.ts';
import { type Headers, type Message, signingKeys } from './messages.ts';
import {
  createKey,
  issueCredentials,
  type Key,
  keyFromSeed,
  mintAccount,
  mintOperator,
  type Permissions,
  parseCredentials,
  readJwt,
  type UserLimits,
  verify,
} from './nkeys.ts';
import { inboxOf, probeConsumers, streams, subjects } from './subjects.ts';

/**
 * All that a probe needs, as one word to copy into a terminal: base64url of JSON. The coordinator's
 * operator prints it once, the probe reads it from PROBE_CREDENTIALS. Its seed is the probe's whole
 * identity: on the bus, and in the signature of its results.
 */
const probeCredentials = z.object({
  v: z.literal(1),
  probe: z.uuid(),
  name: z.string().min(1).max(200),
  continent: z.enum(continents),
  /** The organisation of a private probe; null for a public one. */
  organisation: z.uuid().nullable(),
  nats_url: z.string().regex(/^(nats|tls|wss?):\/\//),
  /** The text of a NATS credentials file. */
  nats_credentials: z.string().includes('NATS USER JWT'),
  /** The keys that verify the coordinators' announcements. */
  signing_keys: signingKeys,
});

export type ProbeCredentials = Readonly<z.infer<typeof probeCredentials>>;

export function printProbeCredentials(
  credentials: Omit<z.input<typeof probeCredentials>, 'v'>,
): string {
  return Buffer.from(JSON.stringify({ v: 1, ...credentials })).toString('base64url');
}

/** @throws when the text is invalid; the message does not repeat it. */
export function parseProbeCredentials(text: string): ProbeCredentials {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text.trim(), 'base64url').toString());
  } catch {
    throw new Error('are not what "probe create" printed: copy the whole line of base64url');
  }
  const parsed = probeCredentials.safeParse(value);
  if (!parsed.success)
    throw new Error(
      `are invalid: ${parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`,
    );
  return Object.freeze(parsed.data);
}

/**
 * How a host becomes a probe: it makes its keys, and proves with one of them and a join token that
 * it may. The private key never leaves the host, so the answer holds nothing secret.
 *
 * Where a host asks, below the coordinator's address.
 */
export const enrolmentPath = '/enrol';

export function enrolmentProof(key: Key, token: string): string {
  return Buffer.from(key.sign(proven(token))).toString('base64url');
}

/**
 * What is signed: the token, so a proof is valid for it alone. It contains no time, so a host with
 * a wrong clock can ask and be answered. A replay only gets a JWT for a key that the sender does
 * not have.
 */
function proven(token: string): Uint8Array {
  return Buffer.from(`antipode enrol ${token}`);
}

export function isEnrolmentProof(key: string, proof: string, token: string): boolean {
  return verify(key, Buffer.from(proof, 'base64url'), proven(token));
}

/** The coordinator's answer to a valid request. */
export const enrolmentAnswer = z.object({
  probe: z.uuid(),
  name: z.string().min(1).max(200),
  continent: z.enum(continents),
  organisation: z.uuid().nullable(),
  nats_url: z.string().regex(/^(nats|tls|wss?):\/\//),
  /** The authorities that may have signed the bus's certificate; null to use the host's own. */
  nats_ca: z.string().nullable(),
  /** What the public key may do on the bus, and until when. */
  jwt: z.string(),
  base_url: z.string(),
  anchors: z.array(z.string()),
  signing_keys: signingKeys,
  now: z.number(),
});

export type EnrolmentAnswer = Readonly<z.infer<typeof enrolmentAnswer>>;

/**
 * How long the bus admits a probe that made its own key. Presence renews it once two thirds are
 * over.
 */
export const credentialsLifetimeMs = 30 * 86_400_000;

/** Early enough for a probe that is off for a week, late enough to keep requests rare. */
export function isRenewalDue(
  { issued_at, ends_at }: { readonly issued_at: number; readonly ends_at: number },
  now: number,
): boolean {
  return 3 * (now - issued_at) >= 2 * (ends_at - issued_at);
}

/**
 * Everything that makes this bus the one its clients know. It is made once: newer account JWTs
 * would undo revocations.
 */
export const busIdentityShape = z.object({
  operatorSeed: z.string(),
  operatorJwt: z.string(),
  systemAccount: z.string(),
  systemJwt: z.string(),
  /** The coordinator's, which pushes account JWTs with revocations. */
  systemCredentials: z.string(),
  account: z.string(),
  accountSeed: z.string(),
  accountJwt: z.string(),
  coordinatorCredentials: z.string(),
});

export type BusIdentity = Readonly<z.infer<typeof busIdentityShape>>;

const accountName = 'ANTIPODE';

/** An account with JetStream, and one user in it that may do everything there. */
export function createAccountIdentity(operatorSeed: string, name: string, now: number) {
  const account = createKey('account');
  return {
    account: account.id,
    accountSeed: account.seed,
    accountJwt: mintAccount(
      {
        name,
        account: account.id,
        operator: keyFromSeed(operatorSeed, 'operator'),
        jetstream: true,
      },
      now,
    ),
    coordinatorCredentials: issueCredentials({ name: 'coordinator', account }, now).credentials,
  };
}

/** The secrets of a bus, which cannot be made again; everything else is derived from them. */
type BusKeys = Pick<
  BusIdentity,
  'operatorSeed' | 'accountSeed' | 'systemCredentials' | 'coordinatorCredentials'
>;

/**
 * The bus of these keys. Its documents carry the time when it was made: a server that still has a
 * newer one, with revocations in it, keeps that.
 * @throws when the keys belong to different buses.
 */
export function busIdentityOf(keys: BusKeys): BusIdentity {
  const operator = keyFromSeed(keys.operatorSeed, 'operator');
  const account = keyFromSeed(keys.accountSeed, 'account').id;
  const coordinator = readJwt(parseCredentials(keys.coordinatorCredentials).jwt);
  if (coordinator.iss !== account)
    throw new Error('the credentials of the coordinators are of another account than the seed');
  const systemAccount = readJwt(parseCredentials(keys.systemCredentials).jwt).iss;
  const madeAt = coordinator.iat * 1_000;
  return {
    ...keys,
    account,
    systemAccount,
    operatorJwt: mintOperator({ name: 'antipode', operator, systemAccount }, madeAt),
    systemJwt: mintAccount(
      { name: 'SYS', account: systemAccount, operator, jetstream: false },
      madeAt,
    ),
    accountJwt: mintAccount({ name: accountName, account, operator, jetstream: true }, madeAt),
  };
}

export function createBusIdentity(now: number): BusIdentity {
  const operatorSeed = createKey('operator').seed;
  const { accountSeed, coordinatorCredentials } = createAccountIdentity(
    operatorSeed,
    accountName,
    now,
  );
  const systemCredentials = issueCredentials(
    { name: 'coordinator-system', account: createKey('account') },
    now,
  ).credentials;
  return busIdentityOf({ operatorSeed, accountSeed, coordinatorCredentials, systemCredentials });
}

type ProbeUser = {
  readonly probe: string;
  readonly continent: Continent;
  readonly organisation: string | null;
};

/**
 * What a probe publishes that the bus's server answers: results, pings, requests for the next
 * message. The server answers on any subject that a request names, and no permission restricts
 * that, so each of these is a way to publish anywhere.
 */
export function answeredSubjects({ probe, continent, organisation }: ProbeUser): readonly string[] {
  const durables = [
    probeConsumers.roster(probe),
    probeConsumers.assignments(probe, ''),
    probeConsumers.private(probe, ''),
  ].map(({ name }) => name);
  const pingKeys = probeConsumers.pingKeys(probe, organisation).name;
  return [
    subjects.resultsOfProbe(continent, probe),
    subjects.pingsTakenIn(continent),
    subjects.lastPingsOf(organisation),
    `$JS.API.DIRECT.GET.${streams.lastPings.name}.${subjects.lastPingsOf(organisation)}`,
    `$JS.API.CONSUMER.MSG.NEXT.${streams.pingKeys.name}.${pingKeys}`,
    `$JS.ACK.${streams.pingKeys.name}.${pingKeys}.>`,
    ...durables.flatMap((name) => [
      `$JS.API.CONSUMER.MSG.NEXT.ASSIGN.${name}`,
      `$JS.ACK.ASSIGN.${name}.>`,
    ]),
  ];
}

/**
 * What a probe may do on the bus: publish its own results, presence and pings, pull its own
 * assignments, and receive its own rechecks, receipts and inbox. A probe of an organisation
 * publishes what the server would answer to its relay (probes/private-relay.ts), which checks where the
 * answer goes.
 */
export function probePermissions(user: ProbeUser): Permissions {
  return {
    publish: {
      allow: [
        ...spoken(user.probe),
        ...(user.organisation === null
          ? answeredSubjects(user)
          : [`${subjects.relay(user.probe)}.>`]),
      ],
    },
    subscribe: {
      allow: [subjects.look(user.probe), subjects.receipt(user.probe), `${inboxOf(user.probe)}.>`],
    },
  };
}

/**
 * Where a probe publishes its own messages. Only coordinators answer there, and they check whom
 * they answer.
 */
function spoken(probe: string): readonly string[] {
  return [subjects.presence(probe), subjects.receiverKeys(probe)];
}

/** The subject on which this probe's relay accepts messages for another subject. */
export function relayedSubject(probe: string, subject: string): string {
  return spoken(probe).includes(subject) ? subject : `${subjects.relay(probe)}.${subject}`;
}

/**
 * Between the clusters of a supercluster, the subject of an answer has this prefix for the way
 * back.
 */
const gatewayPrefix = /^_GR_\.[^.]+\.[^.]+\./;

/** Whether an answer on this subject reaches that probe and no one else. */
export function isAnswerableTo(probe: string, reply: string): boolean {
  return reply.replace(gatewayPrefix, '').startsWith(`${inboxOf(probe)}.`);
}

/** Whether a permission covers a subject: `*` matches one token, `>` all that follow. */
export function covers(permission: string, subject: string): boolean {
  const [allowed, tokens] = [permission.split('.'), subject.split('.')];
  const rest = allowed.at(-1) === '>' ? allowed.length - 1 : undefined;
  if (rest === undefined ? allowed.length !== tokens.length : tokens.length <= rest) return false;
  return allowed.slice(0, rest).every((token, place) => token === '*' || token === tokens[place]);
}

/** The limit for one message of a probe; a batch of results is cut to fit. */
const maxProbePayloadBytes = 512 * 1024;

export const probeLimits: UserLimits = { subscriptions: 32, payloadBytes: maxProbePayloadBytes };

/**
 * The header with which batches of results and presences prove their sender: the subject of a
 * message proves nothing.
 *
 * A signature costs as much as the hash of a hundred kilobytes, on both sides. Bodies that leave at
 * the same moment therefore share one, over the digests of all of them, which each carries. A
 * reader of several of them verifies it once.
 */
const header = 'Signature';
const sharedHeader = 'Signed';

/** More digests would cost more to send than they save. */
const maxTogether = 16;
const digestLength = 43;

/**
 * base64url never contains a dot: while a key is being replaced, this separates the signatures of
 * both.
 */
const between = '.';

export function signatureOf(key: Key, body: Uint8Array): Headers {
  return {
    [header]: signed([key], body),
  };
}

function signed(keys: readonly Key[], bytes: Uint8Array): string {
  return keys.map((key) => Buffer.from(key.sign(bytes)).toString('base64url')).join(between);
}

/** The headers of each of these bodies, in order, signed by each of the keys. */
export function signaturesOf(
  keys: readonly Key[],
  bodies: readonly Uint8Array[],
): readonly Headers[] {
  const [only] = bodies;
  if (only && bodies.length === 1) return [{ [header]: signed(keys, only) }];
  const all: Headers[] = [];
  for (let from = 0; from < bodies.length; from += maxTogether) {
    const together = bodies.slice(from, from + maxTogether);
    const digests = together.map(digestOf).join('.');
    const headers = { [header]: signed(keys, listOf(digests)), [sharedHeader]: digests };
    for (const _ of together) all.push(headers);
  }
  return all;
}

function digestOf(body: Uint8Array): string {
  return hash('sha256', body, 'base64url');
}

/**
 * No body begins this way, because bodies are JSON. A signed list can never pass for a body, nor a
 * body for a list.
 */
function listOf(digests: string): Uint8Array {
  return Buffer.from(`digests ${digests}`);
}

/** What can be signed: a message of the bus, or a call. */
export type Signed = Pick<Message, 'data' | 'header'>;

/** Whether anyone signed it at all. */
export function hasSignature({ header: headerOf }: Signed): boolean {
  return headerOf(header) !== undefined;
}

/**
 * What proves the message's sender, to be kept with it: 64 bytes for each signature, and the digests
 * (32 bytes each) of the bodies that it is shared with.
 */
export function proofOf({ header: headerOf }: Pick<Message, 'header'>): {
  readonly signature: Buffer;
  readonly digests: Buffer | null;
} | null {
  const [text, digests] = [headerOf(header), headerOf(sharedHeader)];
  return text === undefined
    ? null
    : { signature: bytesOf(text), digests: digests === undefined ? null : bytesOf(digests) };
}

function bytesOf(text: string): Buffer {
  return Buffer.concat(text.split(between).map((one) => Buffer.from(one, 'base64url')));
}

/** Whether one of these public keys signed the message's body. */
export function isSignedBy(keys: readonly string[], message: Signed): boolean {
  const text = message.header(header);
  if (text === undefined) return false;
  const digests = message.header(sharedHeader);
  if (digests === undefined) return signerOf(keys, text, message.data) !== undefined;
  if (digests.length >= maxTogether * (digestLength + 1)) return false;
  return digests.split('.').includes(digestOf(message.data)) && signedList(keys, text, digests);
}

const maxSignatures = 2;

/** Which of these public keys made one of the signatures. */
function signerOf(keys: readonly string[], text: string, bytes: Uint8Array): string | undefined {
  const signatures = text.split(between, maxSignatures).map((one) => Buffer.from(one, 'base64url'));
  return keys.find((key) => signatures.some((signature) => verify(key, signature, bytes)));
}

/**
 * Lists with verified signatures, by signature: the same few come again within a moment. One cache
 * for the whole process, because an entry is always true: this key made this signature of this
 * list. Whether the key is trusted is checked each time.
 *
 * One that many others have replaced is verified again.
 */
const orNotFound = createRecentCache<string, { readonly key: string; readonly digests: string }>(
  1_024,
);

function signedList(keys: readonly string[], text: string, digests: string): boolean {
  const known = orNotFound.find(text);
  if (known?.digests === digests && keys.includes(known.key)) return true;
  const key = signerOf(keys, text, listOf(digests));
  if (key === undefined) return false;
  orNotFound.keep(text, { key, digests });
  return true;
}
