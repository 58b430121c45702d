import { personOperations } from '../../../../../shared/api/inner/inner-index.ts';
import type { OutputOf } from '../../../../../shared/api/operation.ts';
import { alsoEnded, comeIn, proofFirst } from '../../parts/part-entry-card.ts';
import { formOf, inputOf } from '../../web-form-data.ts';
import { attempt, type FormState, formSummary, freshForm, textField } from '../../web-forms.ts';
import { type Html, html, joined, type Part } from '../../web-html.ts';
import { heading, linkButton } from '../../web-layout.ts';
import { type Page, type PageAnswer, type PersonsRequest, seeOther, show } from '../../web-page.ts';
import type { Times } from '../../web-times.ts';

const { showProfile, updateProfile, changeEmail, changePassword, listSessions, showSecondFactor, listPasskeys } = personOperations;

const row = (label: string, value: Part, action: Part): Html =>
  html`<div class="setting"><dt>${label}</dt><dd>${value}</dd><dd class="setting-action">${action}</dd></div>`;

const count = (number: number, one: string, many: string): string => (number === 1 ? one : `${number} ${many}`);

const secondFactorRow = ({ on_since, recovery_codes_left }: OutputOf<typeof showSecondFactor>, times: Times): Html =>
  on_since === null
    ? row(
        'Second step',
        html`Off<span class="setting-note">The password alone signs you in.</span>`,
        linkButton('/profile/two-step/set-up', 'Set up'),
      )
    : row(
        'Second step',
        html`An app’s code, since ${times.day(on_since)}<span class="setting-note">${count(recovery_codes_left, 'One recovery code is', 'recovery codes are')} left.</span>`,
        linkButton('/profile/two-step', 'Change'),
      );

/** What is known of oneself, and where each of it is changed. */
export const profilePage: Page = {
  method: 'GET',
  path: '/profile',
  needs: 'person',
  answer: async ({ askOwn, times }) => {
    const asked = [askOwn(showProfile), askOwn(listSessions), askOwn(showSecondFactor), askOwn(listPasskeys)] as const;
    const [profile, sessions, second, passkeys] = await Promise.all(asked);
    const { name, email, email_verified, wanted_email, mail } = profile;
    const proven = email_verified ? 'proven' : mail ? html`not proven yet` : 'not proven; this installation sends no mail';
    const waiting =
      wanted_email !== null &&
      wanted_email !== email &&
      html`<span class="setting-note">${wanted_email} waits to be proven, by the link that we sent there.</span>`;
    return show({
      title: 'Your profile',
      place: 'profile',
      main: html`${heading({ sentence: name === '' ? 'Your profile' : name, below: 'What is yours, whatever organisation you act in.' })}
<dl class="card settings">
${row('Name', name === '' ? 'Nobody knows it yet' : name, linkButton('/profile/name', 'Change'))}
${row('E-mail', html`${email}<span class="setting-note">${proven}</span>${waiting}`, linkButton('/profile/email', 'Change'))}
${row('Password', 'Known to you alone', linkButton('/profile/password', 'Change'))}
${secondFactorRow(second, times)}
${row(
  'Passkeys',
  passkeys.items.length === 0
    ? 'None'
    : joined(
        passkeys.items.map(({ name }) => name),
        ', ',
      ),
  linkButton('/profile/passkeys', passkeys.items.length === 0 ? 'Add' : 'Change'),
)}
${row('Signed in', count(sessions.items.length, 'At this browser only', 'browsers'), linkButton('/profile/sessions', 'Look'))}
</dl>`,
    });
  },
};

const trail = [{ href: '/profile', name: 'Your profile' }];

const formPage = (sentence: string, below: Part, state: FormState, fields: Html, verb: string): PageAnswer =>
  show({
    title: sentence,
    place: 'profile',
    status: state.status,
    main: html`${heading({ sentence, below, trail })}${formSummary(state)}<form class="form" method="post">${fields}
<div class="actions"><button class="button button-main">${verb}</button>${linkButton('/profile', 'Leave it')}</div></form>`,
  });

const namePage = (state: FormState): PageAnswer =>
  formPage(
    'Your name',
    'So the others of your organisations know who did what.',
    state,
    textField({ name: 'name', label: 'Name', autocomplete: 'name', required: true, autofocus: true, state }),
    'Keep it',
  );

export const profileName: Page = {
  method: 'GET',
  path: '/profile/name',
  needs: 'person',
  answer: ({ signedIn: { person } }) => namePage(freshForm(formOf({ name: person.name }))),
};

export const writeProfileName: Page = {
  method: 'POST',
  path: '/profile/name',
  needs: 'person',
  answer: async ({ form, askOwn }) => {
    const tried = await attempt(form, () => askOwn(updateProfile, { name: form.value('name') ?? '' }), ['name']);
    return 'refused' in tried ? namePage(tried.refused) : seeOther('/profile', { said: 'Your name is changed.' });
  },
};

const emailPage = async ({ askOwn }: PersonsRequest, state: FormState): Promise<PageAnswer> => {
  const { mail, email, email_verified } = await askOwn(showProfile);
  const below = mail
    ? 'The present address stays until the new one is proven, by a link that we send there.'
    : 'It counts at once; this installation sends no mail to prove it by.';
  const help = mail && !email_verified && html`Send the same address to have ${email} proven.`;
  return formPage(
    'Your e-mail address',
    below,
    state,
    textField({ name: 'email', label: 'E-mail', type: 'email', autocomplete: 'email', required: true, autofocus: true, help, state }),
    mail ? 'Send the link' : 'Keep it',
  );
};

export const profileEmail: Page = {
  method: 'GET',
  path: '/profile/email',
  needs: 'person',
  answer: (request) => proofFirst(request) ?? emailPage(request, freshForm(formOf({ email: request.signedIn.person.email }))),
};

export const writeProfileEmail: Page = {
  method: 'POST',
  path: '/profile/email',
  needs: 'person',
  answer: async (request) => {
    const { form, askOwn } = request;
    const tried = await attempt(form, () => askOwn(changeEmail, { email: form.value('email') ?? '' }), ['email']);
    if ('refused' in tried) return emailPage(request, tried.refused);
    const { email, must_confirm } = tried.done;
    return seeOther('/profile', {
      said: must_confirm ? `We sent a link to ${email}; it becomes your address when you follow it.` : `${email} is your address now.`,
    });
  },
};

const passwordPage = ({ signedIn: { person } }: PersonsRequest, state: FormState): PageAnswer =>
  formPage(
    'A new password',
    'Every other browser that is signed in as you is signed out.',
    state,
    html`<input type="hidden" name="email" autocomplete="username" value="${person.email}">${textField({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', required: true, autofocus: true, help: 'At least 10 characters. A long phrase is best.', state })}${alsoEnded(state)}`,
    'Change password',
  );

export const profilePassword: Page = {
  method: 'GET',
  path: '/profile/password',
  needs: 'person',
  answer: (request) => proofFirst(request) ?? passwordPage(request, freshForm(formOf({}))),
};

export const writeProfilePassword: Page = {
  method: 'POST',
  path: '/profile/password',
  needs: 'person',
  answer: async (request) => {
    const { form, askOwn } = request;
    const tried = await attempt(form, () => askOwn(changePassword, inputOf(form, ['password'])), ['password']);
    if ('refused' in tried) return passwordPage(request, tried.refused);
    return comeIn(request, tried.done.session, '/profile', 'Your new password is kept, and every other browser is signed out.');
  },
};
