import type { OutputOf } from '../../../shared/api/operation.ts';
import { proofFirst } from '../../people/pages/parts.ts';
import { confirm } from '../../web/confirm.ts';
import { copyable, countText, figure, heading, linkButton } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import { type FormState, formSummary, refuseUnlessMay, shownField } from '../../web/forms.ts';
import { html, icon } from '../../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { showSignInProvider } from '../contract.ts';
import { endScimToken, setScimToken } from './contract.ts';

const path = '/organisation/sign-in/provisioning';
const trail = [
  { href: '/organisation', name: 'Organisation' },
  { href: '/organisation/sign-in', name: 'Sign-in provider' },
];

export const provisioningPages = forMembers.form(path, async (request) => {
  const refused = refuseUnlessMay(request, setScimToken) ?? proofFirst(request);
  if (refused) return { shown: () => refused, act: async () => refused };
  const { provider } = await request.ask(showSignInProvider);
  if (!provider?.proved_at) {
    const away = seeOther('/organisation/sign-in');
    return { shown: () => away, act: async () => away };
  }
  return {
    fresh: () => formOf({}),
    shown: (state) => settings(request, provider, state),
    fields: [],
    act: async () => made(await request.ask(setScimToken)),
  };
});

function settings(
  { times }: MembersRequest,
  { scim_address, scim }: NonNullable<OutputOf<typeof showSignInProvider>['provider']>,
  state: FormState,
): PageAnswer {
  return show({
    title: 'Provisioning',
    place: 'organisation',
    status: state.status,
    main: html`
      ${heading({
        sentence: 'Provisioning',
        below:
          'Your provider tells Antipode, by SCIM, who is a member and in which groups. Members whom it turns off lose access at once.',
        trail,
        actions: scim && linkButton(`${path}/end`, 'Turn off', { symbol: 'power', danger: true }),
      })}
      ${formSummary(state)}
      ${
        scim &&
        html`
          <dl class="figures">
            ${figure('People', countText(scim.people))}
            ${figure('Groups', countText(scim.groups))}
            ${figure('Last sync', scim.changed_at === null ? 'None yet' : times.ago(scim.changed_at))}
          </dl>
        `
      }
      <form class="card form" method="post">
        <h2>At the provider</h2>
        ${shownField('SCIM 2.0 address', copyable(scim_address, 'the address'))}
        ${shownField(
          'Bearer token',
          html`
            <div class="row">
              <button class="button">${scim ? 'Replace token' : 'Create token'}</button>
              <span class="soft">
                ${scim ? html`Created ${times.ago(scim.since)}. Replacing it stops the old one at once.` : 'You see it once.'}
              </span>
            </div>
          `,
        )}
      </form>
    `,
  });
}

function made({ token }: { readonly token: string }): PageAnswer {
  return show({
    title: 'Token created',
    place: 'organisation',
    headers: { 'cache-control': 'no-store' },
    main: html`
      ${heading({
        sentence: 'Copy the token now',
        below: 'You see it only once. Anyone who has it decides who is a member.',
        trail: [...trail, { href: path, name: 'Provisioning' }],
      })}
      <section class="card">
        ${copyable(token, 'the token')}
      </section>
    `,
  });
}

export const endProvisioningPages = forMembers.form(`${path}/end`, (request) => ({
  fresh: () => refuseUnlessMay(request, endScimToken) ?? proofFirst(request),
  shown: (state) =>
    confirm({
      title: 'Turn off provisioning',
      place: 'organisation',
      below:
        'The token ends. Members stay, and their roles follow the groups of their sign-ins again.',
      trail: [...trail, { href: path, name: 'Provisioning' }],
      state,
      act: html`<button class="button button-danger">${icon('delete')}Turn off</button>`,
    }),
  fields: [],
  act: async () => {
    await request.ask(endScimToken);
    return seeOther('/organisation/sign-in', { said: 'Provisioning turned off.' });
  },
}));
