import type { OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { linkButton, zoneChoices } from '../../web/elements.ts';
import { formOf, inputOf } from '../../web/form-data.ts';
import {
  type FormState,
  formSummary,
  freshForm,
  hiddenField,
  selectField,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon, type Part } from '../../web/html.ts';
import {
  type Ask,
  deviceZoneFrom,
  forAnyone,
  forPersons,
  type PageAnswer,
  type PublicRequest,
  seeOther,
} from '../../web/page.ts';
import {
  acceptInvitation,
  beginJoin,
  finishSignUp,
  keepEmail,
  requestPasswordReset,
  resetPassword,
  showInvitation,
  showLink,
  showSignUpPolicy,
  signUp as signUpOperation,
  verifyEmail,
} from '../contract.ts';
import {
  alsoEnded,
  emailForm,
  entryCard,
  entryPage,
  optionsAnswer,
  orDeadLink,
  passkeyFaults,
  passwordField,
  signInAndRedirect,
  signInCommand,
} from './parts.ts';
import { askForSecondStep } from './sign-in.ts';

/** An invitation: a signed-in user joins; anybody else makes an account of it. */
export const joinPage = forAnyone.get('/join/:secret', (request) => {
  const { signedIn, askAsVisitor, path } = request;
  return signedIn === undefined
    ? page(request, freshForm(formOf({})), path.secret)
    : orDeadLink(async () =>
        joinAs(signedIn.person.email, await askAsVisitor(showInvitation, { secret: path.secret })),
      );
});

function joinAs(
  email: string,
  { organisation, role, inviter }: OutputOf<typeof showInvitation>,
): PageAnswer {
  return entryPage(
    'Join',
    entryCard(
      html`Join ${organisation}`,
      html`
        <p class="soft">${inviter ?? 'A member'} invites you to join as ${role}.</p>
        <form class="form" method="post">
          <div class="actions">
            <button class="button button-main">Join as ${email}</button>
            ${linkButton('/', 'Not now')}
          </div>
        </form>
      `,
    ),
    { headers: noStore },
  );
}

const noStore = { 'cache-control': 'no-store' } as const;

export const join = forPersons.post('/join/:secret', ({ askOwn, path }) =>
  orDeadLink(async () => {
    try {
      const { name } = await askOwn(acceptInvitation, { secret: path.secret });
      return seeOther('/', { said: `You joined ${name}.` });
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'already_member') throw error;
      return seeOther('/', { said: error.message });
    }
  }),
);

export const forgotPages = forAnyone.form('/forgot', ({ askAsVisitor, form }) => ({
  shown: (state) => forgotForm(askAsVisitor, state),
  fields: ['email'],
  act: async () => {
    const email = form.value('email') ?? '';
    await askAsVisitor(requestPasswordReset, { email });
    return entryPage(
      'Check your e-mail',
      entryCard(
        'Check your e-mail',
        html`
          <p class="soft">
            If <b>${email}</b> has an account, we sent it a link to choose a new password. The link
            works for one hour.
          </p>
          <p class="actions">${linkButton('/sign-in', 'Back to sign-in')}</p>
        `,
      ),
    );
  },
}));

async function forgotForm(askAsVisitor: Ask, state: FormState): Promise<PageAnswer> {
  const { mail } = await askAsVisitor(showSignUpPolicy);
  if (!mail) return withoutMail();
  return entryPage(
    'Forgotten password',
    entryCard(
      'Choose a new password',
      formSummary(state),
      html`
        <p class="soft">We send a link to the e-mail address of your account.</p>
        ${emailForm({
          state,
          action: '/forgot',
          verb: 'Send link',
          beside: linkButton('/sign-in', 'Back'),
        })}
      `,
    ),
    { status: state.status },
  );
}

function withoutMail(): PageAnswer {
  return entryPage(
    'Forgotten password',
    entryCard(
      'Ask the operator of this installation',
      html`
        <p class="soft">
          This installation sends no e-mail. On its server, this command creates a link that signs
          you in once; you can then choose a new password in your profile.
        </p>
        ${signInCommand()}
        <p class="actions">${linkButton('/sign-in', 'Back')}</p>
      `,
    ),
  );
}

export const resetPages = forAnyone.form('/reset/:secret', (request) => ({
  shown: (state) => resetForm(request, state),
  fields: ['password'],
  act: () =>
    orDeadLink(async () => {
      const { form, path, askAsVisitor } = request;
      const input = { ...inputOf(form, ['password']), secret: path.secret };
      const { session, second_step } = await askAsVisitor(resetPassword, input);
      if (session !== null)
        return signInAndRedirect(request, session, '/', 'Password changed. You are signed in.');
      return second_step === null ? null : askForSecondStep(request, second_step, '/');
    }),
}));

function resetForm({ askAsVisitor, path }: PublicRequest, state: FormState): Promise<PageAnswer> {
  return orDeadLink(async () => {
    const { email } = await askAsVisitor(showLink, { kind: 'password reset', secret: path.secret });
    if (email === null) return null;
    return entryPage(
      'New password',
      entryCard(
        'Choose a new password',
        formSummary(state),
        html`
          <p class="soft">
            For ${email}. This signs you out of all browsers.
          </p>
          <form class="form" method="post">
            <input type="hidden" name="email" autocomplete="username" value="${email}">
            ${passwordField(state, { label: 'New password', autofocus: true })}
            ${alsoEnded(state)}
            <div class="actions"><button class="button button-main">Change password</button></div>
          </form>
        `,
      ),
      { status: state.status, headers: noStore },
    );
  });
}

export const signUpPages = forAnyone.form('/sign-up', (request) => ({
  fresh: () =>
    request.signedIn
      ? seeOther('/')
      : formOf({ time_zone: deviceZoneFrom(request.cookies) ?? 'UTC' }),
  shown: (state) => page(request, state, state.form.value('invitation_secret')),
  fields: ['email', 'password', 'name', 'organisation', 'time_zone', 'invitation_secret'],
  act: async () => {
    const { form, askAsVisitor } = request;
    const input = {
      ...inputOf(form, ['name', 'email', 'password']),
      passkey: form.value('answer') || null,
    };
    const secret = form.value('invitation_secret') ?? '';
    // Read first: the invitation is used up by the account.
    const invitation = secret === '' ? undefined : await askAsVisitor(showInvitation, { secret });
    const { session } = await askAsVisitor(signUpOperation, input);
    return session === null
      ? sent(form.value('email') ?? '')
      : signInAndRedirect(request, session, '/', invitation && joined(invitation));
  },
}));

function joined({ organisation, role }: { organisation: string; role: string }): string {
  return role === 'viewer'
    ? `You joined ${organisation}. You can see everything here; owners and admins change it.`
    : `You joined ${organisation}.`;
}

/** By an invitation, or openly where the sign-up policy allows it. */
async function page(
  { askAsVisitor, cookies }: PublicRequest,
  state: FormState,
  secret: string | undefined,
): Promise<PageAnswer> {
  if (secret !== undefined && secret !== '')
    return orDeadLink(async () => {
      const invitation = await askAsVisitor(showInvitation, { secret });
      return invitationForm(state, secret, invitation);
    });
  const door = await askAsVisitor(showSignUpPolicy);
  return door.sign_up === 'open' ? openForm(cookies, state) : closed();
}

function invitationForm(
  state: FormState,
  secret: string,
  { organisation, email, role, inviter, passkeys }: OutputOf<typeof showInvitation>,
): PageAnswer {
  return entryPage(
    'Sign up',
    entryCard(
      `Join ${organisation}`,
      formSummary(state),
      html`
        <p class="soft">
          ${inviter ?? 'A member'} invites you to join as ${role}. Your account will be for${' '}
          <b>${email}</b>.
        </p>
        <form
          class="form"
          method="post"
          action="/sign-up"${
            passkeys !== null &&
            html` data-passkey="create" data-options="/join/${secret}/options" data-origin="${passkeys}"`
          }
        >
          ${hiddenField('invitation_secret', secret)}
          ${hiddenField('email', email)}
          ${hiddenField('answer', '')}
          ${nameField(state)}
          ${passwordField(state)}
          <div class="actions">
            <button class="button button-main" data-passkey-not>Join</button>
            <button class="button" formnovalidate data-passkey-able hidden>
              ${icon('tokens')}Use a passkey instead
            </button>
          </div>
          ${passkeyFaults('create', passkeys ?? '', `/join/${secret}`)}
        </form>
        <p class="entry-foot">
          Already have an account? <a href="/sign-in?next=/join/${secret}">Sign in instead</a>
        </p>
      `,
    ),
    { status: state.status, headers: noStore, passkeys: passkeys !== null },
  );
}

export const joinOptions = forAnyone.post(
  '/join/:secret/options',
  async ({ askAsVisitor, path: { secret } }) =>
    optionsAnswer((await askAsVisitor(beginJoin, { secret })).options),
);

function nameField(state: FormState): Html {
  return textField({
    name: 'name',
    label: 'Your name',
    autocomplete: 'name',
    required: true,
    autofocus: true,
    state,
  });
}

function openForm(cookies: string | undefined, state: FormState): PageAnswer {
  return entryPage(
    'Sign up',
    entryCard(
      'Sign up',
      formSummary(state),
      html`
        <form class="form" method="post" action="/sign-up">
          ${nameField(state)}
          ${textField({
            name: 'email',
            label: 'E-mail',
            type: 'email',
            autocomplete: 'username',
            required: true,
            state,
          })}
          ${passwordField(state)}
          ${textField({
            name: 'organisation',
            label: 'Organisation',
            autocomplete: 'organization',
            required: true,
            help: 'Your company, your team or your own name.',
            state,
          })}
          ${selectField({
            name: 'time_zone',
            label: 'Time zone',
            choices: zoneChoices(deviceZoneFrom(cookies)),
            help: 'For the times on pages and for recurring maintenance.',
            isOwnZone: true,
            state,
          })}
          <div class="actions"><button class="button button-main">Sign up</button></div>
        </form>
        <p class="entry-foot">Already have an account? <a href="/sign-in">Sign in</a></p>
      `,
    ),
    { status: state.status },
  );
}

function closed(): PageAnswer {
  return entryPage(
    'Sign up',
    entryCard(
      'You need an invitation',
      html`
        <p class="soft">
          An owner or admin of your organisation sends it to you. Its link creates your account.
        </p>
        <p class="actions">${linkButton('/sign-in', 'Sign in', { main: true })}</p>
      `,
    ),
  );
}

function sent(email: string): PageAnswer {
  return entryPage(
    'Check your e-mail',
    entryCard(
      'Check your e-mail',
      html`
        <p class="soft">
          We sent a link to <b>${email}</b>. Open it within two days to finish signing up.
        </p>
      `,
    ),
  );
}

export const finishPages = forAnyone.form('/finish/:secret', (request) => ({
  shown: (state) => finishing(request, state),
  fields: ['password'],
  act: async () => {
    const { form, path, askAsVisitor } = request;
    const { session } = await askAsVisitor(finishSignUp, {
      secret: path.secret,
      password: form.value('password') ?? '',
    });
    return signInAndRedirect(request, session, '/', 'Account created. Add your first monitor.');
  },
}));

/**
 * The link of the mail: GET shows a button, and only the button acts, because mail scanners follow
 * links.
 */
function finishing({ askAsVisitor, path }: PublicRequest, state: FormState): Promise<PageAnswer> {
  return orDeadLink(async () => {
    const { email, name, organisation } = await askAsVisitor(showLink, {
      kind: 'sign-up',
      secret: path.secret,
    });
    if (email === null) return null;
    const made =
      organisation === null
        ? html`The account of <b>${name}</b>`
        : html`The account of <b>${name}</b> and the organisation <b>${organisation}</b>`;
    return entryPage(
      'Finish signing up',
      entryCard(
        'Create your account',
        formSummary(state),
        html`
          <p class="soft">
            ${made} will be created for ${email}. If you did not sign up like this, close this page.
          </p>
          <form class="form" method="post">
            ${passwordField(state, {
              autocomplete: 'current-password',
              autofocus: true,
              help: 'The password you chose when you signed up.',
            })}
            <div class="actions"><button class="button button-main">Create account</button></div>
          </form>
        `,
      ),
      { status: state.status, headers: { 'cache-control': 'no-store' } },
    );
  });
}

/**
 * Mail scanners follow links: only the button proves that a person has the mailbox, and only in a
 * browser that is signed in.
 */
export const verifyPage = forAnyone.get('/verify/:secret', ({ askAsVisitor, path, signedIn }) =>
  orDeadLink(async () => {
    if (!signedIn) return seeOther(`/sign-in?next=/verify/${path.secret}`);
    const { email } = await askAsVisitor(showLink, { kind: 'e-mail', secret: path.secret });
    return email === null
      ? null
      : button('Confirm your e-mail', 'Confirm your e-mail address', email, 'Confirm address');
  }),
);

function button(title: string, heading: string, words: Part, label: string): PageAnswer {
  return entryPage(
    title,
    entryCard(
      heading,
      html`
        <p class="soft">${words}</p>
        <form class="form" method="post"><button class="button button-main">${label}</button></form>
      `,
    ),
    { headers: { 'cache-control': 'no-store' } },
  );
}

export const verify = forPersons.post('/verify/:secret', ({ askOwn, path }) =>
  orDeadLink(async () => {
    const { email } = await askOwn(verifyEmail, { secret: path.secret });
    return seeOther('/profile', { said: `${email} is now your e-mail address.` });
  }),
);

/** The link that the old mailbox gets when a change is requested. */
export const keepPage = forAnyone.get('/keep/:secret', ({ askAsVisitor, path }) =>
  orDeadLink(async () => {
    const { email } = await askAsVisitor(showLink, { kind: 'e-mail kept', secret: path.secret });
    if (email === null) return null;
    return button(
      'Keep your address',
      'Keep your current e-mail address?',
      html`This cancels the change to ${email}.`,
      'Keep current address',
    );
  }),
);

export const keep = forAnyone.post('/keep/:secret', ({ askAsVisitor, path }) =>
  orDeadLink(async () => {
    const { wanted } = await askAsVisitor(keepEmail, { secret: path.secret });
    return entryPage(
      'Address kept',
      entryCard(
        'Your e-mail address was kept',
        html`
            <p class="soft">
              The change to ${wanted} is cancelled. Someone else may know your password: choose a
              new one.
            </p>
            <p class="actions">
              <a class="button button-main" href="/forgot">Choose a new password</a>
            </p>
          `,
      ),
    );
  }),
);
