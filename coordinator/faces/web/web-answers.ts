import type { FastifyReply, FastifyRequest } from 'fastify';
import { showDelivery, showMute, unmuteAlerts } from '../../../shared/api/inner/inner-alerts.ts';
import { countOpenIncidents } from '../../../shared/api/inner/inner-dashboard.ts';
import { keepOrganisation } from '../../../shared/api/inner/inner-organisation.ts';
import { type InputOf, type Operation, type OutputOf, type RawInput, rawInput } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { isRecord } from '../../../shared/base/json.ts';
import type { Caller, Visitor } from '../../access/access-caller.ts';
import { cookieNamed, sessionCookieOf } from '../../access/access-session-cookie.ts';
import type { SignedIn } from '../../access/access-sessions.ts';
import type { Answered } from '../../operations/operation-bind.ts';
import { isAllowed } from '../../operations/operation-who-may.ts';
import { isAccountPath } from './web-account-paths.ts';
import type { AssetStore } from './web-assets.ts';
import { cookie, cookieOf } from './web-cookies.ts';
import { failureAnswer, foreignAnswer, notFoundAnswer, nowhereAnswer } from './web-failures.ts';
import { type Form, formFrom, noForm } from './web-form-data.ts';
import type { WebParts } from './web-given.ts';
import { safeUrl } from './web-html.ts';
import { documentOf, type Frame, laterMark } from './web-layout.ts';
import { Multipart } from './web-multipart.ts';
import type { Ask, Page, PageAnswer, PageRequest, Shown } from './web-page.ts';
import { themeFrom, zoneFrom } from './web-preferences.ts';
import { openerHeaders, securityHeaders } from './web-security.ts';
import { sendAsItComes, sendSmall } from './web-sending.ts';
import { timesIn } from './web-times.ts';

/** The query of an address; of several values with one name the last. */
const queryOf = (url: string): Readonly<Record<string, string>> => {
  const begin = url.indexOf('?');
  return begin === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(begin)));
};

const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, String(each)])) : {};

/** Where to send a stranger, and from there back. */
const signInFor = (url: string): string => (url === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(url)}`);

const saidCookie = 'said';

export type Answers = ReturnType<typeof createAnswers>;

/** From a request to a page, and from what the page gives to an answer. */
export const createAnswers = (parts: WebParts, assets: AssetStore) => {
  const { gate } = parts;
  const isSecure = (): boolean => parts.instruments.baseUrl().startsWith('https:');

  const fromOf = ({ ip, headers }: FastifyRequest): Visitor => ({
    address: ip,
    device: headers['user-agent'] ?? '',
    cookie: cookieNamed(sessionCookieOf(isSecure()), headers.cookie),
  });

  const signedInBy = (request: FastifyRequest): Promise<SignedIn | undefined> => parts.authenticate(fromOf(request));

  const asked = (request: FastifyRequest, signedIn: SignedIn | undefined): PageRequest => {
    const { cookie: cookies } = request.headers;
    const zone = zoneFrom(cookies) ?? signedIn?.caller?.organisation.time_zone ?? 'UTC';
    const now = parts.clock.now();
    const purpose = `${request.headers['sec-purpose'] ?? ''} ${request.headers.purpose ?? ''}`;
    const isPrefetch = /prefetch|prerender|preview/.test(purpose);
    return {
      path: textsOf(request.params),
      query: queryOf(request.raw.url ?? ''),
      form: typeof request.body === 'string' ? formFrom(request.body) : noForm,
      file: async (name) => (request.body instanceof Multipart ? request.body.file(name) : undefined),
      address: request.raw.url ?? '/',
      ...{ now, times: timesIn(zone, now), theme: themeFrom(cookies) },
      ...{ cookies, from: fromOf(request) },
      isPrefetch,
      isByPerson:
        !isPrefetch &&
        request.method === 'GET' &&
        // A page of someone else leads here, too: it would sign this browser in as whoever made the link.
        ['none', 'same-origin'].includes(String(request.headers['sec-fetch-site'])) &&
        request.headers['sec-fetch-mode'] === 'navigate' &&
        request.headers['sec-fetch-user'] === '?1',
      with: parts.instruments,
    };
  };

  const asking =
    (execute: (operation: Operation, raw: RawInput) => Promise<Answered>): Ask =>
    async <Op extends Operation>(operation: Op, input?: Partial<Record<keyof InputOf<Op> & string, unknown>>) =>
      // The gate's handlers are typed by their operations; a table of unlike operations cannot say so.
      (await execute(operation, rawInput(operation, input))).body as OutputOf<Op>;

  /** Of a form that has a key each operation is done once, however often a browser sends it, and answered as it was then. */
  const executing = (caller: Caller, form: Form): ((operation: Operation, raw: RawInput) => Promise<Answered>) => {
    if (form.key === undefined) return (operation, raw) => gate.execute(operation, caller, raw);
    const request = JSON.stringify(form.names.map((name) => [name, form.values(name)]));
    const calls = new Map<string, number>();
    return async (operation, raw) => {
      const call = (calls.get(operation.id) ?? 0) + 1;
      calls.set(operation.id, call);
      const outcome = await gate.executeOnce(operation, caller, raw, { key: `form ${form.key} ${operation.id} ${call}`, request });
      if ('refused' in outcome) throw outcome.refused;
      return outcome.answered;
    };
  };

  /** For the frame of every page. */
  const frameOf = async (caller: Caller | null | undefined): Promise<Pick<Frame, 'openIncidents' | 'mute' | 'ending' | 'delivery'>> => {
    if (!caller) return { openIncidents: 0, mute: undefined, ending: undefined, delivery: undefined };
    const ask = asking((operation, raw) => gate.execute(operation, caller, raw));
    const [{ open }, { until, by }, delivery] = await Promise.all([ask(countOpenIncidents), ask(showMute), ask(showDelivery)]);
    const { name, ends_at } = caller.organisation;
    if (ends_at !== null) {
      // That alerts are muted, too, is part of it.
      const ending = { name, at: new Date(ends_at).toISOString(), mayKeep: isAllowed(caller, keepOrganisation) };
      return { openIncidents: open, mute: undefined, ending, delivery: undefined };
    }
    return {
      openIncidents: open,
      mute: until === null ? undefined : { until, by, mayEnd: isAllowed(caller, unmuteAlerts) },
      ending: undefined,
      delivery,
    };
  };

  /** Told to the log before it cuts the connection. */
  async function* watched(pieces: AsyncIterable<string>): AsyncGenerator<string> {
    try {
      yield* pieces;
    } catch (error) {
      parts.log.error({ err: error }, 'a file failed while it was sent');
      throw error;
    }
  }

  /** A document whose end comes later. A failure there is too late for another status: the document is ended, and the log told. */
  async function* inPieces(text: string, { pieces, broken }: NonNullable<Shown['later']>): AsyncGenerator<string> {
    const [before = '', after = ''] = text.split(laterMark);
    yield before;
    try {
      for await (const piece of pieces) yield piece.toString();
    } catch (error) {
      parts.log.error({ err: error }, 'page failed while it was sent');
      yield broken().toString();
    }
    yield after;
  }

  /** Before anything of a page was read. */
  const begun = new WeakMap<FastifyRequest, string>();

  const send = async (
    answer: PageAnswer,
    request: FastifyRequest,
    reply: FastifyReply,
    signedIn?: SignedIn,
    framing?: ReturnType<typeof frameOf>,
  ): Promise<FastifyReply> => {
    const isOnTheWay = answer.is === 'see-other' || (answer.is === 'shown' && answer.frame === 'bare');
    reply.headers({ ...securityHeaders, ...(isOnTheWay ? openerHeaders : {}), ...answer.headers });
    if (answer.is === 'sent') {
      reply.code(answer.status ?? 200).type(answer.type);
      if (typeof answer.body === 'string') return sendSmall(request, reply, answer.body);
      return answer.body instanceof Uint8Array ? reply.send(answer.body) : sendAsItComes(request, reply, watched(answer.body));
    }
    if (answer.is === 'see-other') {
      if (answer.said !== undefined) reply.header('set-cookie', cookie(saidCookie, answer.said, { seconds: 60, secure: isSecure() }));
      return reply.code(303).header('location', safeUrl(answer.to)).header('cache-control', 'no-store').send();
    }
    const addresses = await assets.addresses();
    const page = asked(request, signedIn);
    const said = page.isPrefetch ? undefined : cookieOf(page.cookies, saidCookie);
    if (said !== undefined) reply.header('set-cookie', cookie(saidCookie, '', { seconds: 0, secure: isSecure() }));
    const caller = answer.frame === 'bare' ? undefined : signedIn?.caller;
    const frame = await (caller && framing ? framing : frameOf(caller));
    reply
      .code(answer.status ?? 200)
      .type('text/html; charset=utf-8')
      .header('speculation-rules', `"${addresses.rules}"`);
    if (reply.getHeader('cache-control') === undefined) reply.header('cache-control', 'private, no-cache');
    const text = documentOf(answer, { assets: addresses, request: page, signedIn, said, since: begun.get(request), ...frame }).toString();
    return answer.later === undefined ? sendSmall(request, reply, text) : sendAsItComes(request, reply, inPieces(text, answer.later));
  };

  const answerSignedIn = (
    page: Exclude<Page, { readonly needs: 'nobody' }>,
    common: PageRequest,
    signedIn: SignedIn,
  ): Promise<PageAnswer> | PageAnswer => {
    const { person, caller } = signedIn;
    const own = { ...common, signedIn, askOwn: asking((operation, raw) => gate.executeForPerson(operation, person, raw)) };
    if (page.needs === 'person') return page.answer(own);
    if (page.needs === 'operator')
      return page.answer({ ...own, askHouse: asking((operation, raw) => gate.executeForOperator(operation, person, raw)) });
    if (!caller) return nowhereAnswer;
    const ask = asking(executing(caller, common.form));
    return page.answer({ ...own, caller, ask, may: (operation) => isAllowed(caller, operation) });
  };

  const fail = async (error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { shown, hidden } = failureAnswer(error);
    if (hidden) parts.log.error({ err: hidden.error, request_id: hidden.request_id, url: request.routeOptions.url }, 'page failed');
    // Who is looking may be what failed: the page then stands without its frame.
    const signedIn = await signedInBy(request).catch(() => undefined);
    // What the frame shows may be what failed, too.
    return send(shown, request, reply, signedIn).catch(() => send(shown, request, reply));
  };

  return {
    signedIn: signedInBy,
    fail,
    answerWith: send,
    refuse: (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => send(foreignAnswer, request, reply),
    answer: async (page: Page, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      begun.set(request, parts.changes.moment());
      const signedIn = await signedInBy(request);
      const common = asked(request, signedIn);
      if (page.needs === 'nobody') {
        const askAsVisitor = asking((operation, raw) => gate.executeForVisitor(operation, common.from, raw));
        return send(await page.answer({ ...common, signedIn, askAsVisitor }), request, reply, signedIn);
      }
      if (page.needs === 'operator' && signedIn?.person.is_operator !== true) return send(notFoundAnswer, request, reply, signedIn);
      if (!signedIn) {
        if (page.needs === 'member' && page.stranger) return send(await page.stranger(common), request, reply);
        return send({ is: 'see-other', to: signInFor(request.method === 'GET' ? common.address : '/') }, request, reply);
      }
      // What only looks changes nothing of the frame, which is then asked for at the same time.
      const framing = request.method === 'GET' ? frameOf(signedIn.caller) : undefined;
      // Its failure is heard where it is shown, if it is.
      framing?.catch(() => undefined);
      try {
        return await send(await answerSignedIn(page, common, signedIn), request, reply, signedIn, framing);
      } catch (error) {
        // Membership or session ended in between.
        if (error instanceof Refusal && (error.kind === 'unauthenticated' || error.code === 'session_missing'))
          return send({ is: 'see-other', to: '/sign-in' }, request, reply);
        // Before what is dangerous; then the page again on which it was asked for.
        if (error instanceof Refusal && error.code === 'proof_needed')
          return send({ is: 'see-other', to: `/confirm?next=${encodeURIComponent(common.address)}` }, request, reply);
        throw error;
      }
    },
    notFound: async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const signedIn = await signedInBy(request);
      if (!signedIn && isAccountPath(request.url)) return send({ is: 'see-other', to: signInFor(request.raw.url ?? '/') }, request, reply);
      return send(notFoundAnswer, request, reply, signedIn);
    },
  };
};
