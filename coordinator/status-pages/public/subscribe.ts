import type { FastifyInstance, FastifyReply } from 'fastify';
import { Refusal } from '../../../shared/base/errors.ts';
import type { PageLanguage } from '../model.ts';
import { askingPage, subscribePage, webhookPage } from './forms.ts';
import type { Publishing, ReadPage } from './publishing.ts';
import type { Here, Params } from './sending.ts';
import { wordsOf } from './words.ts';

/** What the routes of subscribing need from the public pages. */
export type Face = {
  readonly publishing: Publishing;
  /**
   * Answers requests without a page or without access; otherwise `answer` gives the document and
   * its status.
   */
  readonly withPage: (
    request: Here,
    reply: FastifyReply,
    needsEntry: boolean,
    answer: (
      read: ReadPage,
      of: { readonly style: string; readonly root: string },
    ) => Promise<readonly [status: number, text: string]>,
  ) => Promise<FastifyReply>;
  readonly languageOf: (given: string | null | undefined) => PageLanguage | undefined;
};

/**
 * By e-mail: requested here, confirmed and ended from the mailbox. By webhook: its server confirms
 * at once, and what it gets holds the link that ends it. A request for someone else's
 * address sends them one question an hour and nothing more; a form on another site can do no more
 * than that, either.
 */
export function subscribingRoutes(
  app: FastifyInstance,
  { publishing, withPage, languageOf }: Face,
): void {
  const { subscribing } = publishing;

  app.post<{ Params: Params }>('/status/:slug/subscribe', (request, reply) =>
    withPage(request, reply, true, async (read, { style, root }) => {
      const form = formOf(request.body);
      const language = languageOf(form.get('lang')) ?? read.page.language;
      const { subscribing: words } = wordsOf[language];
      const of = { language, style, root };
      const url = form.get('url');
      try {
        if (url !== null) {
          const asked = { url, language, address: request.ip };
          const done = await subscribing.webhook(read, asked);
          if (done.is === 'subscribed') return [200, webhookPage(of, done)];
          const [title, text] = words.webhook[done.is];
          return [422, subscribePage(of, title, text)];
        }
        await subscribing.ask(read, {
          email: form.get('email') ?? '',
          language,
          address: request.ip,
        });
        return [200, subscribePage(of, words.asked, words.askedText)];
      } catch (error) {
        if (error instanceof Refusal && error.code === 'email_invalid')
          return [422, subscribePage(of, words.badAddress)];
        if (error instanceof Refusal && error.code === 'too_many_attempts')
          return [429, subscribePage(of, words.often)];
        throw error;
      }
    }),
  );

  for (const what of ['confirm', 'leave'] as const) {
    app.get<{ Params: Params }>(
      `/status/:slug/${what}/:of`,
      { exposeHeadRoute: true },
      (request, reply) =>
        withPage(request, reply, false, async (read, { style, root }) => {
          const { language } = read.page;
          const { subscribing: words } = wordsOf[language];
          const secret = request.params.of ?? '';
          const pages = what === 'confirm' ? await subscribing.waiting(read, secret) : [];
          const button = what === 'confirm' ? words.confirmButton : words.leaveButton;
          const path = `${root}/${what}/${encodeURIComponent(secret)}`;
          return [200, askingPage({ language, style, root }, path, words[what], button, pages)];
        }),
    );

    // From anywhere: the link is the proof, and mail services post there themselves.
    app.post<{ Params: Params }>(`/status/:slug/${what}/:of`, (request, reply) =>
      withPage(request, reply, false, async (read, { style, root }) => {
        const { language } = read.page;
        const { subscribing: words } = wordsOf[language];
        const link = request.params.of ?? '';
        const slugs = formOf(request.body).getAll('page');
        const isDone =
          what === 'confirm'
            ? await subscribing.confirm(read, link, slugs)
            : await subscribing.leave(read, link);
        if (!isDone)
          return [404, subscribePage({ language, style, root }, words.dead, words.deadText)];
        return [
          200,
          subscribePage(
            { language, style, root },
            what === 'confirm' ? words.confirmed : words.left,
          ),
        ];
      }),
    );
  }
}

function formOf(body: unknown): URLSearchParams {
  return new URLSearchParams(typeof body === 'string' ? body : '');
}
