import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';
import { createRecentCache } from '../../../shared/base/async.ts';
import { withPort } from '../../../shared/base/network.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import { isMailPort } from '../../../shared/checks/connection/keys.ts';
import {
  type HttpsSettings,
  httpsSettings,
  httpsUrl,
} from '../../../shared/checks/https/config.ts';
import { noPhases, type Phases, type Verdict } from '../../../shared/checks/result.ts';
import { openSocket } from '../connection/connect.ts';
import { scrubber } from '../connection/evidence.ts';
import { createNotes } from '../connection/notes.ts';
import { ownCodes } from '../connection/observation.ts';
import { type ConnectionDependencies, type Endpoint, reach } from '../connection/reach.ts';
import { BodyMemory, type BodyShare, CheckDeadline } from '../limits.ts';
import type { Check, CheckContext, ProbeIdentity } from '../types.ts';
import { judgeBoth } from './both-families.ts';
import type { HopSeen, HttpsObservation, RedirectEnd } from './evidence.ts';
import { decoded } from './exchange.ts';
import { readerLimits } from './reader.ts';
import { judgeHttps } from './verdict.ts';
import {
  createHttp2Origins,
  exchangeByEither,
  firstOpening,
  type Http2Origins,
  type Opening,
} from './versions.ts';

/** What one hop sends, and which of the user's own headers and credentials may go along. */
export type Request = {
  readonly url: URL;
  readonly method: string;
  readonly body: string | null;
  /**
   * Whether the request still goes to the origin that the monitor names. Credentials and own
   * headers go nowhere else, not even back after a detour.
   */
  readonly trusted: boolean;
};

export type Plan = {
  readonly settings: HttpsSettings;
  readonly first: Request;
  readonly bytes: Buffer;
};

export function userAgent(probe: ProbeIdentity): string {
  return oneLine(
    `Antipode/${probe.version} (+${probe.base_url}; probe=${probe.name}; continent=${probe.continent})`,
  );
}

/**
 * Headers that say how to answer and nothing about the sender. Only these leave the monitor's own
 * origin.
 */
const harmless = ['accept', 'accept-language', 'content-type', 'cache-control', 'pragma'];

function oneLine(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e]/g, '?');
}

/** The request of one hop in wire format: HTTP/1.1, one connection, no compression asked for. */
export function requestBytes(
  request: Request,
  settings: HttpsSettings,
  probe: ProbeIdentity,
): Buffer {
  const { url, method, body, trusted } = request;
  const own = settings.headers.filter(([name]) => trusted || harmless.includes(name.toLowerCase()));
  const names = new Set(own.map(([name]) => name.toLowerCase()));
  const lines = [`${method} ${url.pathname}${url.search} HTTP/1.1`];
  if (!names.has('host')) lines.push(`Host: ${url.host}`);
  lines.push(`User-Agent: ${userAgent(probe)}`);
  if (!names.has('accept')) lines.push('Accept: */*');
  if (!names.has('accept-encoding')) lines.push('Accept-Encoding: identity');
  if (trusted && settings.credentials !== null && !names.has('authorization'))
    lines.push(`Authorization: ${unbroken(settings.credentials)}`);
  for (const [name, value] of own) lines.push(`${name}: ${unbroken(value)}`);
  const payload = body === null ? null : Buffer.from(body, 'utf8');
  if (payload) lines.push(`Content-Length: ${payload.length}`);
  else if (method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS')
    lines.push('Content-Length: 0');
  lines.push('Connection: close', '', '');
  const head = Buffer.from(lines.join('\r\n'), 'latin1');
  return payload ? Buffer.concat([head, payload]) : head;
}

/**
 * The config was checked for this long before. A line break here would let someone inject a
 * request.
 */
function unbroken(value: string): string {
  return value.replaceAll(/[\r\n\0]+/g, ' ');
}

const ownSignature = ['signature', 'signature-input', 'signature-agent'];

/** Whether the owner's own headers, by their names in lower case, already sign a request. */
export function isSignedByOwner(own: ReadonlyMap<string, string>): boolean {
  return ownSignature.some((name) => own.has(name));
}

/** As the target reads it: from the header Host, without the port of the scheme. */
export function authorityOf(url: URL, host: string | undefined): string {
  return host === undefined
    ? url.host
    : host
        .trim()
        .toLowerCase()
        .replace(/^(?:https|wss):$/.test(url.protocol) ? /:443$/ : /:80$/, '');
}

/**
 * A plan takes 2 KB, so a hundred thousand monitors cannot all keep one. Making one takes 45 µs in
 * a probe that wakes for each check with cold caches (2.5 µs in a loop), so the last thousand or
 * two are kept.
 */
const maxHeld = 1_024;
const held = createRecentCache<Assignment, { readonly plan: Plan; readonly probe: ProbeIdentity }>(
  maxHeld,
);

/**
 * Prepares what a check does first. The plan of a sealed assignment, which is a new object each
 * time, is not kept: its secrets leave memory with it.
 */
export function planOf(assignment: Assignment, probe: ProbeIdentity): Plan {
  if (assignment.sealed !== null) return makePlan(assignment, probe);
  const known = held.find(assignment);
  if (known?.probe === probe) return known.plan;
  const plan = makePlan(assignment, probe);
  held.keep(assignment, { plan, probe });
  return plan;
}

function makePlan(assignment: Assignment, probe: ProbeIdentity): Plan {
  const url = httpsUrl(assignment.target);
  if (!url) throw new Error('The target of an https check is not an address');
  url.hash = '';
  const settings = httpsSettings(assignment.config);
  const first: Request = { url, method: settings.method, body: settings.body, trusted: true };
  return { settings, first, bytes: requestBytes(first, settings, probe) };
}

const redirects = [301, 302, 303, 307, 308];

export function isRedirect(status: number): boolean {
  return redirects.includes(status);
}

/** Where a redirect leads: the next request, or why it is invalid. */
export function nextRequest(
  from: Request,
  status: number,
  location: string | undefined,
): Request | 'without_location' | 'invalid' {
  if (location === undefined || location === '') return 'without_location';
  // Header bytes were read as latin-1. Addresses in raw UTF-8 are common enough to support.
  const url = URL.parse(Buffer.from(location, 'latin1').toString('utf8'), from.url);
  if (
    !url ||
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.hostname === '' ||
    url.port === '0' ||
    // A redirect may keep method and body.
    isMailPort(url.port)
  )
    return 'invalid';
  url.hash = '';
  url.username = '';
  url.password = '';
  const becomesGet =
    (status === 303 && from.method !== 'HEAD') ||
    ((status === 301 || status === 302) && from.method === 'POST');
  return {
    url,
    method: becomesGet ? 'GET' : from.method,
    body: becomesGet ? null : from.body,
    trusted: from.trusted && url.origin === from.url.origin,
  };
}

export type HttpsDependencies = ConnectionDependencies & {
  /** For the bodies of all checks of a probe. */
  readonly memory?: BodyMemory;
};

type Prepared = ConnectionDependencies & { readonly origins: Http2Origins };

/** The memory that the bodies of all running checks may take together. */
const maxBodyMemory = 48 * 1_048_576;

const free = (): void => undefined;

/** Performs the check: every hop freshly, then the pure verdict over what was observed. */
export function createHttpsCheck(dependencies: HttpsDependencies): Check {
  const prepared: Prepared = { ...dependencies, origins: createHttp2Origins() };
  const bodies = dependencies.memory ?? new BodyMemory(maxBodyMemory);
  const note = createNotes(dependencies);
  const once = async (context: CheckContext, plan: Plan): Promise<Performed> => {
    // Three copies: the body as it came, unpacked, and as text.
    const memory = bodies.share(3 * readerLimits.body, context.assignment.organisation);
    try {
      return await perform(context, plan, memory, prepared);
    } finally {
      memory.release();
    }
  };
  return async (context) => {
    const plan = planOf(context.assignment, context.probe);
    const { verdict, hops, settings } = plan.settings.both_families
      ? await byBothFamilies(context, plan, once)
      : await once(context, plan);
    const [first] = hops;
    if (!first) return verdict;
    const handshakes = hops.map(({ tls }) => tls);
    const endpoint = endpointOf(plan.first.url, settings);
    return note(verdict, context, endpoint, first, handshakes, answerOf(hops, settings));
  };
}

/** Who answered in the end, and the addresses on the way there. */
function answerOf(hops: readonly HopSeen[], { secrets }: HttpsSettings) {
  const scrub = scrubber(secrets);
  const [first, ...others] = hops.map(({ url, addresses }) => ({ url: new URL(url), addresses }));
  const last = others.at(-1);
  const server = hops.at(-1)?.response?.headers.find(([name]) => name === 'server')?.[1];
  return {
    addresses: others.flatMap(({ url, addresses }) =>
      addresses.map((address) => withPort(address, portOf(url))),
    ),
    server: server === undefined ? null : scrub(server, 100),
    redirect: last && last.url.host !== first?.url.host ? scrub(last.url.host, 300) : null,
  };
}

function portOf(url: URL): number {
  return Number(url.port || (url.protocol === 'https:' ? 443 : 80));
}

function endpointOf(url: URL, { ip_family }: HttpsSettings): Endpoint {
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: portOf(url),
    ip_family,
  };
}

type Performed = {
  readonly settings: HttpsSettings;
  readonly verdict: Verdict;
  readonly hops: readonly HopSeen[];
};

type Once = (context: CheckContext, plan: Plan) => Promise<Performed>;

/** At the same time: a slow family must not use up the other's time. */
async function byBothFamilies(context: CheckContext, plan: Plan, once: Once): Promise<Performed> {
  const by = async <Family extends '4' | '6'>(family: Family) => {
    const own = new CheckDeadline(performance.now(), context.deadline.due);
    const whole = { expire: () => own.end() };
    if (context.deadline.isOver()) own.end();
    else context.deadline.listen(whole);
    const settings = { ...plan.settings, ip_family: family };
    try {
      return { family, ...(await once({ ...context, deadline: own }, { ...plan, settings })) };
    } finally {
      context.deadline.unlisten(whole);
      own.settle();
    }
  };
  // Both end before a fault of ours is told of: nothing of a check outlives it.
  const [four, six] = await Promise.allSettled([by('4'), by('6')]);
  if (four.status === 'rejected') throw four.reason;
  if (six.status === 'rejected') throw six.reason;
  const both = [four.value, six.value] as const;
  return { ...four.value, verdict: judgeBoth(both, context.evidence_wanted) };
}

async function perform(
  context: CheckContext,
  plan: Plan,
  memory: BodyShare,
  dependencies: Prepared,
): Promise<Performed> {
  const began = performance.now();
  context.deadline.listenInSteps();
  const hops: HopSeen[] = [];
  const bodies: (() => void)[] = [];
  let phases = noPhases;
  let redirects: RedirectEnd = 'done';
  let request = plan.first;
  let bytes = signed(plan.bytes, request, plan.settings, context);
  const visited = new Set<string>();

  for (;;) {
    visited.add(`${request.method} ${request.url.href}`);
    const { hop, free } = await performHop(request, bytes, plan, context, memory, dependencies);
    hops.push(hop);
    bodies.push(free);
    phases = {
      dns: sum(phases.dns, hop.phases.dns),
      tcp: sum(phases.tcp, hop.phases.tcp),
      tls: sum(phases.tls, hop.phases.tls),
      first_byte: sum(phases.first_byte, hop.phases.first_byte),
      total: null,
    };
    const status = hop.response?.status ?? 0;
    if (hop.failure || !plan.settings.follow_redirects || !isRedirect(status)) break;
    const next = nextRequest(
      request,
      status,
      hop.response?.headers.find(([name]) => name === 'location')?.[1],
    );
    if (typeof next === 'string') redirects = next;
    else if (visited.has(`${next.method} ${next.url.href}`)) redirects = 'loop';
    else if (hops.length > plan.settings.max_redirects) redirects = 'limit';
    if (typeof next === 'string' || redirects !== 'done') break;
    request = next;
    bytes = signed(
      requestBytes(request, plan.settings, context.probe),
      request,
      plan.settings,
      context,
    );
  }

  const observation: HttpsObservation = {
    at: context.started_at,
    limit_ms: context.assignment.timeout_ms,
    hops,
    redirects,
    phases: { ...phases, total: performance.now() - began - memory.waited_ms },
  };
  const verdict = await inSlices(judgeHttps(plan.settings, observation, context.evidence_wanted));
  for (const free of bodies) free();
  return { settings: plan.settings, verdict, hops };
}

/**
 * The request with the lines that prove who asks. Unchanged where the probe does not sign, or the
 * owner's own headers already do.
 */
function signed(
  bytes: Buffer,
  { url, method, trusted }: Request,
  { headers }: HttpsSettings,
  { probe: { sign }, clock }: CheckContext,
): Buffer {
  if (!sign) return bytes;
  const own = new Map(trusted ? headers.map(([name, value]) => [name.toLowerCase(), value]) : []);
  if (isSignedByOwner(own)) return bytes;
  const authority = authorityOf(url, own.get('host'));
  const isSecure = url.protocol === 'https:';
  const lines = sign({ authority, method, isSecure }, clock.now());
  const at = bytes.indexOf('\r\n') + 2;
  return Buffer.concat([bytes.subarray(0, at), lines, bytes.subarray(at)]);
}

/** `free`: the body is not read after that. */
type HopResult = { readonly hop: HopSeen; readonly free: () => void };

const nothing = new Uint8Array();

/**
 * Enough of a body for evidence and to recognise a block page. The whole body is kept only where it
 * is judged.
 */
const keptForEvidence = 4_096;

/** One hop: resolve, vet, connect, handshake, send, read. */
async function performHop(
  request: Request,
  bytes: Buffer,
  plan: Plan,
  context: CheckContext,
  memory: BodyShare,
  dependencies: Prepared,
): Promise<HopResult> {
  const { settings } = plan;
  const { trust, origins } = dependencies;
  const isSecure = request.url.protocol === 'https:';
  const endpoint = endpointOf(request.url, settings);
  const asked = endpoint.host.replace(/\.$/, '');
  const opening: Opening = (isHybrid, alpn) => (address, port, through) =>
    openSocket(
      address,
      port,
      isSecure ? { host: asked, verify: settings.verify_tls, isHybrid, alpn, client } : null,
      trust,
      through,
    );
  const client = request.trusted ? settings.client_certificate : null;
  const began = performance.now();
  const waited = memory.waited_ms;
  const { origin } = request.url;
  // Asked once: another check may note it meanwhile, and this connection offers what it offers.
  const byHttp2 = origins.has(origin);
  const first = firstOpening(opening, byHttp2);
  const { socket, ...reached } = await reach(endpoint, first, context, dependencies);
  let phases: Phases = { ...noPhases, ...reached.phases };
  const hopOf = (rest: Pick<HopSeen, 'beginning' | 'tls' | 'response' | 'failure'>): HopSeen => ({
    url: request.url.href,
    ...reached.seen,
    phases: { ...phases, total: performance.now() - began - memory.waited_ms + waited },
    ...rest,
  });
  if (!socket) {
    const { failure } = reached;
    return { hop: hopOf({ beginning: nothing, tls: null, response: null, failure }), free };
  }

  const wanted = {
    method: request.method,
    bytes,
    keep: settings.judges_body ? readerLimits.body : keptForEvidence,
    memory,
    headOnly: (status: number) => settings.follow_redirects && isRedirect(status),
    host: asked,
    verify: settings.verify_tls,
    trust,
    isExpected: settings.expected.matches,
  };
  const connection = { ...reached, socket, byHttp2 };
  const seen = await exchangeByEither(
    connection,
    opening,
    wanted,
    origin,
    origins,
    context.deadline,
  );
  const { reader, tls } = seen;
  const failure =
    seen.failure !== null && isOfWait(seen.failure.code, memory.waited_ms - waited, context)
      ? { ...seen.failure, code: ownCodes.memory }
      : seen.failure;
  phases = { ...phases, tls: seen.tls_ms, first_byte: seen.first_byte_ms };
  const rest = { beginning: reader.beginning, tls, failure };
  if (reader.status === 0) return { hop: hopOf({ ...rest, response: null }), free };
  const body = await decoded(reader, settings.judges_body ? readerLimits.body : keptForEvidence);
  const response = {
    status: reader.status,
    isHttp2: reader.isHttp2,
    headers: reader.headers,
    read: reader.read,
    body: body.body,
    truncated: body.truncated,
  };
  return { hop: hopOf({ ...rest, response }), free: body.free };
}

/** Servers wait for a reader that stands for some seconds at least. */
const patienceMs = 1_000;

/**
 * Whether a failure may come from our wait for memory: the server gave up on a connection on which
 * we did not read, or the wait took much of the time.
 */
function isOfWait(
  code: string,
  waited_ms: number,
  { assignment: { timeout_ms } }: CheckContext,
): boolean {
  return code === ownCodes.incomplete
    ? waited_ms >= patienceMs
    : code === ownCodes.deadline && waited_ms >= timeout_ms / 4;
}

function sum(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : a + b;
}

/** One slice at a turn of the loop, whoever has work: others come in between. */
const slices = pLimit(1);

/** The first slice is enough for nearly all, and made at once. */
async function inSlices<Result>(work: Generator<void, Result>): Promise<Result> {
  let step = work.next();
  while (!step.done) step = await slices(async () => work.next(await setImmediate()));
  return step.value;
}
