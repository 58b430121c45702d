import { Refusal, type RefusalCode } from '../../shared/base/errors.ts';
import {
  entryCard,
  entryPage,
  isSecure,
  nextOf,
  proofFirst,
  signInAndRedirect,
} from '../people/pages/parts.ts';
import { cookie, cookieOf } from '../web/cookies.ts';
import { heading, linkButton, nothing } from '../web/elements.ts';
import { html, query, safeUrl } from '../web/html.ts';
import {
  forAnyone,
  forPersons,
  type PageAnswer,
  type PageRequest,
  type PublicRequest,
  seeOther,
  send,
  show,
} from '../web/page.ts';
import {
  beginProviderConnection,
  beginProviderSignIn,
  disconnectProvider,
  endProviderSessions,
  finishProviderSignIn,
  listOwnProviders,
} from './contract.ts';
import { signInMs } from './model.ts';

const noStore = { 'cache-control': 'no-store' } as const;

/** What the browser keeps until it comes back: no other host of our domain can set it over https. */
type Kept = { readonly secret: string; readonly again: boolean; readonly next: string };

function nameOf(request: PageRequest): string {
  return `${isSecure(request) ? '__Host-' : ''}provider_sign_in`;
}

function keeping(request: PageRequest, { secret, again, next }: Kept): string {
  const seconds = signInMs / 1_000;
  const value = `${secret} ${again ? 'again' : 'once'} ${next}`;
  return cookie(nameOf(request), value, { seconds, secure: isSecure(request) });
}

function keptOf(request: PageRequest): Kept | undefined {
  const [, secret, again, next] =
    /^([\w-]{43}) (again|once) (.*)$/.exec(cookieOf(request.cookies, nameOf(request)) ?? '') ?? [];
  return secret === undefined
    ? undefined
    : { secret, again: again === 'again', next: nextOf(next) };
}

function forgetting(request: PageRequest): string {
  return cookie(nameOf(request), '', { seconds: 0, secure: isSecure(request) });
}

export const beginAtProvider = forAnyone.get('/sign-in/provider/:provider', async (request) => {
  const { path, query: asked, isPrefetch, askAsVisitor } = request;
  const [again, next] = [asked.again !== undefined, nextOf(asked.next)];
  // A browser keeps what it fetched ahead for the click, unless it failed.
  if (isPrefetch) return send({ status: 503, type: 'text/plain', body: '', headers: noStore });
  try {
    const { address, secret } = await askAsVisitor(beginProviderSignIn, {
      provider: path.provider,
      again,
    });
    return seeOther(address, {
      headers: { ...noStore, 'set-cookie': keeping(request, { secret, again, next }) },
    });
  } catch (error) {
    return notSignedIn(request, error, next);
  }
});

export const answerOfProvider = forAnyone.get(
  '/sign-in/provider/:provider/answer',
  async (request) => {
    const { address, path, askAsVisitor } = request;
    const { secret, again, next } = keptOf(request) ?? { secret: '', again: false, next: '/' };
    try {
      const { session, refused } = await askAsVisitor(finishProviderSignIn, {
        provider: path.provider,
        secret,
        again,
        answer: address.split('?').slice(1).join('?'),
      });
      if (session !== null)
        return signInAndRedirect(request, session, next, undefined, [forgetting(request)]);
      throw new Refusal('provider_refused', refused ?? '');
    } catch (error) {
      return notSignedIn(request, error, next);
    }
  },
);

const statuses: Partial<Record<RefusalCode, number>> = {
  account_exists: 409,
  provider_not_found: 404,
  too_many_attempts: 429,
  provider_away: 503,
};

function notSignedIn(request: PublicRequest, error: unknown, next: string): PageAnswer {
  if (!(error instanceof Refusal)) throw error;
  const { provider = '' } = request.path;
  const isThere = error.code === 'account_exists';
  return entryPage(
    'Not signed in',
    entryCard(
      'You are not signed in',
      html`
        <p class="soft">${error.message}</p>
        <p class="actions">
          ${
            isThere
              ? linkButton('/profile/providers', 'Sign in and connect', { main: true })
              : linkButton(`/sign-in/provider/${provider}${query({ next })}`, 'Try again', {
                  main: true,
                })
          }
          ${linkButton(`/sign-in${query({ next })}`, 'Sign in another way')}
        </p>
      `,
    ),
    {
      status: statuses[error.code] ?? 403,
      headers: { ...noStore, 'set-cookie': forgetting(request) },
    },
  );
}

/** Providers post here when somebody signs out, or is removed. */
export const logoutByProvider = {
  ...forAnyone.post('/sign-in/provider/:provider/logout', async ({ path, form, askAsVisitor }) => {
    try {
      const logout_token = form.value('logout_token') ?? '';
      await askAsVisitor(endProviderSessions, { provider: path.provider, logout_token });
      return send({ type: 'application/json', body: '{}', headers: noStore });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const said = { error: 'invalid_request', error_description: error.message };
      return send({
        status: error.code === 'provider_refused' ? 400 : (statuses[error.code] ?? 400),
        type: 'application/json',
        body: JSON.stringify(said),
        headers: noStore,
      });
    }
  }),
  fromAnywhere: true,
} as const;

export const ownProvidersPage = forPersons.get('/profile/providers', async (request) => {
  const { items } = await request.askOwn(listOwnProviders);
  return (
    proofFirst(request) ??
    show({
      title: 'Sign-in providers',
      place: 'profile',
      main: html`
        ${heading({
          sentence: items.length === 0 ? 'No sign-in providers' : 'Sign-in providers',
          below: 'A provider that your account is connected with signs you in without a password.',
          trail: [{ href: '/profile', name: 'Your profile' }],
        })}
        ${
          items.length === 0
            ? nothing('tokens', 'Neither this installation nor your organisation has one.')
            : html`
              <ul class="card settings lines">
                ${items.map(
                  ({ key, name, connected }) => html`
                    <li class="setting">
                      <div><b>${name}</b><span class="note">${connected ? 'Connected' : 'Not connected'}</span></div>
                      <div class="setting-action">
                        <form method="post" action="/profile/providers/${key}/${connected ? 'disconnect' : 'connect'}">
                          <button class="button">
                            ${connected ? 'Disconnect' : 'Connect'}<span class="unseen"> ${name}</span>
                          </button>
                        </form>
                      </div>
                    </li>
                  `,
                )}
              </ul>
            `
        }
      `,
    })
  );
});

/**
 * A form may lead only to our own site, so a page answers, which goes on by itself. No other site
 * can begin this: it could connect an account of its own.
 */
export const connectProviderPage = forPersons.post(
  '/profile/providers/:provider/connect',
  async (request) => {
    const { path, askOwn } = request;
    const begun = await askOwn(beginProviderConnection, { provider: path.provider });
    const kept = { secret: begun.secret, again: true, next: '/profile/providers' };
    const { host } = new URL(begun.address);
    return entryPage(
      'Going on',
      entryCard(
        `Sign in at ${host}`,
        html`
          <p class="soft">Sign in there with the account that you want to connect.</p>
          <p class="actions">
            <a class="button button-main" href="${safeUrl(begun.address)}">Continue</a>
          </p>
        `,
      ),
      {
        headers: {
          ...noStore,
          refresh: `0; url=${begun.address}`,
          'set-cookie': keeping(request, kept),
        },
      },
    );
  },
);

export const disconnectProviderPage = forPersons.post(
  '/profile/providers/:provider/disconnect',
  async ({ path, askOwn }) => {
    const { name } = await askOwn(disconnectProvider, { provider: path.provider });
    return seeOther('/profile/providers', { said: `${name} disconnected.` });
  },
);
