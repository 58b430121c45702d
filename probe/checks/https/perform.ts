import { isIP } from 'node:net';
import { createRecentCache } from '../../../shared/base/async.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import {
  type HttpsSettings,
  httpsSettings,
  httpsUrl,
} from '../../../shared/checks/https/config.ts';
import { noPhases, type Verdict } from '../../../shared/checks/result.ts';
import { BodyMemory, type BodyShare, type CheckDeadline } from '../limits.ts';
import type { Check, CheckContext, ProbeIdentity } from '../types.ts';
import { type Connected, connectFirst, openSocket } from './connect.ts';
import {
  type AnsweredBy,
  type AttemptSeen,
  type HopFailure,
  type HopSeen,
  type HttpsObservation,
  ownCodes,
  type RedirectEnd,
} from './evidence.ts';
import { decoded, type ExchangeRequest, exchange } from './exchange.ts';
import { createFamilyWatch, type FamilyWatch } from './families.ts';
import {
  type Families,
  type IpFamily,
  type Lookup,
  type LookupAnswer,
  type OwnResolver,
  tellsOfName,
} from './lookup.ts';
import { readerLimits } from './reader.ts';
import type { Trust } from './trust.ts';
import { judgeHttps } from './verdict.ts';
import { createCertificateNotes } from './warnings.ts';

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

const userAgent = (probe: ProbeIdentity): string =>
  `Antipode/${probe.version} (+${probe.base_url}; probe=${probe.name}; continent=${probe.continent})`;

/**
 * Headers that say how to answer and nothing about the sender. Only these leave the monitor's own
 * origin.
 */
const harmless = ['accept', 'accept-language', 'content-type', 'cache-control', 'pragma'];

/**
 * The config was checked for this long before. A line break here would let someone inject a
 * request.
 */
const unbroken = (value: string): string => value.replaceAll(/[\r\n\0]+/g, ' ');
const oneLine = (text: string): string => text.replaceAll(/[^\t\x20-\x7e]/g, '?');

/** The request of one hop in wire format: HTTP/1.1, one connection, no compression asked for. */
export const requestBytes = (
  request: Request,
  settings: HttpsSettings,
  probe: ProbeIdentity,
): Buffer => {
  const { url, method, body, trusted } = request;
  const own = settings.headers.filter(([name]) => trusted || harmless.includes(name.toLowerCase()));
  const names = new Set(own.map(([name]) => name.toLowerCase()));
  const lines = [`${method} ${url.pathname}${url.search} HTTP/1.1`];
  if (!names.has('host')) lines.push(`Host: ${url.host}`);
  lines.push(`User-Agent: ${oneLine(userAgent(probe))}`);
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
};

const makePlan = (assignment: Assignment, probe: ProbeIdentity): Plan => {
  const url = httpsUrl(assignment.target);
  if (!url) throw new Error('The target of an https check is not an address');
  url.hash = '';
  const settings = httpsSettings(assignment.config);
  const first: Request = { url, method: settings.method, body: settings.body, trusted: true };
  return { settings, first, bytes: requestBytes(first, settings, probe) };
};

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
export const planOf = (assignment: Assignment, probe: ProbeIdentity): Plan => {
  if (assignment.sealed !== null) return makePlan(assignment, probe);
  const known = held.find(assignment);
  if (known?.probe === probe) return known.plan;
  const plan = makePlan(assignment, probe);
  held.keep(assignment, { plan, probe });
  return plan;
};

const redirects = [301, 302, 303, 307, 308];
export const isRedirect = (status: number): boolean => redirects.includes(status);

/** Where a redirect leads: the next request, or why it is invalid. */
export const nextRequest = (
  from: Request,
  status: number,
  location: string | undefined,
): Request | 'without_location' | 'invalid' => {
  if (location === undefined || location === '') return 'without_location';
  // Header bytes were read as latin-1. Addresses in raw UTF-8 are common enough to support.
  const url = URL.parse(Buffer.from(location, 'latin1').toString('utf8'), from.url);
  if (
    !url ||
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.hostname === '' ||
    url.port === '0'
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
};

export type HttpsDependencies = {
  readonly lookup: Lookup;
  readonly resolver: Pick<OwnResolver, 'works'>;
  readonly families: () => Families;
  readonly trust: Trust;
  /** For the bodies of all checks of a probe. */
  readonly memory?: BodyMemory;
};

/** The memory that the bodies of all running checks may take together. */
const maxBodyMemory = 48 * 1_048_576;

/**
 * Enough of a body for evidence and to recognise a block page. The whole body is kept only where it
 * is judged.
 */
const keptForEvidence = 4_096;

const nothing = new Uint8Array();

/** Settles no later than the deadline; the work itself ends by its own limits. */
const orDeadline = (work: Promise<LookupAnswer>, deadline: CheckDeadline): Promise<LookupAnswer> =>
  new Promise((resolve, reject) => {
    const stopping = { expire: () => void setImmediate(resolve, { code: ownCodes.deadline }) };
    if (deadline.isOver()) return stopping.expire();
    deadline.listen(stopping);
    work.then(resolve, reject).finally(() => deadline.unlisten(stopping));
  });

/**
 * A silent resolver is only known at the deadline. After this time, the check asks whether the
 * resolver answers for any other name.
 */
const resolverTimeout = 1_500;

/**
 * Resolves a name. A resolver's failure counts against the name only if the resolver works for
 * others.
 */
const lookUp = async (
  name: string,
  family: IpFamily,
  { lookup, resolver }: HttpsDependencies,
  context: CheckContext,
): Promise<LookupAnswer> => {
  const since = performance.now();
  let asked: Promise<boolean> | undefined;
  const works = (): Promise<boolean> => {
    asked ??= resolver.works(name, since, context.deadline);
    return asked;
  };
  const timer = setTimeout(works, Math.min(resolverTimeout, context.assignment.timeout_ms / 3));
  const found = await orDeadline(lookup(name, family, context.deadline), context.deadline).finally(
    () => clearTimeout(timer),
  );
  if (!('code' in found) || tellsOfName.includes(found.code)) return found;
  return (await works()) ? found : { code: ownCodes.resolver };
};

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');
const portOf = (url: URL): number => Number(url.port || (url.protocol === 'https:' ? 443 : 80));

/** `free`: the body is not read after that. */
type HopResult = { readonly hop: HopSeen; readonly free: () => void };

const free = (): void => undefined;

/** One hop: resolve, vet, connect, handshake, send, read. */
const performHop = async (
  request: Request,
  bytes: Buffer,
  plan: Plan,
  context: CheckContext,
  memory: BodyShare,
  dependencies: HttpsDependencies,
): Promise<HopResult> => {
  const { settings } = plan;
  const { deadline } = context;
  const host = hostOf(request.url);
  const url = request.url.href;
  let phases = noPhases;
  let addresses: readonly string[] = [];
  let attempts: readonly AttemptSeen[] = [];
  let by: AnsweredBy | null = null;
  let unanswered: HopSeen['unanswered'] = null;
  const hopOf = (
    rest: Pick<HopSeen, 'outgoing' | 'beginning' | 'tls' | 'response' | 'failure'>,
  ): HopSeen => ({
    url,
    addresses,
    by,
    unanswered,
    attempts,
    phases: { ...phases, total: performance.now() - began },
    ...rest,
  });
  const failed = (failure: HopFailure): HopResult => ({
    hop: hopOf({ outgoing: null, beginning: nothing, tls: null, response: null, failure }),
    free,
  });

  const began = performance.now();
  const found: LookupAnswer =
    isIP(host) === 0
      ? await lookUp(host, settings.ip_family, dependencies, context)
      : literal(host, settings.ip_family);
  const lookedUp = performance.now();
  if (isIP(host) === 0) phases = { ...phases, dns: lookedUp - began };
  by = found.by ?? null;
  if ('code' in found) return failed({ phase: 'dns', code: found.code });

  addresses = found.addresses;
  const isSecure = request.url.protocol === 'https:';
  const asked = host.replace(/\.$/, '');
  const connect = (isHybrid: boolean, late?: Promise<readonly string[]>): Promise<Connected> => {
    const open = (address: string, port: number) =>
      openSocket(
        address,
        port,
        isSecure ? { host: asked, verify: settings.verify_tls, isHybrid } : null,
        dependencies.trust,
      );
    return connectFirst(
      addresses,
      portOf(request.url),
      context.guard,
      dependencies.families(),
      deadline,
      open,
      late,
    );
  };
  const { second } = found;
  const connected = await connect(false, second?.addresses);
  const fault = second?.fault() ?? null;
  if (second && fault !== null) unanswered = second.type;
  second?.end();
  ({ addresses, attempts } = connected);
  if (attempts.length > 0) phases = { ...phases, tcp: connected.at - lookedUp };
  if (!connected.socket) {
    // If no packet was sent, the look-up took all the time, or gave no address that this machine
    // can use.
    const isLookup =
      connected.code === ownCodes.deadline
        ? isIP(host) === 0
        : connected.code === ownCodes.noFamily && fault !== null;
    if (attempts.length === 0 && isLookup) {
      phases = { ...phases, dns: connected.at - began };
      return failed({ phase: 'dns', code: fault ?? connected.code });
    }
    const isOwnLimit =
      connected.code === ownCodes.notPublic &&
      context.guard.isOwnLimit(addresses, context.assignment);
    return failed({ phase: 'tcp', code: isOwnLimit ? ownCodes.ownLimit : connected.code });
  }

  const outgoing = connected.socket.localAddress ?? null;
  const judgesBody =
    settings.body_contains.length + settings.body_not_contains.length + settings.json.length > 0;
  const wanted: ExchangeRequest = {
    method: request.method,
    bytes,
    keep: judgesBody ? readerLimits.body : keptForEvidence,
    memory,
    headOnly: (status) => settings.follow_redirects && isRedirect(status),
    host: asked,
    verify: settings.verify_tls,
    trust: dependencies.trust,
  };
  let seen = await exchange(connected.socket, connected.at, wanted, deadline);
  if (seen.failure?.phase === 'tls' && seen.failure.code.endsWith('ALERT_HANDSHAKE_FAILURE')) {
    // Nothing in common may mean that the server takes post-quantum groups only. The first
    // handshake reports any other fault.
    const { socket, at } = await connect(true);
    const second = socket && (await exchange(socket, at, wanted, deadline));
    if (second?.tls) seen = second;
  }
  const { reader, failure, tls } = seen;
  phases = { ...phases, tls: seen.tls_ms, first_byte: seen.first_byte_ms };
  const rest = { outgoing, beginning: reader.beginning, tls, failure };
  if (reader.status === 0) return { hop: hopOf({ ...rest, response: null }), free };
  const body = await decoded(reader, judgesBody ? readerLimits.body : keptForEvidence);
  const response = {
    status: reader.status,
    headers: reader.headers,
    read: reader.read,
    body: body.body,
    truncated: body.truncated,
  };
  return { hop: hopOf({ ...rest, response }), free: body.free };
};

const literal = (host: string, family: string): LookupAnswer =>
  family === 'any' || isIP(host) === Number(family) ? { addresses: [host] } : { code: 'ENODATA' };

const sum = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : a + b;

/** Performs the check: every hop freshly, then the pure verdict over what was observed. */
export const createHttpsCheck = (dependencies: HttpsDependencies): Check => {
  const bodies = dependencies.memory ?? new BodyMemory(maxBodyMemory);
  const certificateOf = createCertificateNotes();
  const otherFamily = createFamilyWatch(dependencies.families, dependencies.trust);
  return async (context) => {
    // Three copies: the body as it came, unpacked, and as text.
    const memory = bodies.share(3 * readerLimits.body);
    try {
      const { verdict, hops } = await perform(context, memory, dependencies);
      if (verdict.outcome !== 'ok') return verdict;
      const { started_at, assignment } = context;
      const certificate = certificateOf(assignment.monitor, started_at, hops);
      const noted = certificate ? { ...verdict, certificate } : verdict;
      return await withOtherFamily(noted, context, hops, otherFamily);
    } finally {
      memory.release();
    }
  };
};

/** Only the monitor's own name is tried, and not where its owner chose a family. */
const withOtherFamily = async (
  verdict: Verdict,
  context: CheckContext,
  [first]: readonly HopSeen[],
  otherFamily: FamilyWatch,
): Promise<Verdict> => {
  if (!first || String(context.assignment.config.ip_family ?? 'any') !== 'any') return verdict;
  const warning = await otherFamily(context, first);
  return warning ? { ...verdict, warnings: [...(verdict.warnings ?? []), warning] } : verdict;
};

const perform = async (
  context: CheckContext,
  memory: BodyShare,
  dependencies: HttpsDependencies,
): Promise<{ readonly verdict: Verdict; readonly hops: readonly HopSeen[] }> => {
  const plan = planOf(context.assignment, context.probe);
  const began = performance.now();
  context.deadline.listenInSteps();
  const hops: HopSeen[] = [];
  const bodies: (() => void)[] = [];
  let phases = noPhases;
  let redirects: RedirectEnd = 'done';
  let request = plan.first;
  let bytes = plan.bytes;
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
    bytes = requestBytes(request, plan.settings, context.probe);
  }

  const observation: HttpsObservation = {
    at: context.started_at,
    limit_ms: context.assignment.timeout_ms,
    hops,
    redirects,
    phases: { ...phases, total: performance.now() - began },
  };
  const verdict = judgeHttps(plan.settings, observation, context.evidence_wanted);
  for (const free of bodies) free();
  return { verdict, hops };
};
