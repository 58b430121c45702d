import { proofFirst } from '../../people/pages/parts.ts';
import { confirm } from '../../web/confirm.ts';
import { copyable, heading, linkButton } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import { type FormState, formSummary, refuseUnlessMay } from '../../web/forms.ts';
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
    shown: (state: FormState) => settings(request, provider, state),
    fields: [],
    act: async () => made(await request.ask(setScimToken)),
  };
});

function settings(
  { times }: MembersRequest,
  {
    scim_address,
    scim_since,
  }: { readonly scim_address: string; readonly scim_since: string | null },
  state: FormState,
): PageAnswer {
  const isOn = scim_since !== null;
  return show({
    title: 'Provisioning',
    place: 'organisation',
    status: state.status,
    main: html`
      ${heading({
        sentence: 'Provisioning',
        below:
          'The provider says by SCIM who is a member, and in which groups. Members whom it turns off lose access at once.',
        trail,
        actions: isOn && linkButton(`${path}/end`, 'Turn off', { symbol: 'delete', danger: true }),
      })}
      ${formSummary(state)}
      <section class="card">
        <h2>At the provider</h2>
        <p class="soft">Address of SCIM 2.0</p>
        ${copyable(scim_address, 'the address')}
        <p class="soft">
          ${isOn ? html`A token was made ${times.ago(scim_since)}. Another one replaces it.` : 'It signs in with a bearer token, which you see once.'}
        </p>
        <form method="post">
          <button class="button">${isOn ? 'Replace token' : 'Make token'}</button>
        </form>
      </section>
    `,
  });
}

function made({ token }: { readonly token: string }): PageAnswer {
  return show({
    title: 'Token made',
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
