import { Refusal } from '../../../shared/base/errors.ts';
import { isRecentlyProven } from '../../gate/roles.ts';
import { linkButton } from '../../web/elements.ts';
import { checkField, type FormState, hiddenField, textField } from '../../web/forms.ts';
import { type Html, html, type IconName, icon, type Part, safeUrl } from '../../web/html.ts';
import {
  type PageAnswer,
  type PageRequest,
  type PersonsRequest,
  type SeeOther,
  type ShownPage,
  seeOther,
  send,
  show,
} from '../../web/page.ts';
import { setSessionCookie } from '../sessions.ts';

/** One card in the middle, as before signing in. */
export function entryCard(sentence: Part, ...parts: readonly Part[]): Html {
  return html`<div class="card entry"><h1>${sentence}</h1>${parts}</div>`;
}

export function entryPage(
  title: string,
  main: Html,
  more: Pick<ShownPage, 'status' | 'headers' | 'passkeys'> = {},
): ShownPage {
  return show({ title, frame: 'bare', main, ...more });
}

/** Creates a link that signs in, where no mail can be sent. Its lines are as long as the card. */
export function signInCommand(email = 'you@example.org'): Html {
  const lines = ['npm run operator -- \\', '  user sign-in-link \\', `  --email ${email}`];
  return html`<pre class="sunk"><code>${lines.join('\n')}</code></pre>`;
}

/** Asks for the address of an account, and for what else a page needs. */
export function emailForm({
  state,
  action,
  fields,
  verb,
  beside,
}: {
  readonly state: FormState;
  readonly action: string;
  readonly fields?: Part;
  readonly verb: string;
  readonly beside?: Part;
}): Html {
  return html`
    <form class="form" method="post" action="${safeUrl(action)}">
      ${textField({
        name: 'email',
        label: 'E-mail',
        type: 'email',
        autocomplete: 'username',
        required: true,
        autofocus: true,
        state,
      })}
      ${fields}
      <div class="actions"><button class="button button-main">${verb}</button>${beside}</div>
    </form>
  `;
}

/** For a new password; `more` says what is different for another. */
export function passwordField(
  state: FormState,
  more: Partial<Parameters<typeof textField>[0]> = {},
): Html {
  return textField({
    name: 'password',
    label: 'Password',
    type: 'password',
    autocomplete: 'new-password',
    required: true,
    help: 'At least 10 characters. A long phrase is best.',
    state,
    ...more,
  });
}

/** Where the reader wanted to go: an address of ours, or the front page. */
export function nextOf(next: string | undefined): string {
  return next !== undefined && /^\/(?![/\\])/.test(next) ? next : '/';
}

/** Other credentials that a new password ends, if the user says so. */
export function alsoEnded(state: FormState): Html {
  return html`
    ${checkField({ name: 'end_tokens', label: 'Also revoke all my API tokens', state })}
    ${checkField({ name: 'end_passkeys', label: 'Also remove all my passkeys', state })}
    ${checkField({
      name: 'end_assistants',
      label: 'Also disconnect all my assistants',
      help: 'Select these if someone else may have used your account. Anything not selected stays valid.',
      state,
    })}
  `;
}

export function isSecure({ with: { baseUrl } }: PageRequest): boolean {
  return baseUrl().startsWith('https:');
}

/** Signs in with a new session, and redirects. */
export function signInAndRedirect(
  request: PageRequest,
  session: string,
  to: string,
  said?: string,
  cookies: readonly string[] = [],
): SeeOther {
  return seeOther(to, {
    said,
    headers: { 'set-cookie': [setSessionCookie(session, isSecure(request)), ...cookies] },
  });
}

/**
 * Before a form with a dangerous operation, so that no one fills it in for nothing; undefined: go
 * on.
 */
export function proofFirst({
  signedIn: { person },
  now,
  address,
}: PersonsRequest): SeeOther | undefined {
  return isRecentlyProven(person, now)
    ? undefined
    : seeOther(`/confirm?next=${encodeURIComponent(address)}`);
}

/** The target of a link, if it is still valid. Null says that it is not, as the refusal does. */
export async function orDeadLink(
  answer: () => Promise<PageAnswer | null>,
  dead: PageAnswer = deadLinkPage(),
): Promise<PageAnswer> {
  try {
    return (await answer()) ?? dead;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'link_invalid') return dead;
    throw error;
  }
}

/** A link that was used, expired, or never existed: the same page for all three. */
function deadLinkPage(): ShownPage {
  return entryPage(
    'Link expired',
    entryCard(
      'This link has expired or was already used',
      html`
        <p class="soft">
          Links in mails work once and for a limited time. Request a new one where you got it.
        </p>
        <p class="actions">${linkButton('/sign-in', 'Go to sign-in', { main: true })}</p>
      `,
    ),
    { status: 404, headers: { 'cache-control': 'no-store' } },
  );
}

/** The options of a passkey, for the script, which passes them unchanged to the browser. */
export function optionsAnswer(text: string): PageAnswer {
  return send({ type: 'application/json', body: text, headers: { 'cache-control': 'no-store' } });
}

type PasskeyForm = {
  /** Create a passkey, or sign with one. */
  readonly does: 'create' | 'get';
  readonly action: string;
  readonly verb: string;
  readonly symbol: IconName;
  readonly main?: boolean;
  readonly next?: string;
  /** Where passkeys are valid, with this page's address there. */
  readonly origin: string;
  readonly address: string;
  readonly fields?: Part;
  readonly beside?: Part;
};

/**
 * A form that only a browser with scripts can answer; it says so to all others. Its page is shown
 * with `passkeys: true`.
 */
export function passkeyForm({
  does,
  action,
  verb,
  symbol,
  main = false,
  next,
  origin,
  address,
  fields,
  beside,
}: PasskeyForm): Html {
  return html`
    <form
      class="form passkey"
      method="post"
      action="${safeUrl(action)}"
      data-passkey="${does}"
      data-options="${safeUrl(`${action}/options`)}"
      data-origin="${origin}"
      data-scripts
    >
      ${next !== undefined && hiddenField('next', next)}
      ${hiddenField('answer', '')}
      <div data-passkey-able hidden>
        ${fields}
        <div class="actions">
          <button class="button${main && ' button-main'}">${icon(symbol)}${verb}</button>
          ${beside}
        </div>
      </div>
      ${passkeyFaults(does, origin, address)}
      <p class="soft" data-passkey-unable hidden>This browser does not support passkeys.</p>
      <noscript>
        <p class="soft">Passkeys need JavaScript, which is off in this browser.</p>
      </noscript>
    </form>
  `;
}

/** What the script says of a form that a passkey answers. */
export function passkeyFaults(does: PasskeyForm['does'], origin: string, address: string): Html {
  return html`
      <p class="field-fault" role="alert" data-passkey-failed hidden>
        ${icon('down')}
        ${
          does === 'create'
            ? 'No passkey was created. Try again, or check whether this device already has one.'
            : 'The passkey did not work. Try again, or sign in another way.'
        }
      </p>
      <p class="soft" data-passkey-elsewhere hidden>
        Passkeys work only at <a href="${safeUrl(`${origin}${address}`)}">${origin}</a>.
      </p>
    `;
}
