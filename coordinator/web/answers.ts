import type { FastifyReply, FastifyRequest } from 'fastify';
import { unmuteAlerts } from '../../shared/api/notifications.ts';
import {
  type InputOf,
  InvalidInput,
  type Operation,
  type OutputOf,
  type RawInput,
  rawInput,
  statusOf,
} from '../../shared/api/operation.ts';
import { isId, newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { showManager } from '../files/contract.ts';
import type { Answered } from '../gate/bind.ts';
import type { AnonymousCaller, Caller } from '../gate/caller.ts';
import { isAllowed } from '../gate/roles.ts';
import type { Gate } from '../gate/setup.ts';
import { keepOrganisation, showFrame } from '../organisations/contract.ts';
import { cookieNamed, type Sessions, type SignedIn, sessionCookieOf } from '../people/sessions.ts';
import type { AssetStore } from './assets.ts';
import { cookie, cookieOf, recentCookie } from './cookies.ts';
import { heading, linkButton } from './elements.ts';
import { type Form, formFrom, Multipart, noForm } from './form-data.ts';
import { asciiOf, html, type Part, safeUrl } from './html.ts';
import { documentOf, type Frame, laterMark } from './layout.ts';
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
  send,
  show,
  themeFrom,
  undoMark,
  zoneFrom,
} from './page.ts';
import { openerHeaders, securityHeaders, sendAsItComes, sendSmall } from './sending.ts';
import { timesIn } from './times.ts';

const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><style>:root{color:#171b21}@media(prefers-color-scheme:dark){:root{color:#e8ebef}}</style>' +
  '<circle cx="12" cy="12" r="9.5" fill="none" stroke="currentColor" stroke-width="2.5"/><path d="M12 2.5a9.5 9.5 0 0 1 0 19Z" fill="currentColor"/></svg>';

export function answer(): PageAnswer {
  return send({
    type: 'image/svg+xml',
    body: drawing,
    headers: {
      'cache-control': 'public, max-age=86400',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    },
  });
}

/** A page that says what is not possible, and offers a way on. */
function saying(
  status: number,
  title: string,
  sentence: string,
  below: Part,
  more: Part = null,
): ShownPage {
  return show({
    status,
    title,
    main: html`
      ${heading({ sentence, below })}
      ${more}
      <p class="actions">${linkButton('/', 'View monitors')}</p>
    `,
  });
}

export const notFoundAnswer: ShownPage = saying(
  404,
  'Page not found',
  'Page not found',
  'The address may be mistyped, its content deleted, or it belongs to another of your organisations.',
  html`
    <form class="card row tight search-form" action="/search" role="search">
      <input type="search" name="q" aria-label="Search" placeholder="Search" autocomplete="off">
      <button class="button">Search</button>
    </form>
  `,
);

export const foreignAnswer: ShownPage = saying(
  403,
  'Blocked',
  'Blocked: this form came from another site',
  'Changes are accepted only from pages of this service. If you meant it, open the page here and try again.',
);

/** For a user who was removed from their last organisation. */
export const nowhereAnswer: ShownPage = saying(
  403,
  'No organisation',
  'No organisation yet',
  'Ask an owner or admin to invite you, then open the link in the invitation.',
);

function unreadable(status: number): ShownPage {
  return saying(
    status,
    'Invalid request',
    'Invalid request',
    'The form is too long, or not one of this service.',
  );
}

const unavailable: ShownPage = saying(
  503,
  'Unavailable',
  'The database does not answer',
  'Your request is fine. Try again in a moment. If you changed something, check first whether it was saved.',
);

function forbidden(refusal: Refusal): ShownPage {
  return saying(403, 'Not allowed', 'You cannot do this', refusal.message);
}

/**
 * A failure as a page. `hidden` is set for an error of our own: it goes to the log, under the id
 * that the page shows.
 */
export function failureAnswer(error: unknown): {
  readonly shown: ShownPage;
  readonly hidden?: { readonly request_id: string; readonly error: unknown };
} {
  // An invalid id or page number cannot exist.
  if (error instanceof InvalidInput) return { shown: notFoundAnswer };
  if (error instanceof Refusal && error.kind !== 'internal') {
    if (error.kind === 'not_found') return { shown: notFoundAnswer };
    if (error.kind === 'unavailable') return { shown: unavailable };
    if (error.kind === 'forbidden') return { shown: forbidden(error) };
    return { shown: saying(statusOf[error.kind], 'Not done', 'That did not work', error.message) };
  }
  if (
    error instanceof Error &&
    'statusCode' in error &&
    typeof error.statusCode === 'number' &&
    error.statusCode < 500
  )
    return { shown: unreadable(error.statusCode) };
  const request_id = newId();
  const shown = saying(
    500,
    'Internal error',
    'Something went wrong on our side',
    html`
      Please try again. If it fails again, send this request ID to the operator of this
      service: <code>${request_id}</code>.
    `,
  );
  return { shown, hidden: { request_id, error } };
}

/** What app.ts passes to the pages. */
export type WebDependencies = {
  readonly gate: Pick<
    Gate,
    'execute' | 'executeOnce' | 'executeForPerson' | 'executeForVisitor' | 'executeForOperator'
  >;
  readonly authenticate: Sessions['authenticate'];
  readonly instruments: PageDependencies;
  readonly changes: ChangeStream;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
};

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

/** Where to send an anonymous reader, with the way back. */
function signInFor(url: string): string {
  return url === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(url)}`;
}

const saidCookie = 'said';

/** Turns a request into the page's request, and the page's result into an answer. */
export function createAnswers(dependencies: WebDependencies, assets: AssetStore) {
  const { gate } = dependencies;
  const isSecure = (): boolean => dependencies.instruments.baseUrl().startsWith('https:');

  const fromOf = ({ ip, headers }: FastifyRequest): AnonymousCaller => ({
    address: ip,
    device: headers['user-agent'] ?? '',
    cookie: cookieNamed(sessionCookieOf(isSecure()), headers.cookie),
  });

  const signedInBy = (request: FastifyRequest): Promise<SignedIn | undefined> =>
    dependencies.authenticate(fromOf(request));

  const asked = (request: FastifyRequest, signedIn: SignedIn | undefined): PageRequest => {
    const { cookie: cookies } = request.headers;
    const zone = zoneFrom(cookies) ?? signedIn?.caller?.organisation.time_zone ?? 'UTC';
    const now = dependencies.clock.now();
    const purpose = `${request.headers['sec-purpose'] ?? ''} ${request.headers.purpose ?? ''}`;
    const isPrefetch = /prefetch|prerender|preview/.test(purpose);
    return {
      path: textsOf(request.params),
      query: queryOf(request.raw.url ?? ''),
      form: typeof request.body === 'string' ? formFrom(request.body) : noForm,
      file: async (name) =>
        request.body instanceof Multipart ? request.body.file(name) : undefined,
      address: request.raw.url ?? '/',
      now,
      times: timesIn(zone, now),
      theme: themeFrom(cookies),
      cookies,
      from: fromOf(request),
      isPrefetch,
      isByPerson:
        !isPrefetch &&
        request.method === 'GET' &&
        // A link on another site's page leads here, too: it would sign this browser in as the
        // link's author.
        ['none', 'same-origin'].includes(String(request.headers['sec-fetch-site'])) &&
        request.headers['sec-fetch-mode'] === 'navigate' &&
        request.headers['sec-fetch-user'] === '?1',
      with: dependencies.instruments,
    };
  };

  const asking =
    (execute: (operation: Operation, raw: RawInput) => Promise<Answered>): Ask =>
    async <Op extends Operation>(
      operation: Op,
      input?: Partial<Record<keyof InputOf<Op> & string, unknown>>,
    ) =>
      // The gate's handlers are typed by their operations; a table of different operations cannot
      // express that.
      (await execute(operation, rawInput(operation, input))).body as OutputOf<Op>;

  /**
   * A form with a key runs each operation once, however often a browser sends it, and gets the
   * first answer again.
   */
  const executing = (
    caller: Caller,
    form: Form,
  ): ((operation: Operation, raw: RawInput) => Promise<Answered>) => {
    if (form.key === undefined) return (operation, raw) => gate.execute(operation, caller, raw);
    const request = JSON.stringify(form.names.map((name) => [name, form.values(name)]));
    const calls = new Map<string, number>();
    return async (operation, raw) => {
      const call = (calls.get(operation.id) ?? 0) + 1;
      calls.set(operation.id, call);
      const outcome = await gate.executeOnce(operation, caller, raw, {
        key: `form ${form.key} ${operation.id} ${call}`,
        request,
      });
      if ('refused' in outcome) throw outcome.refused;
      return outcome.answered;
    };
  };

  const asksOf = (caller: Caller, form: Form): Ask => asking(executing(caller, form));

  /** What a page and its frame both read without an input is read once. */
  const askingOnce = (ask: Ask): Ask => {
    const answers = new Map<Operation, Promise<unknown>>();
    return <Op extends Operation>(
      operation: Op,
      input?: Partial<Record<keyof InputOf<Op> & string, unknown>>,
    ) => {
      if (input !== undefined) return ask(operation, input);
      const answer = answers.get(operation) ?? ask(operation);
      answers.set(operation, answer);
      // As in asking().
      return answer as Promise<OutputOf<Op>>;
    };
  };

  /** What is invalid is told by the page itself. */
  const managerOf = async (ask: Ask, objects: readonly string[]): Promise<string | null> => {
    if (objects.length === 0 || objects.length > 100 || !objects.every(isId)) return null;
    return (await ask(showManager, { objects })).file;
  };

  /** For the frame of every page. */
  const frameOf = async (
    caller: Caller | null | undefined,
    ask: Ask | undefined = caller ? asksOf(caller, noForm) : undefined,
    objects: readonly string[] = [],
  ): Promise<Pick<Frame, 'openIncidents' | 'mute' | 'ending' | 'delivery' | 'managedBy'>> => {
    if (!caller || !ask)
      return {
        openIncidents: 0,
        mute: undefined,
        ending: undefined,
        delivery: undefined,
        managedBy: null,
      };
    const [frame, managedBy] = await Promise.all([ask(showFrame), managerOf(ask, objects)]);
    const { open_incidents: openIncidents, mute, delivery } = frame;
    const { name, ends_at } = caller.organisation;
    if (ends_at !== null) {
      // The notice includes that alerts are muted.
      const ending = {
        name,
        at: new Date(ends_at).toISOString(),
        mayKeep: isAllowed(caller, keepOrganisation),
      };
      return {
        openIncidents,
        mute: undefined,
        ending,
        delivery: undefined,
        managedBy,
      };
    }
    return {
      openIncidents,
      mute:
        mute.until === null
          ? undefined
          : { until: mute.until, by: mute.by, mayEnd: isAllowed(caller, unmuteAlerts) },
      ending: undefined,
      delivery,
      managedBy,
    };
  };

  /** Logs the error before it cuts the connection. */
  async function* watched<Piece>(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
    try {
      yield* pieces;
    } catch (error) {
      dependencies.log.error({ err: error }, 'could not finish sending a file');
      throw error;
    }
  }

  /**
   * A document whose end comes later. A failure there is too late for another status: the document
   * is ended, and the error logged.
   */
  async function* inPieces(
    text: string,
    { pieces, broken }: NonNullable<ShownPage['later']>,
  ): AsyncGenerator<string> {
    const [before = '', after = ''] = text.split(laterMark);
    yield before;
    try {
      for await (const piece of pieces) yield piece.toString();
    } catch (error) {
      dependencies.log.error({ err: error }, 'page failed while it was sent');
      yield broken().toString();
    }
    yield after;
  }

  /** Set before anything of a page is read. */
  const begun = new WeakMap<FastifyRequest, string>();

  const send = async (
    answer: PageAnswer,
    request: FastifyRequest,
    reply: FastifyReply,
    signedIn?: SignedIn,
    framing?: ReturnType<typeof frameOf>,
  ): Promise<FastifyReply> => {
    const isOnTheWay =
      answer.is === 'see-other' || (answer.is === 'shown' && answer.frame === 'bare');
    reply.headers({ ...securityHeaders, ...(isOnTheWay ? openerHeaders : {}), ...answer.headers });
    if (answer.is === 'sent') {
      reply.code(answer.status ?? 200).type(answer.type);
      if (typeof answer.body === 'string') return sendSmall(request, reply, answer.body);
      return answer.body instanceof Uint8Array
        ? reply.send(answer.body)
        : sendAsItComes(request, reply, watched(answer.body));
    }
    if (answer.is === 'see-other') {
      if (answer.said !== undefined)
        reply.header(
          'set-cookie',
          cookie(saidCookie, `${answer.said}${answer.mayUndo === true ? undoMark : ''}`, {
            seconds: 60,
            secure: isSecure(),
          }),
        );
      return reply
        .code(303)
        .header('location', asciiOf(safeUrl(answer.to)))
        .header('cache-control', 'no-store')
        .send();
    }
    const addresses = await assets.addresses();
    const page = asked(request, signedIn);
    const said = page.isPrefetch ? undefined : cookieOf(page.cookies, saidCookie);
    if (said !== undefined)
      reply.header('set-cookie', cookie(saidCookie, '', { seconds: 0, secure: isSecure() }));
    const caller = answer.frame === 'bare' ? undefined : signedIn?.caller;
    const recent =
      caller && answer.status === undefined && !page.isPrefetch && request.method === 'GET'
        ? recentCookie(page.address.split('?', 1).join(''), page.cookies, isSecure())
        : undefined;
    if (recent !== undefined) reply.header('set-cookie', recent);
    const frame = await (caller && framing ? framing : frameOf(caller));
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
      since: begun.get(request),
      ...frame,
    }).toString();
    return answer.later === undefined
      ? sendSmall(request, reply, text)
      : sendAsItComes(request, reply, inPieces(text, answer.later));
  };

  const answerSignedIn = (
    page: Exclude<Page, { readonly needs: 'nobody' }>,
    common: PageRequest,
    signedIn: SignedIn,
    ask: Ask | undefined,
  ): Promise<PageAnswer> | PageAnswer => {
    const { person, caller } = signedIn;
    const own = {
      ...common,
      signedIn,
      askOwn: asking((operation, raw) => gate.executeForPerson(operation, person, raw)),
    };
    if (page.needs === 'person') return page.answer(own);
    if (page.needs === 'operator')
      return page.answer({
        ...own,
        askHouse: asking((operation, raw) => gate.executeForOperator(operation, person, raw)),
      });
    if (!caller || !ask) return nowhereAnswer;
    return page.answer({ ...own, caller, ask, may: (operation) => isAllowed(caller, operation) });
  };

  const fail = async (
    error: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const { shown, hidden } = failureAnswer(error);
    if (hidden)
      dependencies.log.error(
        { err: hidden.error, request_id: hidden.request_id, url: request.routeOptions.url },
        'page failed',
      );
    // Authentication itself may have failed: then the page is shown without its frame.
    const signedIn = await signedInBy(request).catch(() => undefined);
    // The data of the frame may have failed, too.
    return send(shown, request, reply, signedIn).catch(() => send(shown, request, reply));
  };

  return {
    signedIn: signedInBy,
    fail,
    answerWith: send,
    refuse: (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
      send(foreignAnswer, request, reply),
    answer: async (
      page: Page,
      request: FastifyRequest,
      reply: FastifyReply,
    ): Promise<FastifyReply> => {
      begun.set(request, dependencies.changes.moment());
      const signedIn = await signedInBy(request);
      const common = asked(request, signedIn);
      if (page.needs === 'nobody') {
        const askAsVisitor = asking((operation, raw) =>
          gate.executeForVisitor(operation, common.from, raw),
        );
        return send(
          await page.answer({ ...common, signedIn, askAsVisitor }),
          request,
          reply,
          signedIn,
        );
      }
      if (page.needs === 'operator' && signedIn?.person.is_operator !== true)
        return send(notFoundAnswer, request, reply, signedIn);
      if (!signedIn) {
        if (page.needs === 'member' && page.stranger)
          return send(await page.stranger(common), request, reply);
        return send(
          { is: 'see-other', to: signInFor(request.method === 'GET' ? common.address : '/') },
          request,
          reply,
        );
      }
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      const caller = signedIn.caller && { ...signedIn.caller, gone: gone.signal };
      const isRead = request.method === 'GET';
      const everyAsk = caller ? asksOf(caller, common.form) : undefined;
      const ask = isRead && everyAsk ? askingOnce(everyAsk) : everyAsk;
      const objects = caller ? objectsOf(page, common) : [];
      try {
        const manager = ask && mustAsk(page, common.form) ? await managerOf(ask, objects) : null;
        if (manager !== null)
          return await send(askFirst(manager, common), request, reply, signedIn);
        const answering = answerSignedIn(page, common, signedIn, ask);
        // A GET does not change the frame, so the frame is read at the same time, after what the
        // page reads first.
        const framing = isRead ? frameOf(caller, ask, objects) : undefined;
        // Its failure is handled where the frame is shown, if it is.
        framing?.catch(() => undefined);
        return await send(await answering, request, reply, signedIn, framing);
      } catch (error) {
        // Membership or session ended in between.
        if (
          error instanceof Refusal &&
          (error.kind === 'unauthenticated' || error.code === 'session_missing')
        )
          return send({ is: 'see-other', to: '/sign-in' }, request, reply);
        // Before a dangerous operation; then back to the page that asked for it.
        if (error instanceof Refusal && error.code === 'proof_needed')
          return send(
            { is: 'see-other', to: `/confirm?next=${encodeURIComponent(common.address)}` },
            request,
            reply,
          );
        throw error;
      }
    },
    notFound: async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const signedIn = await signedInBy(request);
      if (!signedIn && isAccountPath(request.url))
        return send({ is: 'see-other', to: signInFor(request.raw.url ?? '/') }, request, reply);
      return send(notFoundAnswer, request, reply, signedIn);
    },
  };
}
