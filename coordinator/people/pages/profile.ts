import type { OutputOf } from '../../../shared/api/operation.ts';
import { leaveOrganisation } from '../../organisations/contract.ts';
import { confirm } from '../../web/confirm.ts';
import { heading, linkButton, rowAct, stateMark, zoneChoices } from '../../web/elements.ts';
import { formOf, inputOf } from '../../web/form-data.ts';
import { type FormState, formSummary, selectField, textField } from '../../web/forms.ts';
import { type Html, html, icon, joined, type Part } from '../../web/html.ts';
import {
  deviceZoneFrom,
  forMembers,
  forPersons,
  type PageAnswer,
  type PersonsRequest,
  seeOther,
  show,
} from '../../web/page.ts';
import { acts, table } from '../../web/tables.ts';
import type { Times } from '../../web/times.ts';
import {
  changeEmail,
  changePassword,
  createOwnOrganisation,
  endOtherSessions,
  endSession,
  listOwnOrganisations,
  listPasskeys,
  listSessions,
  showProfile,
  showSecondFactor,
  switchOrganisation as switchOrganisationOperation,
  updateProfile,
} from '../contract.ts';
import { alsoEnded, passwordField, proofFirst, signInAndRedirect } from './parts.ts';

export const leavePages = forMembers.form('/members/leave', (request) => {
  const { name } = request.caller.organisation;
  return {
    fresh: () => proofFirst(request),
    shown: (state) =>
      confirm({
        title: `Leave ${name}`,
        place: 'members',
        below:
          'You lose access at once. Your tokens, your assistants and your own channels there are deleted; monitors and everything else stay. To come back you need an invitation.',
        trail: [{ href: '/members', name: 'Members' }],
        state,
        act: html`<button class="button button-danger">${icon('leave')}Leave organisation</button>`,
      }),
    fields: [],
    act: async () => {
      await request.ask(leaveOrganisation);
      return seeOther('/organisations', { said: `You left ${name}.` });
    },
  };
});

export const newOrganisationPages = forPersons.form('/organisations/new', (request) => ({
  fresh: () => formOf({ time_zone: request.signedIn.caller?.organisation.time_zone ?? 'UTC' }),
  shown: (state) => newOrganisationForm(request.cookies, state),
  fields: ['name', 'time_zone'],
  act: async () => {
    const { form, askOwn } = request;
    const input = { name: form.value('name') ?? '', time_zone: form.value('time_zone') ?? '' };
    const { name } = await askOwn(createOwnOrganisation, input);
    return seeOther('/', { said: `${name} created. You are now viewing it.` });
  },
}));

function newOrganisationForm(cookies: string | undefined, state: FormState): PageAnswer {
  return show({
    title: 'New organisation',
    status: state.status,
    main: html`
      ${heading({
        sentence: 'New organisation',
        below:
          'It has its own monitors, members and status pages. Members of one see nothing of the other. You become its owner.',
        trail: [{ href: '/organisations', name: 'Organisations' }],
      })}
      ${formSummary(state)}
      <form class="form" method="post">
        ${textField({
          name: 'name',
          label: 'Name',
          required: true,
          autofocus: true,
          autocomplete: 'organization',
          help: 'Shown in invitations and alerts.',
          state,
        })}
        ${selectField({ name: 'time_zone', label: 'Time zone', choices: zoneChoices(deviceZoneFrom(cookies)), state })}
        <div class="actions">
          <button class="button button-main">Create organisation</button>
          ${linkButton('/organisations', 'Cancel')}
        </div>
      </form>
    `,
  });
}

/** The organisation that this browser acts in. */
export const organisationsPage = forPersons.get(
  '/organisations',
  async ({ askOwn, times, signedIn: { caller } }) => {
    const { items, may_found } = await askOwn(listOwnOrganisations);
    const now = caller?.organisation.id;
    const sentence =
      items.length === 0
        ? 'No organisations yet'
        : items.length === 1
          ? 'Your organisation'
          : `Your ${items.length} organisations`;
    const below =
      items.length === 0
        ? 'Ask an owner or admin to invite you, then open the link in the invitation.'
        : 'You view one at a time. Another browser can view another.';
    return show({
      title: 'Organisations',
      main: html`
        ${heading({
          sentence,
          below,
          actions:
            may_found && linkButton('/organisations/new', 'New organisation', { symbol: 'add' }),
        })}
        ${
          items.length > 0 &&
          html`
            <ul class="card settings lines">
              ${items.map(
                ({ id, name, role, ends_at, wants }) =>
                  html`
                    <li class="setting">
                      <div>
                        <b>${name}</b>
                        <span class="note">
                          Your role: ${role}
                          ${ends_at !== null && html`; it will be deleted on ${times.day(ends_at)}`}
                          ${wants !== null && html`; it opens by its sign-in provider only`}
                        </span>
                      </div>
                      <div class="setting-action">
                        ${
                          wants !== null
                            ? linkButton(`/sign-in/provider/${wants}`, `Sign in to ${name}`)
                            : id === now
                              ? html`Current`
                              : html`
                              <form method="post" action="/organisations">
                                <input type="hidden" name="organisation_id" value="${id}">
                                <button class="button">
                                  Switch<span class="unseen"> to ${name}</span>
                                </button>
                              </form>
                            `
                        }
                      </div>
                    </li>
                  `,
              )}
            </ul>
          `
        }
      `,
    });
  },
);

export const switchOrganisation = forPersons.post('/organisations', async ({ askOwn, form }) => {
  await askOwn(switchOrganisationOperation, { organisation_id: form.value('organisation_id') });
  return seeOther('/');
});

/** The user's sessions. */
export const sessionsPage = forPersons.get('/profile/sessions', async ({ askOwn, times }) => {
  const { items } = await askOwn(listSessions);
  const others = items.length - 1;
  const sentence =
    others < 1
      ? 'You are signed in on this browser only'
      : `You are signed in on ${items.length} browsers`;
  const all =
    others > 0 &&
    html`
        <form method="post" action="/profile/sessions">
          <button class="button">Sign out everywhere else</button>
        </form>
      `;
  return show({
    title: 'Sessions',
    place: 'profile',
    main: html`
        ${heading({
          sentence,
          below: 'Sessions end after 7 days unused, 30 days at most.',
          actions: all,
          trail: [{ href: '/profile', name: 'Your profile' }],
        })}
        ${table(
          items.map(({ id, device, address, last_used_at, created_at, is_this }) => ({
            id: `session-${id}`,
            Browser: [
              html`<b>${device}</b>`,
              is_this && html` <span class="tag">This browser</span>`,
            ],
            Address: address,
            'Last used': is_this ? 'now' : times.ago(last_used_at),
            'Signed in': times.whole(created_at),
            'Sign out': acts(html`
              <form method="post" action="/profile/sessions/${id}/end">
                ${rowAct({ symbol: 'leave', words: 'Sign out', of: `of ${device}` })}
              </form>
            `),
          })),
        )}
      `,
  });
});

export const endOneSession = forPersons.post(
  '/profile/sessions/:session_id/end',
  async ({ askOwn, path }) => {
    const { is_this } = await askOwn(endSession, { session_id: path.session_id });
    return is_this
      ? seeOther('/sign-in', { said: 'You are signed out.' })
      : seeOther('/profile/sessions', { said: 'Browser signed out.' });
  },
);

export const endOtherSessionsPage = forPersons.post('/profile/sessions', async ({ askOwn }) => {
  const { ended } = await askOwn(endOtherSessions);
  return seeOther('/profile/sessions', {
    said:
      ended === 1
        ? 'The other browser was signed out.'
        : `${ended} other browsers were signed out.`,
  });
});

/** The user's data, with links to change each part. */
export const profilePage = forPersons.get('/profile', async ({ askOwn, times }) => {
  const asked = [
    askOwn(showProfile),
    askOwn(listSessions),
    askOwn(showSecondFactor),
    askOwn(listPasskeys),
  ] as const;
  const [profile, sessions, second, passkeys] = await Promise.all(asked);
  const { name, email, email_verified, wanted_email, mail, providers } = profile;
  const proven = email_verified
    ? 'Confirmed'
    : mail
      ? stateMark('verifying', 'Not confirmed yet')
      : 'Not confirmed: this installation sends no e-mail';
  const waiting =
    wanted_email !== null &&
    wanted_email !== email &&
    html`
        <span class="note">
          Open the link we sent to ${wanted_email} to confirm it.
        </span>
      `;
  return show({
    title: 'Your profile',
    place: 'profile',
    main: html`
        ${heading({
          sentence: name === '' ? 'Your profile' : name,
          below: 'For your account, in all organisations.',
        })}
        <dl class="card settings lines">
          ${row('Name', name === '' ? 'Not set' : name, linkButton('/profile/name', 'Change'))}
          ${row(
            'E-mail',
            html`${email}<span class="note">${proven}</span>${waiting}`,
            linkButton('/profile/email', 'Change'),
          )}
          ${row('Password', 'Set', linkButton('/profile/password', 'Change'))}
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
          ${
            providers &&
            row(
              'Sign-in providers',
              'Sign in without a password of this service',
              linkButton(
                '/profile/providers',
                html`Change<span class="unseen"> sign-in providers</span>`,
              ),
            )
          }
          ${row(
            'Sessions',
            count(sessions.items.length, 'This browser only', 'browsers'),
            linkButton('/profile/sessions', html`View<span class="unseen"> sessions</span>`),
          )}
        </dl>
      `,
  });
});

function row(label: string, value: Part, action: Part): Html {
  return html`
    <div class="setting">
      <dt>${label}</dt>
      <dd>${value}</dd>
      <dd class="setting-action">${action}</dd>
    </div>
  `;
}

function secondFactorRow(
  { on_since, recovery_codes_left }: OutputOf<typeof showSecondFactor>,
  times: Times,
): Html {
  return on_since === null
    ? row(
        'Two-step verification',
        html`Off<span class="note">Your password alone signs you in.</span>`,
        linkButton('/profile/two-step/set-up', 'Set up'),
      )
    : row(
        'Two-step verification',
        html`
          On since ${times.day(on_since)}
          <span class="note">
            ${count(recovery_codes_left, 'One recovery code is', 'recovery codes are')} left.
          </span>
        `,
        linkButton('/profile/two-step', 'Change'),
      );
}

function count(number: number, one: string, many: string): string {
  return number === 1 ? one : `${number} ${many}`;
}

const trail = [{ href: '/profile', name: 'Your profile' }];

export const profileName = forPersons.form('/profile/name', ({ askOwn, form, signedIn }) => ({
  fresh: () => formOf({ name: signedIn.person.name }),
  shown: namePage,
  fields: ['name'],
  act: async () => {
    await askOwn(updateProfile, { name: form.value('name') ?? '' });
    return seeOther('/profile', { said: 'Name changed.' });
  },
}));

function namePage(state: FormState): PageAnswer {
  return formPage(
    'Your name',
    'Other members see it beside what you do.',
    state,
    textField({
      name: 'name',
      label: 'Name',
      autocomplete: 'name',
      required: true,
      autofocus: true,
      state,
    }),
    'Save',
  );
}

function formPage(
  sentence: string,
  below: Part,
  state: FormState,
  fields: Html,
  verb: string,
): PageAnswer {
  return show({
    title: sentence,
    place: 'profile',
    status: state.status,
    main: html`
      ${heading({ sentence, below, trail })}
      ${formSummary(state)}
      <form class="form" method="post">
        ${fields}
        <div class="actions">
          <button class="button button-main">${verb}</button>
          ${linkButton('/profile', 'Cancel')}
        </div>
      </form>
    `,
  });
}

export const profileEmail = forPersons.form('/profile/email', (request) => ({
  fresh: () => proofFirst(request) ?? formOf({ email: request.signedIn.person.email }),
  shown: (state) => emailPage(request, state),
  fields: ['email'],
  act: async () => {
    const { email, must_confirm } = await request.askOwn(changeEmail, {
      email: request.form.value('email') ?? '',
    });
    return seeOther('/profile', {
      said: must_confirm
        ? `We sent a link to ${email}. Open it to change your address.`
        : `${email} is now your e-mail address.`,
    });
  },
}));

async function emailPage({ askOwn }: PersonsRequest, state: FormState): Promise<PageAnswer> {
  const { mail, email, email_verified } = await askOwn(showProfile);
  const below = mail
    ? 'We send a link to the new address. Your current one stays until you open it.'
    : 'The change takes effect at once: this installation sends no e-mail to confirm it.';
  const help = mail && !email_verified && html`Send ${email} again to confirm it.`;
  return formPage(
    'Your e-mail address',
    below,
    state,
    textField({
      name: 'email',
      label: 'E-mail',
      type: 'email',
      autocomplete: 'email',
      required: true,
      autofocus: true,
      help,
      state,
    }),
    mail ? 'Send link' : 'Save',
  );
}

export const profilePassword = forPersons.form('/profile/password', (request) => ({
  fresh: () => proofFirst(request),
  shown: (state) => passwordPage(request, state),
  fields: ['password'],
  act: async () => {
    const { session } = await request.askOwn(changePassword, inputOf(request.form, ['password']));
    return signInAndRedirect(
      request,
      session,
      '/profile',
      'Password changed. All other browsers were signed out.',
    );
  },
}));

function passwordPage({ signedIn: { person } }: PersonsRequest, state: FormState): PageAnswer {
  return formPage(
    'Change password',
    'This signs you out of every other browser.',
    state,
    html`
      <input type="hidden" name="email" autocomplete="username" value="${person.email}">
      ${passwordField(state, { label: 'New password', autofocus: true })}
      ${alsoEnded(state)}
    `,
    'Change password',
  );
}
