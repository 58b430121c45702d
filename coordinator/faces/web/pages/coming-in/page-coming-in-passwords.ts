import { visitorOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { alsoEnded, comeIn, entryCard, entryPage, unlessDead } from '../../parts/part-entry-card.ts';
import { inputOf, noForm } from '../../web-form-data.ts';
import { attempt, type FormState, formSummary, freshForm, textField } from '../../web-forms.ts';
import { html } from '../../web-html.ts';
import { linkButton } from '../../web-layout.ts';
import type { OpenRequest, Page, PageAnswer } from '../../web-page.ts';
import { askForSecondStep } from './page-coming-in-second-step.ts';

const noStore = { 'cache-control': 'no-store' } as const;

const withoutMail = (): PageAnswer =>
  entryPage(
    'Forgotten password',
    entryCard(
      'Whoever runs this installation can let you in.',
      html`<p class="entry-words">It sends no mail, so no new password can be sent. This command, on its machine, makes a link that signs you in once; then you can choose a new password in your profile.</p>
<pre class="entry-command"><code>npm run operator -- user sign-in-link --email you@example.org</code></pre>
<p class="actions">${linkButton('/sign-in', 'Back')}</p>`,
    ),
  );

const forgotForm = async ({ askAsVisitor }: OpenRequest, state: FormState): Promise<PageAnswer> => {
  const { mail } = await askAsVisitor(visitorOperations.showDoor);
  if (!mail) return withoutMail();
  return entryPage(
    'Forgotten password',
    entryCard(
      'Choose a new password',
      formSummary(state),
      html`<p class="entry-words">We send a link to the address of your account.</p>
<form class="form" method="post" action="/forgot">
${textField({ name: 'email', label: 'E-mail', type: 'email', autocomplete: 'username', required: true, autofocus: true, state })}
<div class="actions"><button class="button button-main">Send the link</button>${linkButton('/sign-in', 'Back')}</div></form>`,
    ),
    { status: state.status },
  );
};

export const forgotPage: Page = {
  method: 'GET',
  path: '/forgot',
  needs: 'nobody',
  answer: (request) => forgotForm(request, freshForm(noForm)),
};

export const forgot: Page = {
  method: 'POST',
  path: '/forgot',
  needs: 'nobody',
  answer: async (request) => {
    const { form, askAsVisitor } = request;
    const email = form.value('email') ?? '';
    const tried = await attempt(form, () => askAsVisitor(visitorOperations.requestPasswordReset, { email }), ['email']);
    if ('refused' in tried) return forgotForm(request, tried.refused);
    return entryPage(
      'Look into your mail',
      entryCard(
        'Look into your mail.',
        html`<p class="entry-words">If there is an account with <b>${email}</b>, a link to choose a new password is on its way to it. It is good for an hour.</p>
<p class="actions">${linkButton('/sign-in', 'Back to the sign-in')}</p>`,
      ),
    );
  },
};

const resetForm = ({ askAsVisitor, path }: OpenRequest, state: FormState): Promise<PageAnswer> =>
  unlessDead(async () => {
    const { email } = await askAsVisitor(visitorOperations.showLink, { kind: 'password reset', secret: path.secret });
    if (email === null) return null;
    return entryPage(
      'New password',
      entryCard(
        'Choose a new password',
        formSummary(state),
        html`<p class="entry-words">For ${email}. All browsers that are signed in with it are signed out.</p>
<form class="form" method="post"><input type="hidden" name="email" autocomplete="username" value="${email}">
${textField({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', required: true, autofocus: true, help: 'At least 10 characters. A long phrase is best.', state })}${alsoEnded(state)}
<div class="actions"><button class="button button-main">Change password</button></div></form>`,
      ),
      { status: state.status, headers: noStore },
    );
  });

export const resetPage: Page = {
  method: 'GET',
  path: '/reset/:secret',
  needs: 'nobody',
  answer: (request) => resetForm(request, freshForm(noForm)),
};

export const reset: Page = {
  method: 'POST',
  path: '/reset/:secret',
  needs: 'nobody',
  answer: (request) =>
    unlessDead(async () => {
      const { form, path, askAsVisitor } = request;
      const input = { ...inputOf(form, ['password']), secret: path.secret };
      const tried = await attempt(form, () => askAsVisitor(visitorOperations.resetPassword, input), ['password']);
      if ('refused' in tried) return tried.refused.status === 404 ? null : resetForm(request, tried.refused);
      const { session, second_step } = tried.done;
      if (session !== null) return comeIn(request, session, '/', 'Your new password is saved. You are signed in.');
      return second_step === null ? null : askForSecondStep(request, second_step, '/');
    }),
};
