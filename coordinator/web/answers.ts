import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { AnonymousCaller, SignedIn } from '../gate/caller.ts';
import type { Gate } from '../gate/execute.ts';
import { isAllowed } from '../gate/roles.ts';
import { asking, askingOnce, asksOf } from './asking.ts';
import type { AssetStore } from './assets.ts';
import { cookie, cookieOf, recentCookie, sessionCookieOf } from './cookies.ts';
import { failureAnswer, foreignAnswer, noOrganisationAnswer, notFoundAnswer } from './failures.ts';
import { formFrom, Multipart, noForm } from './form-data.ts';
import { type FrameData, frameOf, managerOf } from './framing.ts';
import { asciiOf, safeUrl } from './html.ts';
import { documentOf, laterMark } from './layout.ts';
import type { ChangeStream } from './live.ts';
import { askFirst, mustAsk, objectsOf } from './managed.ts';
import {
  type Ask,
  isAccountPath,
  type Page,
  type PageAnswer,
  type PageDependencies,
  type PageRequest,
  type ShownPage,
  themeFrom,
  undoMark,
  zoneOf,
} from './page.ts';
import { openerHeaders, securityHeaders, sendKept, sendSmall, sendStreamed } from './sending.ts';
import { timesIn } from './times.ts';

/** What app.ts passes to the pages. */
export type WebDependencies = {
  readonly gate: Pick<
    Gate,
    'execute' | 'executeOnce' | 'executeForPerson' | 'executeForVisitor' | 'executeForOperator'
  >;
  readonly authenticate: (visitor: AnonymousCaller) => Promise<SignedIn | undefined>;
  readonly instruments: PageDependencies;
  readonly changes: ChangeStream;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
};

/** What answers pages. */
type Answering = WebDependencies & {
  readonly assets: AssetStore;
  /** When a request began, set before anything of its page is read. */
  readonly begun: WeakMap<FastifyRequest, string>;
};

/** Turns a request into the page's request, and the page's result into an answer. */
export function createAnswers(dependencies: WebDependencies, assets: AssetStore) {
  const web: Answering = { ...dependencies, assets, begun: new WeakMap() };
  return {
    signedIn: (request: FastifyRequest) => signedInBy(web, request),
    fail: (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
      fail(web, error, request, reply),
    answerWith: (answer: PageAnswer, request: FastifyRequest, reply: FastifyReply) =>
      send(web, answer, request, reply),
    refuse: (request: FastifyRequest, reply: FastifyReply) =>
      send(web, foreignAnswer, request, reply),
    answer: (page: Page, request: FastifyRequest, reply: FastifyReply) =>
      answerPage(web, page, request, reply),
    notFound: async (request: FastifyRequest, reply: FastifyReply) => {
      const signedIn = await signedInBy(web, request);
      if (signedIn || !isAccountPath(request.url))
        return send(web, notFoundAnswer, request, reply, signedIn);
      return redirect(web, signInFor(request.raw.url ?? '/'), request, reply);
    },
  };
}

async function answerPage(
  web: Answering,
  page: Page,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  web.begun.set(request, web.changes.moment());
  const signedIn = await signedInBy(web, request);
  const common = asked(web, request, signedIn);
  if (page.needs === 'nobody') {
    const askAsVisitor = asking((operation, raw) =>
      web.gate.executeForVisitor(operation, common.from, raw),
    );
    const answer = await page.answer({ ...common, signedIn, askAsVisitor });
    return send(web, answer, request, reply, signedIn);
  }
  if (page.needs === 'operator' && signedIn?.person.is_operator !== true)
    return send(web, notFoundAnswer, request, reply, signedIn);
  if (signedIn) return answerSignedIn(web, page, common, signedIn, request, reply);
  if (page.needs === 'member' && page.stranger)
    return send(web, await page.stranger(common), request, reply);
  const next = request.method === 'GET' ? common.address : '/';
  return redirect(web, signInFor(next), request, reply);
}

type SignedInPage = Exclude<Page, { readonly needs: 'nobody' }>;

async function answerSignedIn(
  web: Answering,
  page: SignedInPage,
  common: PageRequest,
  signedIn: SignedIn,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const caller = signedIn.caller && { ...signedIn.caller, gone: gone.signal };
  const isRead = request.method === 'GET';
  const everyAsk = caller ? asksOf(web.gate, caller, common.form) : undefined;
  const ask = isRead && everyAsk ? askingOnce(everyAsk) : everyAsk;
  const objects = caller ? objectsOf(page, common) : [];
  try {
    const manager = ask && mustAsk(page, common.form) ? await managerOf(ask, objects) : null;
    if (manager !== null)
      return await send(web, askFirst(manager, common), request, reply, signedIn);
    const answering = resultOf(web, page, common, signedIn, ask);
    // A GET does not change the frame, so the frame is read at the same time, after what the page
    // reads first.
    const framing = isRead ? frameOf(caller, ask, objects) : undefined;
    // Its failure is handled where the frame is shown, if it is.
    framing?.catch(() => undefined);
    return await send(web, await answering, request, reply, signedIn, framing);
  } catch (error) {
    const next = wayOnFrom(error, common);
    if (next === undefined) throw error;
    return redirect(web, next, request, reply);
  }
}

function resultOf(
  { gate }: Answering,
  page: SignedInPage,
  common: PageRequest,
  signedIn: SignedIn,
  ask: Ask | undefined,
): Promise<PageAnswer> | PageAnswer {
  const { person, caller } = signedIn;
  const askOwn = asking((operation, raw) => gate.executeForPerson(operation, person, raw));
  const own = { ...common, signedIn, askOwn };
  if (page.needs === 'person') return page.answer(own);
  if (page.needs === 'operator') {
    const askHouse = asking((operation, raw) => gate.executeForOperator(operation, person, raw));
    return page.answer({ ...own, askHouse });
  }
  if (!caller || !ask) return noOrganisationAnswer;
  return page.answer({ ...own, caller, ask, may: (operation) => isAllowed(caller, operation) });
}

/** Where a refusal leads that the caller can do something about. */
function wayOnFrom(error: unknown, { address }: PageRequest): string | undefined {
  if (!(error instanceof Refusal)) return undefined;
  // Membership or session ended in between.
  if (error.kind === 'unauthenticated' || error.code === 'session_missing') return '/sign-in';
  // Before a dangerous operation; then back to the page that asked for it.
  if (error.code === 'proof_needed') return `/confirm?next=${encodeURIComponent(address)}`;
  return undefined;
}

async function fail(
  web: Answering,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { shown, hidden } = failureAnswer(error);
  if (hidden)
    web.log.error(
      { err: hidden.error, request_id: hidden.request_id, url: request.routeOptions.url },
      'page failed',
    );
  // Authentication itself may have failed: then the page is shown without its frame.
  const signedIn = await signedInBy(web, request).catch(() => undefined);
  // The data of the frame may have failed, too.
  return send(web, shown, request, reply, signedIn).catch(() => send(web, shown, request, reply));
}

function redirect(
  web: Answering,
  to: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  return send(web, { is: 'see-other', to }, request, reply);
}

/** Where to send an anonymous reader, with the way back. */
function signInFor(url: string): string {
  return url === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(url)}`;
}

function signedInBy(web: Answering, request: FastifyRequest): Promise<SignedIn | undefined> {
  return web.authenticate(fromOf(web, request));
}

function fromOf(web: Answering, { ip, headers }: FastifyRequest): AnonymousCaller {
  return {
    address: ip,
    device: headers['user-agent'] ?? '',
    cookie: cookieOf(headers.cookie, sessionCookieOf(isSecure(web))),
  };
}

function isSecure({ instruments }: Answering): boolean {
  return instruments.baseUrl().startsWith('https:');
}

function asked(
  web: Answering,
  request: FastifyRequest,
  signedIn: SignedIn | undefined,
): PageRequest {
  const { cookie: cookies } = request.headers;
  const zone = zoneOf(cookies, signedIn);
  const now = web.clock.now();
  const purpose = `${request.headers['sec-purpose'] ?? ''} ${request.headers.purpose ?? ''}`;
  const isPrefetch = /prefetch|prerender|preview/.test(purpose);
  return {
    path: textsOf(request.params),
    query: queryOf(request.raw.url ?? ''),
    form: typeof request.body === 'string' ? formFrom(request.body) : noForm,
    file: async (name) => (request.body instanceof Multipart ? request.body.file(name) : undefined),
    address: request.raw.url ?? '/',
    now,
    times: timesIn(zone, now),
    theme: themeFrom(cookies),
    cookies,
    from: fromOf(web, request),
    isPrefetch,
    isByPerson:
      !isPrefetch &&
      request.method === 'GET' &&
      // A link on another site's page leads here, too: it would sign this browser in as the link's
      // author.
      ['none', 'same-origin'].includes(String(request.headers['sec-fetch-site'])) &&
      request.headers['sec-fetch-mode'] === 'navigate' &&
      request.headers['sec-fetch-user'] === '?1',
    with: web.instruments,
  };
}

/** The query of an address; of several values with one name, the last counts. */
function queryOf(url: string): Readonly<Record<string, string>> {
  const begin = url.indexOf('?');
  return begin === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(begin)));
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, String(each)]))
    : {};
}

const saidCookie = 'said';

async function send(
  web: Answering,
  answer: PageAnswer,
  request: FastifyRequest,
  reply: FastifyReply,
  signedIn?: SignedIn,
  framing?: Promise<FrameData>,
): Promise<FastifyReply> {
  const isOnTheWay =
    answer.is === 'see-other' || (answer.is === 'shown' && answer.frame === 'bare');
  reply.headers({ ...securityHeaders, ...(isOnTheWay ? openerHeaders : {}), ...answer.headers });
  if (answer.is === 'sent') {
    reply.code(answer.status ?? 200).type(answer.type);
    if (typeof answer.body === 'string')
      return answer.isKept === true
        ? sendKept(request, reply, answer.body)
        : sendSmall(request, reply, answer.body);
    return answer.body instanceof Uint8Array
      ? reply.send(answer.body)
      : sendStreamed(request, reply, watched(answer.body, web.log));
  }
  if (answer.is === 'shown') return sendPage(web, answer, request, reply, signedIn, framing);
  if (answer.said !== undefined) {
    const said = `${answer.said}${answer.mayUndo === true ? undoMark : ''}`;
    reply.header('set-cookie', cookie(saidCookie, said, { seconds: 60, secure: isSecure(web) }));
  }
  return reply
    .code(303)
    .header('location', asciiOf(safeUrl(answer.to)))
    .header('cache-control', 'no-store')
    .send();
}

async function sendPage(
  web: Answering,
  answer: ShownPage,
  request: FastifyRequest,
  reply: FastifyReply,
  signedIn: SignedIn | undefined,
  framing: Promise<FrameData> | undefined,
): Promise<FastifyReply> {
  const secure = isSecure(web);
  const addresses = await web.assets.addresses();
  const page = asked(web, request, signedIn);
  const said = page.isPrefetch ? undefined : cookieOf(page.cookies, saidCookie);
  if (said !== undefined)
    reply.header('set-cookie', cookie(saidCookie, '', { seconds: 0, secure }));
  const caller = answer.frame === 'bare' ? undefined : signedIn?.caller;
  const recent =
    caller && answer.status === undefined && !page.isPrefetch && request.method === 'GET'
      ? recentCookie(page.address.split('?', 1).join(''), page.cookies, secure)
      : undefined;
  if (recent !== undefined) reply.header('set-cookie', recent);
  const frame = await (caller && framing
    ? framing
    : frameOf(caller, caller ? asksOf(web.gate, caller, noForm) : undefined));
  reply
    .code(answer.status ?? 200)
    .type('text/html; charset=utf-8')
    .header('speculation-rules', `"${addresses.rules}"`);
  if (reply.getHeader('cache-control') === undefined)
    reply.header('cache-control', 'private, no-cache');
  // No address shows again what a form's answer shows: a refresh would replace it.
  const shown =
    request.method === 'POST' && answer.live === true ? { ...answer, live: false } : answer;
  const text = documentOf(shown, {
    assets: addresses,
    request: page,
    signedIn,
    said,
    since: web.begun.get(request),
    ...frame,
  }).toString();
  if (answer.isKept === true) return sendKept(request, reply, text);
  return answer.later === undefined
    ? sendSmall(request, reply, text)
    : sendStreamed(request, reply, inPieces(text, answer.later, web.log));
}

/** Logs the error before it cuts the connection. */
async function* watched<Piece>(
  pieces: AsyncIterable<Piece>,
  log: Answering['log'],
): AsyncGenerator<Piece> {
  try {
    yield* pieces;
  } catch (error) {
    log.error({ err: error }, 'could not finish sending a file');
    throw error;
  }
}

/**
 * A streamed document. A failure meanwhile is too late for another status: the document is
 * ended, and the error logged.
 */
async function* inPieces(
  text: string,
  { pieces, broken }: NonNullable<ShownPage['later']>,
  log: Answering['log'],
): AsyncGenerator<string> {
  const [before = '', after = ''] = text.split(laterMark);
  yield before;
  try {
    for await (const piece of pieces) yield piece.toString();
  } catch (error) {
    log.error({ err: error }, 'page failed while it was sent');
    yield broken().toString();
  }
  yield after;
}
