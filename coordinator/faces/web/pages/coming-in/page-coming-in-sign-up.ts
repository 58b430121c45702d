import { visitorOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { comeIn, entryCard, entryPage, unlessDead } from '../../parts/part-entry-card.ts';
import { zones } from '../../parts/part-zones.ts';
import { formOf, inputOf } from '../../web-form-data.ts';
import { attempt, type FormState, formSummary, freshForm, hiddenField, selectField, textField } from '../../web-forms.ts';
import { html } from '../../web-html.ts';
import { linkButton } from '../../web-layout.ts';
import { type OpenRequest, type Page, type PageAnswer, seeOther } from '../../web-page.ts';

const fields = ['email', 'password', 'name', 'organisation', 'time_zone', 'invitation_secret'];

/** What everybody gives, invited or not. */
const own = (
  state: FormState,
) => html`${textField({ name: 'name', label: 'Your name', autocomplete: 'name', required: true, autofocus: true, state })}
${textField({ name: 'email', label: 'E-mail', type: 'email', autocomplete: 'username', required: true, state })}
${textField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', required: true, help: 'At least 10 characters. Longer is better than stranger.', state })}`;

const invitationForm = (state: FormState, secret: string, organisation: string, role: string): PageAnswer =>
  entryPage(
    'Sign up',
    entryCard(
      `Join ${organisation}`,
      formSummary(state),
      html`<p class="entry-words">As ${role}. You need an account of your own for it.</p>
<form class="form" method="post" action="/sign-up">${hiddenField('invitation_secret', secret)}${own(state)}
<div class="actions"><button class="button button-main">Make my account</button></div></form>
<p class="entry-foot">You have one? <a href="/sign-in?next=/join/${secret}">Sign in</a>, and join with it.</p>`,
    ),
    { status: state.status, headers: { 'cache-control': 'no-store' } },
  );

const openForm = (state: FormState): PageAnswer =>
  entryPage(
    'Sign up',
    entryCard(
      'Sign up',
      formSummary(state),
      html`<form class="form" method="post" action="/sign-up">${own(state)}
${textField({ name: 'organisation', label: 'Organisation', autocomplete: 'organization', required: true, help: 'Whose things are watched: a company, a team, or yourself.', state })}
${selectField({ name: 'time_zone', label: 'Its time zone', choices: zones, help: 'In which times are shown, and maintenance repeats.', state })}
<div class="actions"><button class="button button-main">Sign up</button></div></form>
<p class="entry-foot">You have an account? <a href="/sign-in">Sign in</a>.</p>`,
    ),
    { status: state.status },
  );

const closed = (): PageAnswer =>
  entryPage(
    'Sign up',
    entryCard(
      'Nobody signs up here without an invitation.',
      html`<p class="entry-words">Whoever runs an organisation here can invite you; the link that you are given then is all that you need.</p>
<p class="actions">${linkButton('/sign-in', 'Sign in', { main: true })}</p>`,
    ),
  );

/** By an invitation (in the query, as /join hands it on), or openly where that is allowed. */
const page = async ({ askAsVisitor }: OpenRequest, state: FormState, secret: string | undefined): Promise<PageAnswer> => {
  if (secret !== undefined && secret !== '')
    return unlessDead(async () => {
      const { organisation, role } = await askAsVisitor(visitorOperations.showInvitation, { secret });
      return invitationForm(state, secret, organisation, role);
    });
  const door = await askAsVisitor(visitorOperations.showDoor);
  return door.sign_up === 'open' ? openForm(state) : closed();
};

export const signUpPage: Page = {
  method: 'GET',
  path: '/sign-up',
  needs: 'nobody',
  answer: (request) => (request.signedIn ? seeOther('/') : page(request, freshForm(formOf({ time_zone: 'UTC' })), undefined)),
};

/** The same page for whoever was invited; the secret stands in its path, where no log keeps it. */
export const signUpInvited: Page = {
  method: 'GET',
  path: '/join/:secret/sign-up',
  needs: 'nobody',
  answer: (request) => page(request, freshForm(formOf({})), request.path.secret),
};

const sent = (email: string): PageAnswer =>
  entryPage(
    'Look into your mail',
    entryCard(
      'Look into your mail.',
      html`<p class="entry-words">We wrote to <b>${email}</b>. The link in that mail is the last step; it is good for two days.</p>`,
    ),
  );

export const signUp: Page = {
  method: 'POST',
  path: '/sign-up',
  needs: 'nobody',
  answer: async (request) => {
    const { form, askAsVisitor } = request;
    const tried = await attempt(form, () => askAsVisitor(visitorOperations.signUp, inputOf(form, ['name', 'email', 'password'])), fields);
    if ('refused' in tried) return page(request, tried.refused, form.value('invitation_secret'));
    const { session } = tried.done;
    return session === null ? sent(form.value('email') ?? '') : comeIn(request, session, '/');
  },
};

/** The link of the mail: a look shows a button, only the button acts, as programs that scan mail follow links. */
const finishing = ({ askAsVisitor, path }: OpenRequest, state: FormState): Promise<PageAnswer> =>
  unlessDead(async () => {
    const { email, name, organisation } = await askAsVisitor(visitorOperations.showLink, { kind: 'sign-up', secret: path.secret });
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
        html`<p class="entry-words">${made} will be created for ${email}. If you did not sign up like this, close this page.</p>
<form class="form" method="post">${textField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true, autofocus: true, help: 'The one that you chose when you signed up.', state })}
<div class="actions"><button class="button button-main">Create account</button></div></form>`,
      ),
      { status: state.status, headers: { 'cache-control': 'no-store' } },
    );
  });

export const finishPage: Page = {
  method: 'GET',
  path: '/finish/:secret',
  needs: 'nobody',
  answer: (request) => finishing(request, freshForm(formOf({}))),
};

export const finish: Page = {
  method: 'POST',
  path: '/finish/:secret',
  needs: 'nobody',
  answer: (request) =>
    unlessDead(async () => {
      const { form, path, askAsVisitor } = request;
      const password = form.value('password') ?? '';
      const tried = await attempt(form, () => askAsVisitor(visitorOperations.finishSignUp, { secret: path.secret, password }), [
        'password',
      ]);
      if ('refused' in tried) return finishing(request, tried.refused);
      return comeIn(request, tried.done.session, '/', 'Account created. Add your first monitor.');
    }),
};
