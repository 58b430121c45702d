import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../../shared/base/errors.ts';
import type { Log } from '../../../shared/base/log.ts';
import { font } from '../../web/assets.ts';
import { cookieOf, isFromHere } from '../../web/cookies.ts';
import { world } from '../../web/witnesses.ts';
import { type PageLanguage, pageLanguages } from '../model.ts';
import { cleared, entryCookie, entryName } from './access.ts';
import { type DocumentRequest, type Rendered, shows } from './feeds.ts';
import { awayPage, gonePage, type LockedWhy, lockedPage } from './forms.ts';
import { viewOf } from './frame.ts';
import { scriptBody, scriptName } from './local-times.ts';
import type { CachedValue, Publishing, ReadPage } from './publishing.ts';
import { fontBody, styleBody, styleName, worldBody } from './render.ts';
import { type Body, bodyOf, type Here, hostOf, type Params, send, slugOf } from './sending.ts';
import { originOf } from './snapshot.ts';
import { type Face, subscribingRoutes } from './subscribe.ts';

type StatusDependencies = {
  readonly publishing: Publishing;
  readonly baseUrl: () => string;
  /** Whether subscribers can be mailed. */
  readonly hasMail: boolean;
  /** Whether the page about the installation itself is public. */
  readonly isAboutOpen: () => boolean;
  readonly log: Pick<Log, 'error'>;
};

/** Cached documents of one read page: its services in four languages, its months, its badges. */
const maxKept = 1_000;

const htmlType = 'text/html; charset=utf-8';

/**
 * Routes a request to a page's own domain: all paths are below that page, so there is no sign-in,
 * API or connector there. Undefined: the request is for the installation itself.
 */
export function onOwnDomain(
  publishing: Pick<Publishing, 'slugOfDomain'>,
  baseUrl: string,
  host: string | undefined,
  url: string,
): string | undefined {
  const name = hostOf(host);
  const slug = publishing.slugOfDomain(name);
  if (slug === undefined || (URL.canParse(baseUrl) && new URL(baseUrl).hostname === name))
    return undefined;
  const path = url.startsWith('/') ? url : `/${url}`;
  return `/status/${slug}${path.replace(/^\/(?=$|\?)/, '')}`;
}

/**
 * The routes of public pages. Their content was read before, and is in memory in the form in which
 * it is sent.
 */
export function statusRoutes(
  app: FastifyInstance,
  { publishing, baseUrl, hasMail, isAboutOpen, log }: StatusDependencies,
): void {
  const made = new WeakMap<ReadPage, Map<string, Rendered>>();
  const bodies = new Map<string, Body>();

  /** For the few documents without a page. */
  const bodyFor = (text: string): Body => {
    const known = bodies.get(text);
    if (known) return known;
    if (bodies.size > 200) bodies.clear();
    const body = bodyOf(text);
    bodies.set(text, body);
    return body;
  };

  const rootOf = (request: Here): string =>
    publishing.slugOfDomain(hostOf(request.headers.host)) === slugOf(request)
      ? ''
      : `/status/${slugOf(request)}`;

  const gone = (request: FastifyRequest, reply: FastifyReply, root = '/status/-'): FastifyReply =>
    send(request, reply, {
      kind: 'page',
      type: htmlType,
      body: bodyFor(gonePage(`${root}/${styleName}`)),
      status: 404,
      isPublic: false,
    });

  const locked = (
    request: Here,
    reply: FastifyReply,
    { page, lock }: ReadPage,
    why: LockedWhy,
  ): FastifyReply => {
    const root = rootOf(request);
    const text = lockedPage(page, `${root}/${styleName}`, root, lock.access === 'password', why);
    return send(request, reply, {
      kind: 'page',
      type: htmlType,
      body: bodyFor(text),
      status: why === 'too-many' ? 429 : 403,
      isPublic: false,
    });
  };

  const originFor = ({ domain, page }: ReadPage): string =>
    originOf({ slug: page.slug, domain }, baseUrl());

  const isIn = (request: Here, read: ReadPage): Promise<boolean> | boolean =>
    read.lock.access === 'public' ||
    publishing.doors.isIn(read, cookieOf(request.headers.cookie, entryName));

  const languageOf = (given: string | null | undefined): PageLanguage | undefined =>
    pageLanguages.find((each) => each === given);

  const rendered = async (
    { value: read, isStale }: { value: ReadPage; isStale: boolean },
    asked: DocumentRequest,
    root: string,
  ): Promise<Rendered | undefined> => {
    // On a page's own domain, only the absolute address leads there.
    const aboutUs = isAboutOpen() ? `${baseUrl()}/about` : undefined;
    const key = `${aboutUs ?? ''} ${asked.show} ${asked.of ?? ''} ${asked.badge ?? ''} ${asked.language ?? ''} ${root} ${isStale}`;
    const kept = made.get(read) ?? new Map<string, Rendered>();
    made.set(read, kept);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const view = viewOf(read.page, {
      root,
      origin: originFor(read),
      isStale,
      hasMail,
      aboutUs,
      language: asked.language,
    });
    const incidents = (from: number, to: number) => publishing.incidents(read, from, to);
    const fresh = await shows[asked.show]({
      view,
      asked,
      style: `${root}/${styleName}`,
      incidents,
    });
    // The paths that someone may request are unlimited; the cache is not.
    if (fresh !== undefined && kept.size < maxKept) kept.set(key, fresh);
    return fresh;
  };

  const show = async (
    request: Here,
    reply: FastifyReply,
    asked: DocumentRequest,
  ): Promise<FastifyReply> => {
    const seen: CachedValue<ReadPage | undefined> = await publishing.page(slugOf(request));
    const { value: read, isStale } = seen;
    const root = rootOf(request);
    if (read === undefined) return gone(request, reply);
    if (!(await isIn(request, read))) return locked(request, reply, read, 'asked');
    // Older links and badges, from before rows had ids of their own, name the monitor's id.
    const of = asked.of === undefined ? undefined : (read.publicIds.get(asked.of) ?? asked.of);
    const found = await rendered({ value: read, isStale }, { ...asked, of }, root);
    if (found === undefined) return gone(request, reply, root);
    const isPublic = read.lock.access === 'public';
    return send(request, reply, { ...found, isPublic, isFound: found.isFound && !isStale });
  };

  const queryOf = (request: Here): URLSearchParams => {
    const url = request.raw.url ?? '';
    const begin = url.indexOf('?');
    return new URLSearchParams(begin === -1 ? '' : url.slice(begin));
  };

  const get = (path: string, as: DocumentRequest['show']): void => {
    app.get<{ Params: Params }>(path, { exposeHeadRoute: true }, async (request, reply) => {
      try {
        const hasQuery = request.raw.url?.includes('?') === true;
        const query = hasQuery ? queryOf(request) : undefined;
        const key = query?.get('key');
        if (as === 'main' && key != null) return await enterByLink(request, reply, key);
        const isJson = as === 'main' && request.params.slug.endsWith('.json');
        return await show(request, reply, {
          show: isJson ? 'json' : as,
          // A part without meaning does not change the answer.
          of:
            request.params.of ??
            (as === 'badge' ? (query?.get('service') ?? undefined) : undefined),
          badge: as === 'badge' ? (query?.get('show') ?? undefined) : undefined,
          language: languageOf(query?.get('lang') ?? undefined),
        });
      } catch (error) {
        return away(request, reply, error);
      }
    });
  };

  const away = (request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply => {
    const isExpected = error instanceof Refusal && error.code === 'unavailable';
    if (!isExpected)
      log.error({ err: error, url: request.routeOptions.url }, 'a public page failed');
    const body = bodyFor(awayPage(`/status/-/${styleName}`));
    return send(request, reply, {
      kind: 'page',
      type: htmlType,
      body,
      status: 503,
      isPublic: false,
      headers: { 'retry-after': '10' },
    });
  };

  const enterByLink = async (
    request: Here,
    reply: FastifyReply,
    key: string,
  ): Promise<FastifyReply> => {
    const { value: read } = await publishing.page(slugOf(request));
    if (read === undefined) return gone(request, reply);
    const entry = await publishing.doors.byLink(read, key);
    if (entry === undefined && !(await isIn(request, read)))
      return locked(request, reply, read, 'asked');
    return seeOther(request, reply, entry);
  };

  /** Redirects to the page itself with its cookie; the secret does not stay in the address. */
  const seeOther = (
    request: Here,
    reply: FastifyReply,
    entry: string | undefined,
  ): FastifyReply => {
    const root = rootOf(request);
    if (entry !== undefined)
      reply.header(
        'set-cookie',
        entryCookie(entry, { path: root || '/', secure: baseUrl().startsWith('https:') }),
      );
    return reply
      .code(303)
      .headers(cleared)
      .header('location', root || '/')
      .send();
  };

  const withPage: Face['withPage'] = async (request, reply, needsEntry, answer) => {
    try {
      const { value: read } = await publishing.page(slugOf(request));
      if (read === undefined) return gone(request, reply);
      if (needsEntry && !(await isIn(request, read))) return locked(request, reply, read, 'asked');
      const root = rootOf(request);
      const [status, text] = await answer(read, { style: `${root}/${styleName}`, root });
      // It may contain a secret of its reader.
      return send(request, reply, {
        kind: 'page',
        type: htmlType,
        body: bodyOf(text),
        status,
        isPublic: false,
      });
    } catch (error) {
      return away(request, reply, error);
    }
  };

  app.register(async (pages) => {
    pages.removeAllContentTypeParsers();
    pages.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string' },
      (_request, body, done) => done(null, body),
    );
    // Some mail services unsubscribe this way with one click (RFC 8058); the body is ignored.
    pages.addContentTypeParser(
      'multipart/form-data',
      { parseAs: 'string' },
      (_request, _body, done) => done(null, undefined),
    );
    subscribingRoutes(pages, { publishing, withPage, languageOf });
    pages.post<{ Params: Params }>('/status/:slug/enter', async (request, reply) => {
      const { value: read } = await publishing.page(slugOf(request));
      if (read === undefined) return gone(request, reply);
      if (!isFromHere(request.headers, originFor(read)))
        return locked(request, reply, read, 'asked');
      const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
      try {
        const entry = await publishing.doors.byPassword(
          read,
          form.get('password') ?? '',
          request.ip,
        );
        return entry === undefined
          ? locked(request, reply, read, 'wrong')
          : seeOther(request, reply, entry);
      } catch (error) {
        if (error instanceof Refusal && error.code === 'too_many_attempts')
          return locked(request, reply, read, 'too-many');
        return away(request, reply, error);
      }
    });
  });

  get('/status/:slug', 'main');
  get('/status/:slug/services/:of', 'service');
  get('/status/:slug/history', 'history');
  get('/status/:slug/history/:of', 'history');
  get('/status/:slug/measured', 'measured');
  get('/status/:slug/embed', 'embed');
  get('/embed/:slug', 'embed');
  get('/status/:slug/status.json', 'json');
  get('/status/:slug/feed.atom', 'atom');
  get('/status/:slug/feed.json', 'feed');
  get('/status/:slug/maintenance.ics', 'calendar');
  get('/status/:slug/badge.svg', 'badge');
  get('/status/:slug/robots.txt', 'robots');

  app.get<{ Params: Params }>(
    '/status/:slug/logo',
    { exposeHeadRoute: true },
    async (request, reply) => {
      try {
        const { value: read } = await publishing.page(slugOf(request));
        if (read === undefined) return gone(request, reply);
        if (!(await isIn(request, read))) return locked(request, reply, read, 'asked');
        const logo = await publishing.logo(read);
        if (logo === undefined) return gone(request, reply, rootOf(request));
        const cache = read.lock.access === 'public' ? 'public, max-age=300' : 'private, no-store';
        return reply
          .headers({
            'content-type': logo.type,
            'cache-control': cache,
            'x-content-type-options': 'nosniff',
            'content-security-policy': "default-src 'none'",
          })
          .send(Buffer.from(logo.bytes));
      } catch (error) {
        return away(request, reply, error);
      }
    },
  );

  // Belongs to no page: documents that say that there is none use the style, too.
  for (const [name, type, body] of [
    [styleName, 'text/css; charset=utf-8', styleBody],
    [scriptName, 'text/javascript; charset=utf-8', scriptBody],
    // At the same address as that of all other pages, also on a page's own domain.
    [font.slice(1), 'font/woff2', fontBody],
    [world.slice(1), 'image/svg+xml', worldBody],
  ] as const)
    app.get<{ Params: Params }>(
      `/status/:slug/${name}`,
      { exposeHeadRoute: true },
      async (request, reply) =>
        send(request, reply, {
          kind: 'data',
          type,
          body: body(),
          isPublic: true,
          headers: { 'cache-control': 'public, max-age=31536000, immutable' },
        }),
    );
  // The account's own "not found" page is not for readers who came by a page's domain.
  app.get('/status/:slug/*', { exposeHeadRoute: true }, async (request, reply) =>
    gone(request, reply),
  );
  for (const url of ['/status/:slug', '/status/:slug/*'])
    app.route({
      method: ['POST', 'PUT', 'PATCH', 'DELETE'],
      url,
      handler: async (request, reply) => gone(request, reply),
    });
}
