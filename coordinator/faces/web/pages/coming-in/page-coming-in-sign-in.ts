import { personOperations, visitorOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { endSessionCookie } from '../../../../access/access-session-cookie.ts';
import { comeIn, entryCard, entryPage, isSecure, nextOf } from '../../parts/part-entry-card.ts';
import { passkeyForm } from '../../parts/part-passkey-form.ts';
import { noForm } from '../../web-form-data.ts';
import { attempt, type FormState, formSummary, freshForm, hiddenField, textField } from '../../web-forms.ts';
import { type Html, html, query } from '../../web-html.ts';
import { linkButton } from '../../web-layout.ts';
import { type OpenRequest, type Page, type PageAnswer, seeOther } from '../../web-page.ts';
import { askForSecondStep } from './page-coming-in-second-step.ts';

const passkeySignIn = (origin: string, next: string): Html =>
  passkeyForm({
    ...{ does: 'get', action: '/sign-in/passkey', address: `/sign-in${query({ next })}`, origin, next },
    ...{ verb: 'Use a passkey', symbol: 'tokens' },
  });

export const signInWith = async (
  { askAsVisitor, query: { next } }: OpenRequest,
  state: FormState,
  to = nextOf(next),
): Promise<PageAnswer> => {
  const door = await askAsVisitor(visitorOperations.showDoor);
  const forgot = html`<a href="/forgot">Forgot it?</a>`;
  return entryPage(
    'Sign in',
    entryCard(
      'Sign in',
      formSummary(state),
      html`<form class="form" method="post" action="/sign-in">${hiddenField('next', to)}
${textField({ name: 'email', label: 'E-mail', type: 'email', autocomplete: 'username', required: true, autofocus: true, state })}
${textField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true, help: forgot, state })}
<div class="actions"><button class="button button-main">Sign in</button></div></form>${door.passkeys !== null && passkeySignIn(door.passkeys, to)}
<p class="entry-foot">${
        door.sign_up === 'open' ? html`New here? <a href="/sign-up">Sign up</a>.` : 'Invited? The link that you were given is enough.'
      }</p>`,
    ),
    { status: state.status, passkeys: door.passkeys !== null },
  );
};

export const signInPage: Page = {
  method: 'GET',
  path: '/sign-in',
  needs: 'nobody',
  answer: (request) => (request.signedIn ? seeOther(nextOf(request.query.next)) : signInWith(request, freshForm(noForm))),
};

export const signIn: Page = {
  method: 'POST',
  path: '/sign-in',
  needs: 'nobody',
  answer: async (request) => {
    const { form, askAsVisitor } = request;
    const next = nextOf(form.value('next'));
    const input = { email: form.value('email') ?? '', password: form.value('password') ?? '' };
    const tried = await attempt(form, () => askAsVisitor(visitorOperations.signIn, input), ['email', 'password']);
    if ('refused' in tried) return signInWith(request, tried.refused, next);
    const { session, second_step } = tried.done;
    if (session !== null) return comeIn(request, session, next);
    return second_step === null ? signInWith(request, freshForm(form), next) : askForSecondStep(request, second_step, next);
  },
};

/** What the browser kept of the pages goes with the session. */
export const signOut: Page = {
  method: 'POST',
  path: '/sign-out',
  needs: 'person',
  answer: async (request) => {
    await request.askOwn(personOperations.signOut);
    const headers = { 'set-cookie': endSessionCookie(isSecure(request)), 'clear-site-data': '"cache"' };
    return seeOther('/sign-in', { said: 'You are signed out.', headers });
  },
};

/** For who types the address. */
export const signOutPage: Page = {
  method: 'GET',
  path: '/sign-out',
  needs: 'person',
  answer: () =>
    entryPage(
      'Sign out',
      entryCard(
        'Sign out here?',
        html`<form class="form" method="post" action="/sign-out"><div class="actions"><button class="button button-main">Sign out</button>${linkButton('/', 'Stay')}</div></form>`,
      ),
    ),
};
