import type { OutputOf } from '../../shared/api/operation.ts';
import { emailForm, entryCard, entryPage, nextOf, proofFirst } from '../people/pages/parts.ts';
import { confirm } from '../web/confirm.ts';
import { copyable, heading, linkButton, notice, stateMark } from '../web/elements.ts';
import { formOf } from '../web/form-data.ts';
import {
  checkField,
  type FormState,
  formSummary,
  freshForm,
  hiddenField,
  refuseUnlessMay,
  shownField,
  textArea,
  textField,
} from '../web/forms.ts';
import { type Html, html, icon, query } from '../web/html.ts';
import { forAnyone, forMembers, type PageAnswer, seeOther, show } from '../web/page.ts';
import {
  checkSignInDomain,
  findSignInProvider,
  removeSignInProvider,
  setSignInProvider,
  showSignInProvider,
} from './contract.ts';

const path = '/organisation/sign-in';
const trail = [{ href: '/organisation', name: 'Organisation' }];

type Shown = OutputOf<typeof showSignInProvider>;

export const providerPages = forMembers.form(path, async (request) => {
  const { ask, form } = request;
  const refused = refuseUnlessMay(request, showSignInProvider) ?? proofFirst(request);
  if (refused) return { shown: () => refused, act: async () => refused };
  const own = await ask(showSignInProvider);
  const { provider } = own;
  return {
    fresh: () =>
      formOf({
        issuer: provider?.issuer,
        client_id: provider?.client_id,
        groups_claim: provider?.groups_claim ?? 'groups',
        group_roles: provider?.group_roles,
        domain: provider?.domain,
        only_way: provider?.only_way,
      }),
    shown: (state: FormState) => settings(own, state, undefined),
    fields: [
      'issuer',
      'client_id',
      'client_secret',
      'groups_claim',
      'group_roles',
      'domain',
      'only_way',
    ],
    act: async () => {
      const of = (name: string): string => form.value(name) ?? '';
      const secret = of('client_secret');
      const { proved } = await ask(setSignInProvider, {
        issuer: of('issuer'),
        client_id: of('client_id'),
        ...(secret === '' ? {} : { client_secret: secret }),
        groups_claim: of('groups_claim'),
        group_roles: of('group_roles'),
        domain: of('domain'),
        only_way: form.value('only_way') !== undefined,
      });
      return seeOther(path, {
        said: proved ? 'Sign-in provider saved.' : 'Saved. Now add the DNS record.',
      });
    },
  };
});

export const checkProviderDomain = forMembers.post(`${path}/check`, async ({ ask }) => {
  const { proved, texts } = await ask(checkSignInDomain);
  if (proved) return seeOther(path, { said: 'Domain confirmed. Members can sign in now.' });
  const own = await ask(showSignInProvider);
  const { provider } = own;
  return settings(
    own,
    freshForm(formOf({ ...provider, proved_at: undefined, scim: undefined })),
    texts,
  );
});

function settings(
  { provider, answer_address, logout_address }: Shown,
  state: FormState,
  texts: readonly string[] | undefined,
): PageAnswer {
  const isAwaited = provider !== null && provider.proved_at === null;
  return show({
    title: 'Sign-in provider',
    place: 'organisation',
    status: state.status,
    main: html`
      ${heading({
        sentence: 'Sign-in provider',
        below: provider?.proved_at
          ? html`
            ${stateMark('up', 'Connected')} <span class="softer">·</span>${' '}
            Members with an address of ${provider.domain} sign in
            at ${new URL(provider.issuer).host}.
          `
          : 'Members sign in at your OpenID Connect provider. Their groups there give them their role here.',
        trail,
        actions: html`
          ${provider?.proved_at && linkButton(`${path}/provisioning`, 'Provisioning (SCIM)')}
          ${provider !== null && linkButton(`${path}/remove`, 'Remove', { symbol: 'delete', danger: true })}
        `,
      })}
      ${formSummary(state)}
      ${isAwaited && proof(provider, texts)}
      <form class="form" method="post">
        <div class="card stack">
        <h2>At the provider</h2>
        <p class="soft">Register Antipode there as a web application with these addresses.</p>
        ${shownField('Redirect address', copyable(answer_address, 'the redirect address'))}
        ${shownField('Back-channel logout address', copyable(logout_address, 'the logout address'))}
        </div>
        <div class="card stack">
        <h2>In Antipode</h2>
        ${textField({
          name: 'issuer',
          label: 'Issuer',
          state,
          required: true,
          autocomplete: 'off',
          inputmode: 'url',
          placeholder: 'https://login.example.com',
          help: 'As given in /.well-known/openid-configuration. It must be reachable from the internet.',
        })}
        ${textField({ name: 'client_id', label: 'Client ID', state, required: true, autocomplete: 'off' })}
        ${textField({
          name: 'client_secret',
          label: 'Client secret',
          type: 'password',
          state,
          required: provider === null,
          autocomplete: 'off',
          ...(provider !== null && {
            placeholder: '••••••••',
            help: 'Stored. Leave it empty to keep it.',
          }),
        })}
        ${textField({
          name: 'domain',
          label: 'E-mail domain',
          state,
          required: true,
          autocomplete: 'off',
          placeholder: 'example.com',
          help: 'The provider signs in addresses of this domain only. A DNS record proves that it is yours.',
        })}
        ${textArea({
          name: 'group_roles',
          label: 'Roles of groups',
          state,
          required: false,
          placeholder: 'sre = admin',
          help: html`
            A line for each group; <code>*</code> is everyone. Members in none lose access.
          `,
        })}
        ${textField({
          name: 'groups_claim',
          label: 'Groups claim',
          state,
          required: true,
          autocomplete: 'off',
        })}
        ${
          provider?.proved_at &&
          checkField({
            name: 'only_way',
            label: 'Members sign in only this way',
            state,
            help: 'Owners keep their other ways in, so that a provider that fails locks nobody out.',
          })
        }
        </div>
        <div class="actions">
          <button class="button button-main">Save</button>
          ${linkButton('/organisation', 'Cancel')}
        </div>
      </form>
    `,
  });
}

function proof(
  { domain, record_name, record_text }: NonNullable<Shown['provider']>,
  texts: readonly string[] | undefined,
): Html {
  return html`
    <form class="card form" method="post" action="/organisation/sign-in/check">
      <h2>Confirm ${domain}</h2>
      <p class="soft">Nobody can sign in before the DNS of ${domain} has this TXT record.</p>
      ${shownField('Name', copyable(record_name, 'the name of the record'))}
      ${shownField('Text', copyable(record_text, 'the text of the record'))}
      ${
        texts !== undefined &&
        notice(
          'down',
          texts.length === 0 ? 'No such record yet' : 'The record has another text',
          texts.length === 0
            ? 'A new record can take minutes to appear, with some providers hours.'
            : texts.slice(0, 5).join(', '),
        )
      }
      <div class="actions"><button class="button">${icon('again')}Check record</button></div>
    </form>
  `;
}

export const removeProviderPages = forMembers.form(`${path}/remove`, (request) => ({
  fresh: () => refuseUnlessMay(request, removeSignInProvider) ?? proofFirst(request),
  shown: (state) =>
    confirm({
      title: 'Remove the sign-in provider',
      place: 'organisation',
      below:
        'Sessions of members who signed in with it end. Members without a password need another way in.',
      trail: [...trail, { href: path, name: 'Sign-in provider' }],
      state,
      act: html`<button class="button button-danger">${icon('delete')}Remove</button>`,
    }),
  fields: [],
  act: async () => {
    await request.ask(removeSignInProvider);
    return seeOther(path, { said: 'Sign-in provider removed.' });
  },
}));

/** By the domain of an address. */
export const findProviderPages = forAnyone.form('/sign-in/provider', (request) => {
  const next = nextOf(request.query.next ?? request.form.value('next'));
  return {
    fresh: () => formOf({ next }),
    shown: (state) => search(state, next),
    fields: ['email'],
    act: async () => {
      const email = request.form.value('email') ?? '';
      const { found } = await request.askAsVisitor(findSignInProvider, { email });
      return found === null ? search(freshForm(request.form), next, true) : leading(found, next);
    },
  };
});

function search(state: FormState, next: string, isUnknown = false): PageAnswer {
  return entryPage(
    'Sign in',
    entryCard(
      'Sign in with your organisation',
      formSummary(state),
      isUnknown &&
        notice('down', 'No provider', 'No organisation here has a provider for this address.'),
      emailForm({
        state,
        action: '/sign-in/provider',
        fields: hiddenField('next', next),
        verb: 'Continue',
        beside: linkButton(`/sign-in${query({ next })}`, 'Sign in another way'),
      }),
    ),
    { status: state.status },
  );
}

/** A form may lead only to our own site, so a page with a link answers. */
function leading(
  { key, name }: { readonly key: string; readonly name: string },
  next: string,
): PageAnswer {
  return entryPage(
    'Sign in',
    entryCard(
      'Sign in with your organisation',
      html`
        <p class="actions">
          ${linkButton(`/sign-in/provider/${key}${query({ next })}`, `Continue to ${name}`, { main: true })}
        </p>
      `,
    ),
  );
}
