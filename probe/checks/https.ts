import { isIP } from 'node:net';
import type { Phases } from '../../shared/checks/result.ts';
import type { Check, CheckContext } from './check.ts';
import type { CheckDeadline } from './check-deadline.ts';
import { type Connected, connectFirst } from './https-connect.ts';
import { type Deadline, deadlineOf } from './https-deadline.ts';
import { decoded } from './https-decode.ts';
import { type ExchangeRequest, exchange } from './https-exchange.ts';
import { type Families, type IpFamily, type Lookup, type LookupAnswer, tellsOfName } from './https-lookup.ts';
import { type AttemptSeen, type HopFailure, type HopSeen, type HttpsObservation, ownCodes, type RedirectEnd } from './https-observation.ts';
import { openSocket } from './https-open.ts';
import { isRedirect, nextRequest, type Plan, planOf, type Request, requestBytes } from './https-plan.ts';
import { readerLimits } from './https-reader.ts';
import type { Trust } from './https-trust.ts';
import { judgeHttps } from './https-verdict.ts';
import type { OwnResolver } from './own-resolver.ts';

export type HttpsParts = {
  readonly lookup: Lookup;
  readonly resolver: Pick<OwnResolver, 'works'>;
  readonly families: () => Families;
  readonly trust: Trust;
};

/** Enough of a body for evidence and to recognise a block page; all that is read is kept only where the body is judged. */
const keptForEvidence = 4_096;

const notReached: Phases = { dns: null, tcp: null, tls: null, first_byte: null, total: null };

/** Settles with the deadline if that comes first; the work itself ends by its own limits. */
const orDeadline = (work: Promise<LookupAnswer>, deadline: CheckDeadline): Promise<LookupAnswer> =>
  new Promise((resolve, reject) => {
    const stopping = { expire: () => void setImmediate(resolve, { code: ownCodes.deadline }) };
    if (deadline.isOver()) return stopping.expire();
    deadline.listen(stopping);
    work.then(resolve, reject).finally(() => deadline.unlisten(stopping));
  });

/** A resolver that is silent is only known at the deadline: whether it answers anybody is asked in time, once it has taken so long. */
const resolverPatience = 1_500;

/** The addresses of a name. What the resolver could not say counts against the name only if the resolver works for others. */
const lookUp = async (name: string, family: IpFamily, { lookup, resolver }: HttpsParts, context: CheckContext): Promise<LookupAnswer> => {
  const since = performance.now();
  let asked: Promise<boolean> | undefined;
  const works = (): Promise<boolean> => {
    asked ??= resolver.works(name, since, context.deadline);
    return asked;
  };
  const timer = setTimeout(works, Math.min(resolverPatience, context.assignment.timeout_ms / 3));
  const found = await orDeadline(lookup(name, family), context.deadline).finally(() => clearTimeout(timer));
  if (!('code' in found) || tellsOfName.includes(found.code)) return found;
  return (await works()) ? found : { code: ownCodes.resolver };
};

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');
const portOf = (url: URL): number => Number(url.port || (url.protocol === 'https:' ? 443 : 80));

type HopResult = { readonly hop: HopSeen; readonly phases: Phases };

/** One hop: look up, vet, connect, handshake, ask, read. */
const performHop = async (
  request: Request,
  bytes: Buffer,
  plan: Plan,
  context: CheckContext,
  deadline: Deadline,
  parts: HttpsParts,
): Promise<HopResult> => {
  const { settings } = plan;
  const host = hostOf(request.url);
  const url = request.url.href;
  let phases = notReached;
  let addresses: readonly string[] = [];
  let attempts: readonly AttemptSeen[] = [];
  const failed = (failure: HopFailure): HopResult => ({ hop: { url, addresses, attempts, tls: null, response: null, failure }, phases });

  const began = performance.now();
  const found: LookupAnswer = isIP(host) === 0 ? await lookUp(host, settings.ip_family, parts, context) : literal(host, settings.ip_family);
  const lookedUp = performance.now();
  if (isIP(host) === 0) phases = { ...phases, dns: lookedUp - began };
  if ('code' in found) return failed({ phase: 'dns', code: found.code });

  addresses = found.addresses;
  const isSecure = request.url.protocol === 'https:';
  const asked = host.replace(/\.$/, '');
  const connect = (isHybrid: boolean): Promise<Connected> =>
    connectFirst(addresses, portOf(request.url), context.guard, parts.families(), deadline, (address, port) =>
      openSocket(address, port, isSecure ? { host: asked, verify: settings.verify_tls, isHybrid } : null, parts.trust),
    );
  const connected = await connect(false);
  attempts = connected.attempts;
  if (attempts.length > 0) phases = { ...phases, tcp: connected.at - lookedUp };
  if (!connected.socket) {
    const isOwnLimit = connected.code === ownCodes.notPublic && context.guard.isOwnLimit(addresses, context.assignment);
    return failed({ phase: 'tcp', code: isOwnLimit ? ownCodes.ownLimit : connected.code });
  }

  const judgesBody = settings.body_contains.length + settings.body_not_contains.length + settings.json.length > 0;
  const wanted: ExchangeRequest = {
    method: request.method,
    bytes,
    keep: judgesBody ? readerLimits.body : keptForEvidence,
    headOnly: (status) => settings.follow_redirects && isRedirect(status),
    host: asked,
    verify: settings.verify_tls,
  };
  let seen = await exchange(connected.socket, connected.at, wanted, deadline);
  if (seen.failure?.phase === 'tls' && seen.failure.code.endsWith('ALERT_HANDSHAKE_FAILURE')) {
    // Nothing in common with us may mean that it takes post-quantum groups only. What else is wrong with it, the first handshake has told.
    const { socket, at } = await connect(true);
    const second = socket && (await exchange(socket, at, wanted, deadline));
    if (second?.tls) seen = second;
  }
  const { reader, failure, tls } = seen;
  const response =
    reader.status === 0
      ? null
      : {
          status: reader.status,
          headers: reader.headers,
          read: reader.read,
          ...(await decoded(reader, judgesBody ? readerLimits.body : keptForEvidence)),
        };
  return {
    hop: { url, addresses, attempts, tls, response, failure },
    phases: { ...phases, tls: seen.tls_ms, first_byte: seen.first_byte_ms },
  };
};

const literal = (host: string, family: string): LookupAnswer =>
  family === 'any' || isIP(host) === Number(family) ? { addresses: [host] } : { code: 'ENODATA' };

const sum = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b);

/** Performs the check: every hop afresh, then the pure verdict over what was seen. */
export const createHttpsCheck =
  (parts: HttpsParts): Check =>
  async (context) => {
    const plan = planOf(context.assignment, context.probe);
    const began = performance.now();
    const deadline = deadlineOf(context.deadline);
    const hops: HopSeen[] = [];
    let phases = notReached;
    let redirects: RedirectEnd = 'done';
    let request = plan.first;
    let bytes = plan.bytes;
    const visited = new Set<string>();

    for (;;) {
      visited.add(`${request.method} ${request.url.href}`);
      const { hop, phases: own } = await performHop(request, bytes, plan, context, deadline, parts);
      hops.push(hop);
      phases = {
        dns: sum(phases.dns, own.dns),
        tcp: sum(phases.tcp, own.tcp),
        tls: sum(phases.tls, own.tls),
        first_byte: sum(phases.first_byte, own.first_byte),
        total: null,
      };
      const status = hop.response?.status ?? 0;
      if (hop.failure || !plan.settings.follow_redirects || !isRedirect(status)) break;
      const next = nextRequest(request, status, hop.response?.headers.find(([name]) => name === 'location')?.[1]);
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
    return judgeHttps(plan.settings, observation, context.evidence_wanted);
  };
