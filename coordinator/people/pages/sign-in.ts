import { Refusal } from '../../../shared/base/errors.ts';
import { cookie, cookieOf } from '../../web/cookies.ts';
import { linkButton } from '../../web/elements.ts';
import { formOf, noForm } from '../../web/form-data.ts';
import {
  attempt,
  type FormState,
  formSummary,
  freshForm,
  hiddenField,
  textField,
} from '../../web/forms.ts';
import { type Html, html, query, safeUrl } from '../../web/html.ts';
import {
  forAnyone,
  forPersons,
  type PageAnswer,
  type PageRequest,
  type PersonsRequest,
  type PublicRequest,
  type SeeOther,
  seeOther,
} from '../../web/page.ts';
import {
  beginPasskeySignIn,
  beginProof,
  enter,
  finishSignIn,
  listPasskeys,
  proveAgain,
  proveByPasskey,
  showProfile,
  showSignUpPolicy,
  signInByPasskey,
  signIn as signInOperation,
  signOut as signOutOperation,
} from '../contract.ts';
import { endSessionCookie } from '../sessions.ts';
import {
  emailForm,
  entryCard,
  entryPage,
  isSecure,
  nextOf,
  optionsAnswer,
  passkeyForm,
  passwordField,
  signInAndRedirect,
  signInCommand,
} from './parts.ts';

/** Password or passkey again, before a dangerous operation. */
async function confirmWith(
  { signedIn: { person }, askOwn }: PersonsRequest,
  state: FormState,
): Promise<PageAnswer> {
  const next = nextOf(state.form.value('next'));
  const [{ items, origin }, { mail }] = await Promise.all([
    askOwn(listPasskeys),
    askOwn(showProfile),
  ]);
  const passkeys = origin !== null && items.length > 0;
  return entryPage(
    'Confirm your password',
    entryCard(
      'Confirm your password',
      formSummary(state),
      html`
        <p class="soft">You are asked once every 15 minutes.</p>
        <form class="form" method="post" action="/confirm">
          ${hiddenField('next', next)}
          <input type="hidden" name="email" autocomplete="username" value="${person.email}">
          ${passwordField(state, {
            autocomplete: 'current-password',
            autofocus: true,
            help: undefined,
          })}
          <div class="actions">
            <button class="button button-main">Confirm</button>
            ${linkButton('/', 'Cancel')}
          </div>
        </form>
        ${
          person.provider !== undefined &&
          html`
            <p class="actions">
              ${linkButton(
                `/sign-in/provider/${person.provider}${query({ next, again: '1' })}`,
                'Confirm with your provider',
              )}
            </p>
          `
        }
        ${passkeys && passkeyConfirm(origin, next)}
        <p class="entry-foot">
          No password yet?${' '}
          ${
            mail
              ? html`<a href="/forgot">Set one by e-mail</a>.`
              : 'A new sign-in link confirms you as well. Open one in this browser, then come back here.'
          }
        </p>
        ${!mail && signInCommand(person.email)}
      `,
    ),
    { status: state.status, passkeys },
  );
}

function passkeyConfirm(origin: string, next: string): Html {
  return passkeyForm({
    does: 'get',
    action: '/confirm/passkey',
    address: `/confirm${query({ next })}`,
    origin,
    next,
    verb: 'Use a passkey',
    symbol: 'tokens',
  });
}

export const confirmPages = forPersons.form('/confirm', (request) => ({
  fresh: () => formOf({ next: request.query.next }),
  shown: (state) => confirmWith(request, state),
  fields: ['password'],
  act: async () => {
    const { form, askOwn } = request;
    await askOwn(proveAgain, { password: form.value('password') ?? '' });
    return seeOther(nextOf(form.value('next')));
  },
}));

/** A page with a secret in its address must not be cached. */
const headers = { 'cache-control': 'no-store' } as const;

/**
 * A click signs in at once. A program that opens addresses by itself (a preview, a scanner, a
 * prefetching browser) gets a button, and does not use up the link.
 */
export const enterPage = forAnyone.get('/enter/:secret', (request) =>
  request.isByPerson
    ? act(request)
    : entryPage(
        'Sign in',
        entryCard(
          'Sign in with this link',
          html`
              <form class="form" method="post">
                <button class="button button-main">Sign in</button>
              </form>
            `,
        ),
        { headers },
      ),
);

async function act(request: PublicRequest): Promise<PageAnswer> {
  try {
    const { session } = await request.askAsVisitor(enter, { secret: request.path.secret });
    return signInAndRedirect(request, session, '/');
  } catch (error) {
    if (error instanceof Refusal && error.code === 'link_invalid') return dead(request);
    throw error;
  }
}

function dead({ signedIn }: PublicRequest): PageAnswer {
  return entryPage(
    'Link expired',
    entryCard(
      'This link has expired or was already used',
      html`
        <p class="soft">
          A sign-in link works once. Restart the service for a new one, or create one on its server:
        </p>
        ${signInCommand()}
        <p class="actions">
          ${
            signedIn
              ? linkButton('/', 'View monitors', { main: true })
              : linkButton('/sign-in', 'Sign in with a password', { main: true })
          }
        </p>
      `,
    ),
    { status: 404, headers },
  );
}

export const enterByButton = forAnyone.post('/enter/:secret', act);

/** Says that its browser sent the right password a moment ago. */
const stepCookie = 'second_step';
/** Longer than the step is valid, so that a user who is late is told so. */
const cookieSeconds = 3_600;
const path = '/sign-in/second-step';

export function askForSecondStep(request: PageRequest, step: string, next: string): SeeOther {
  return seeOther(`${path}${query({ next })}`, {
    headers: {
      'set-cookie': cookie(stepCookie, step, { seconds: cookieSeconds, secure: isSecure(request) }),
    },
  });
}

/** Once signed in, it is no longer needed. */
export function endOfStep(request: PageRequest): string {
  return cookie(stepCookie, '', { seconds: 0, secure: isSecure(request) });
}

export const secondStepPage = forAnyone.get(path, (request) => {
  const { next, with: by } = request.query;
  return stepOf(request) === undefined
    ? seeOther(`/sign-in${query({ next: nextOf(next) })}`)
    : page(freshForm(noForm), nextOf(next), by === 'recovery');
});

function stepOf({ cookies }: PublicRequest): string | undefined {
  return cookieOf(cookies, stepCookie);
}

function page(state: FormState, next: string, isRecovery: boolean): PageAnswer {
  return entryPage(
    'Two-step verification',
    entryCard(
      'Two-step verification',
      formSummary(state),
      html`
        <form class="form" method="post" action="/sign-in/second-step">
          ${hiddenField('next', next)}
          ${isRecovery && hiddenField('with', 'recovery')}
          ${isRecovery ? recoveryForm(state) : appForm(state)}
          <div class="actions"><button class="button button-main">Sign in</button></div>
        </form>
        <p class="entry-foot">
          ${
            isRecovery
              ? html`
                No app and no codes? Ask the operator of this
                installation. <a href="${safeUrl(`${path}${query({ next })}`)}">Use the app</a>
              `
              : html`
                No access to your
                app? <a href="${safeUrl(`${path}${query({ next, with: 'recovery' })}`)}">
                  Use a recovery code
                </a>
              `
          }
        </p>
      `,
    ),
    { status: state.status, headers: { 'cache-control': 'no-store' } },
  );
}

function recoveryForm(state: FormState): Html {
  return textField({
    name: 'code',
    label: 'Recovery code',
    autocomplete: 'off',
    required: true,
    autofocus: true,
    state,
    help: 'One of your ten recovery codes. Each works once.',
  });
}

function appForm(state: FormState): Html {
  return textField({
    name: 'code',
    label: 'Code',
    autocomplete: 'one-time-code',
    inputmode: 'numeric',
    required: true,
    autofocus: true,
    state,
    help: 'The 6-digit code from your authenticator app.',
  });
}

export const secondStep = forAnyone.post(path, async (request) => {
  const { form, askAsVisitor } = request;
  const [next, step] = [nextOf(form.value('next')), stepOf(request)];
  const again = seeOther(`/sign-in${query({ next })}`, {
    headers: { 'set-cookie': endOfStep(request) },
  });
  if (step === undefined) return again;
  const tried = await attempt(
    form,
    () => askAsVisitor(finishSignIn, { secret: step, code: form.value('code') ?? '' }),
    ['code'],
  );
  if ('done' in tried) {
    const { session, recovery_codes_left } = tried.done;
    return signInAndRedirect(request, session, next, leftWords(recovery_codes_left), [
      endOfStep(request),
    ]);
  }
  const { status, objections } = tried.refused;
  return status === 404
    ? { ...again, said: objections[0] }
    : page(tried.refused, next, form.value('with') === 'recovery');
});

function leftWords(left: number | null): string | undefined {
  if (left === null) return undefined;
  const many =
    left === 0
      ? 'no recovery code is'
      : left === 1
        ? 'one recovery code is'
        : `${left} recovery codes are`;
  return `You are signed in, and ${many} left. Create new ones in your profile.`;
}

async function signInWith({ askAsVisitor }: PublicRequest, state: FormState): Promise<PageAnswer> {
  const to = nextOf(state.form.value('next'));
  const door = await askAsVisitor(showSignUpPolicy);
  const forgot = html`<span class="links"><a href="/forgot">Forgot your password?</a></span>`;
  return entryPage(
    'Sign in',
    entryCard(
      'Sign in',
      formSummary(state),
      html`
        ${emailForm({
          state,
          action: '/sign-in',
          fields: html`
            ${hiddenField('next', to)}
            ${passwordField(state, { autocomplete: 'current-password', help: forgot })}
          `,
          verb: 'Sign in',
        })}
        ${(door.provider !== null || door.passkeys !== null || door.own_providers) && html`<p class="entry-or">or</p>`}
        ${
          door.provider !== null &&
          html`
            <p class="actions">
              ${linkButton(
                `/sign-in/provider/installation${query({ next: to })}`,
                `Sign in with ${door.provider}`,
                { symbol: 'lock' },
              )}
            </p>
          `
        }
        ${door.passkeys !== null && passkeySignIn(door.passkeys, to)}
        ${
          door.own_providers &&
          html`
            <p class="actions">
              ${linkButton(
                `/sign-in/provider${query({ next: to })}`,
                'Sign in with your organisation',
                { symbol: 'members' },
              )}
            </p>
          `
        }
        <p class="entry-foot">
          ${
            door.sign_up === 'open'
              ? html`New here? <a href="/sign-up">Sign up</a>.`
              : 'Invited? Open the link in your invitation.'
          }
        </p>
      `,
    ),
    { status: state.status, passkeys: door.passkeys !== null },
  );
}

function passkeySignIn(origin: string, next: string): Html {
  return passkeyForm({
    does: 'get',
    action: '/sign-in/passkey',
    address: `/sign-in${query({ next })}`,
    origin,
    next,
    verb: 'Use a passkey',
    symbol: 'tokens',
  });
}

export const signInPages = forAnyone.form('/sign-in', (request) => ({
  fresh: () => {
    const { next } = request.query;
    return request.signedIn ? seeOther(nextOf(next)) : formOf({ next });
  },
  shown: (state) => signInWith(request, state),
  fields: ['email', 'password'],
  act: async () => {
    const { form, askAsVisitor } = request;
    const next = nextOf(form.value('next'));
    const { session, second_step } = await askAsVisitor(signInOperation, {
      email: form.value('email') ?? '',
      password: form.value('password') ?? '',
    });
    if (session !== null) return signInAndRedirect(request, session, next);
    return second_step === null
      ? signInWith(request, freshForm(form))
      : askForSecondStep(request, second_step, next);
  },
}));

/** The browser's cache of the pages is deleted with the session. */
export const signOut = forPersons.post('/sign-out', async (request) => {
  await request.askOwn(signOutOperation);
  const headers = {
    'set-cookie': endSessionCookie(isSecure(request)),
    'clear-site-data': '"cache"',
  };
  return seeOther('/sign-in', { said: 'You are signed out.', headers });
});

/** For people who type the address. */
export const signOutPage = forPersons.get('/sign-out', () =>
  entryPage(
    'Sign out',
    entryCard(
      'Sign out of this browser?',
      html`
          <form class="form" method="post" action="/sign-out">
            <div class="actions">
              <button class="button button-main">Sign out</button>
              ${linkButton('/', 'Cancel')}
            </div>
          </form>
        `,
    ),
  ),
);

/** Signing in by a passkey, and confirming one's identity by one. */
export const passkeyInOptions = forAnyone.post(
  '/sign-in/passkey/options',
  async ({ askAsVisitor }) => optionsAnswer((await askAsVisitor(beginPasskeySignIn)).options),
);

export const passkeyIn = forAnyone.post('/sign-in/passkey', async (request) => {
  const { form, askAsVisitor } = request;
  const next = nextOf(form.value('next'));
  const tried = await attempt(
    form,
    () => askAsVisitor(signInByPasskey, { answer: form.value('answer') ?? '' }),
    [],
  );
  return 'refused' in tried
    ? signInWith(request, tried.refused)
    : signInAndRedirect(request, tried.done.session, next, undefined, [endOfStep(request)]);
});

export const passkeyProofOptions = forPersons.post('/confirm/passkey/options', async ({ askOwn }) =>
  optionsAnswer((await askOwn(beginProof)).options),
);

export const passkeyProof = forPersons.post('/confirm/passkey', async (request) => {
  const { form, askOwn } = request;
  const tried = await attempt(
    form,
    () => askOwn(proveByPasskey, { answer: form.value('answer') ?? '' }),
    [],
  );
  return 'refused' in tried
    ? confirmWith(request, tried.refused)
    : seeOther(nextOf(form.value('next')));
});
