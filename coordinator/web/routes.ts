import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createAnswers, type WebDependencies } from './answers.ts';
import { createAssetStore } from './assets.ts';
import { isFromHere } from './cookies.ts';
import { notFoundAnswer } from './failures.ts';
import { Multipart } from './form-data.ts';
import { createLivePages } from './live.ts';
import type { Page } from './page.ts';
import { sendAsset, workerHeaders } from './sending.ts';

export type { WebDependencies } from './answers.ts';

export type Web = {
  /** Answers unmatched routes when a person asks. False: a program asks. */
  readonly answerNotFound: (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>;
};

/**
 * Larger than any file that is accepted, so that the operation itself refuses one that is too
 * large.
 */
const fileLimit = 4 * 1024 * 1024;

const formType = 'application/x-www-form-urlencoded';

/**
 * The routes of pages: they pass each request to its page, and turn the result into a document.
 * They decide nothing.
 */
export function webRoutes(
  app: FastifyInstance,
  pages: readonly Page[],
  dependencies: WebDependencies,
): Web {
  const fromAnywhere: ReadonlySet<string> = new Set(
    pages.flatMap((page) => ('fromAnywhere' in page ? [page.path] : [])),
  );
  const assets = createAssetStore();
  const live = createLivePages(dependencies.changes);
  const answers = createAnswers(dependencies, assets);

  app.addHook('preClose', (done) => {
    live.close();
    done();
  });

  app.register(async (web) => {
    web.removeAllContentTypeParsers();
    web.addContentTypeParser(formType, { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    );
    // Some mail services unsubscribe this way with one click (RFC 8058), whose body is ignored.
    // Forms with files use it, too.
    web.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, (request, body, done) =>
      done(null, new Multipart(request.headers['content-type'] ?? '', Buffer.from(body))),
    );

    web.addHook('onRequest', async (request, reply) => {
      if (fromAnywhere.has(request.routeOptions.url ?? '')) return;
      if (
        request.method === 'GET' ||
        request.method === 'HEAD' ||
        isFromHere(request.headers, dependencies.instruments.baseUrl())
      )
        return;
      await answers.refuse(request, reply);
    });
    web.setErrorHandler((error, request, reply) => answers.fail(error, request, reply));

    for (const page of pages)
      web.route({
        method: page.method,
        url: page.path,
        exposeHeadRoute: page.method === 'GET',
        ...(page.takesFile === true ? { bodyLimit: fileLimit } : {}),
        handler: (request, reply) => answers.answer(page, request, reply),
      });

    web.get<{ Querystring: { since?: string } }>('/live', async (request, reply) => {
      const caller = (await answers.signedIn(request))?.caller;
      if (!caller) return reply.code(204).send();
      const { 'last-event-id': heard } = request.headers;
      live.open(
        caller.organisation.id,
        reply,
        typeof heard === 'string' ? heard : request.query.since,
      );
      return reply;
    });

    // Its path limits the pages that it controls to those about alerts.
    web.get('/alerts/push-worker.js', { exposeHeadRoute: true }, async (request, reply) => {
      const worker = await assets.find((await assets.addresses()).pushWorker);
      return worker
        ? reply.headers(workerHeaders).send(worker.bytes)
        : answers.answerWith(notFoundAnswer, request, reply);
    });

    web.get<{ Params: { name: string } }>(
      '/assets/:name',
      { exposeHeadRoute: true },
      async (request, reply) => {
        const asset = await assets.find(request.params.name);
        return asset
          ? sendAsset(request, reply, asset)
          : answers.answerWith(notFoundAnswer, request, reply);
      },
    );
  });

  return {
    answerNotFound: async (request, reply) => {
      const isPerson =
        request.headers.accept?.includes('text/html') === true && !request.url.startsWith('/api/');
      if (isPerson) await answers.notFound(request, reply);
      return isPerson;
    },
  };
}
