import type { OutputOf } from '../../shared/api/operation.ts';
import { listPingKeys } from '../../shared/api/ping-keys.ts';
import { getToken, listTokens, revokeToken } from '../../shared/api/tokens.ts';
import { capital, listInWords } from '../../shared/base/text.ts';
import { clientLines, connectedAssistants } from '../assistants/pages.ts';
import { proofFirst } from '../people/pages/parts.ts';
import { confirm } from '../web/confirm.ts';
import {
  copyable,
  heading,
  linkButton,
  moreLink,
  nothing,
  notice,
  rowAct,
} from '../web/elements.ts';
import { formOf } from '../web/form-data.ts';
import {
  checkField,
  choiceField,
  type FormState,
  formSummary,
  selectField,
  textField,
} from '../web/forms.ts';
import { html, type Part, query } from '../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../web/page.ts';
import { acts, stacked, stepTable } from '../web/tables.ts';
import { createToken } from './contract.ts';

/** Tokens: one's own, and for owners and admins everyone's. */
export const tokensPage = forMembers.get('/tokens', async (request) => {
  const { ask, query: asked } = request;
  const [{ items, next_cursor }, assistants] = await Promise.all([
    ask(listTokens, asked.cursor === undefined ? {} : { cursor: asked.cursor }),
    connectedAssistants(request),
  ]);
  const isPart = next_cursor !== null || assistants.isPart || asked.cursor !== undefined;
  const below = manages(request)
    ? 'A token acts as the member who created it. It is revoked when they leave or change role.'
    : 'These are your tokens. They are revoked when you leave or change role.';
  return show({
    title: 'API & assistants',
    place: 'tokens',
    main: html`
        ${heading({
          sentence: isPart
            ? 'Tokens and assistants with access'
            : accessSentence(items.filter(({ over }) => !over).length, assistants.count),
          below: html`For scripts, deployments and assistants. <a href="/api/v1/docs">API reference</a>`,
          actions: html`
            ${linkButton('/webhooks', 'Webhooks')}
            ${request.may(listPingKeys) && linkButton('/ping-keys', 'Ping keys')}
            ${items.length > 0 && add}
          `,
        })}
        <section>
          <div><h2>API tokens</h2><p class="soft">${below}</p></div>
          ${
            items.length === 0
              ? nothing(
                  'tokens',
                  'A token lets a program act as you: the command line, a script, a deployment.',
                  add,
                )
              : html`
              ${stepTable(items.map((each) => rowOf(each, request)))}
              ${
                next_cursor !== null &&
                moreLink(`/tokens${query({ cursor: next_cursor })}`, 'Earlier')
              }
            `
          }
        </section>
        ${assistants.section}
        ${clientLines(request.with.baseUrl())}
      `,
  });
});

/** `4 tokens and 3 assistants have access` */
function accessSentence(tokens: number, assistants: number): string {
  const some = (count: number, one: string) =>
    count === 0 ? [] : [`${count} ${one}${count === 1 ? '' : 's'}`];
  const all = [...some(tokens, 'token'), ...some(assistants, 'assistant')];
  return all.length === 0
    ? 'No program has access yet'
    : `${capital(listInWords(all))} ${tokens + assistants === 1 ? 'has' : 'have'} access`;
}

function manages({ may }: MembersRequest): boolean {
  return may({ access: 'manage', whileEnding: true });
}

type Token = OutputOf<typeof getToken>;

function rowOf(token: Token, request: MembersRequest) {
  const { id, name, shown, over } = token;
  return {
    id: `token-${id}`,
    Name: stacked(html`<b>${name}</b>`, html`<code>${shown}…</code>`),
    Access: accessText(token),
    ...(manages(request) && { Owner: ownerOf(token) }),
    'Last used': usedOf(token, request),
    Expires: endOf(token, request),
    Revoke: acts(
      rowAct({
        symbol: 'delete',
        words: over ? 'Remove' : 'Revoke',
        of: name,
        href: `/tokens/${id}/revoke`,
      }),
    ),
  };
}

function accessText({ scope, manage_members }: Token): string {
  if (manage_members) return 'Read, write and manage members';
  return scope === 'read' ? 'Read' : 'Read and write';
}

function ownerOf({ own, owner }: Token): Part {
  return own ? 'You' : owner.name === '' ? owner.email : owner.name;
}

function usedOf({ last_used_at }: Token, { times }: MembersRequest): Part {
  return last_used_at === null ? '–' : times.ago(last_used_at);
}

function endOf({ expires_at, over }: Token, { times }: MembersRequest): Part {
  return expires_at === null
    ? html`<span class="usual">Never</span>`
    : over
      ? html`<span class="state state-verifying">Expired ${times.ago(expires_at)}</span>`
      : times.moment(expires_at);
}

const trail = [{ href: '/tokens', name: 'API & assistants' }];

const add = linkButton('/tokens/new', 'New token', { main: true, symbol: 'add' });

const day = 86_400_000;
const lives = [
  [7, '7 days'],
  [30, '30 days'],
  [90, '90 days'],
  [365, '1 year'],
] as const;

export const newTokenPages = forMembers.form('/tokens/new', (request) => ({
  fresh: () => proofFirst(request) ?? formOf({ scope: 'read', expires_at: '' }),
  shown: (state) => form(request, state),
  fields: ['name', 'scope', 'manage_members', 'expires_at'],
  act: async () => {
    const { form: sent, ask } = request;
    const ends = sent.value('expires_at') ?? '';
    const made = await ask(createToken, {
      name: sent.value('name') ?? '',
      scope: sent.value('scope') ?? '',
      manage_members: sent.value('manage_members') === 'true',
      ...(ends === '' ? {} : { expires_at: ends }),
    });
    return shown(request, made);
  },
}));

function form(request: MembersRequest, state: FormState): PageAnswer {
  const { caller, now, times } = request;
  const zone = caller.organisation.time_zone;
  const ends = lives.map(([days, label]) => ({
    value: dateIn(zone, now + days * day),
    label: `${label}, until ${times.text(now + days * day, 'day')}`,
  }));
  const scopes = [
    {
      value: 'read',
      label: 'Read',
      help: 'Reads monitors, incidents and everything else you can see.',
    },
    {
      value: 'read_write',
      label: 'Read and write',
      help:
        caller.role === 'viewer'
          ? 'You are a viewer, so your tokens can only read.'
          : 'Also creates, edits and deletes whatever you can.',
    },
  ];
  return show({
    title: 'New token',
    place: 'tokens',
    status: state.status,
    main: html`
      ${heading({
        sentence: 'New token',
        below: `It acts as you in ${caller.organisation.name}.`,
        trail,
      })}
      ${formSummary(state)}
      <form class="form" method="post">
        ${textField({
          name: 'name',
          label: 'Name',
          required: true,
          autofocus: true,
          autocomplete: 'off',
          placeholder: 'Deployments',
          help: 'Helps you find the token to revoke.',
          state,
        })}
        ${choiceField({ name: 'scope', label: 'Access', choices: scopes, state })}
        ${
          caller.role === 'owner' &&
          checkField({
            name: 'manage_members',
            label: 'Also manage members',
            help: 'For a token that may write. Anyone who has it can invite people, change their roles and remove them, except owners.',
            state,
          })
        }
        ${selectField({
          name: 'expires_at',
          label: 'Expires',
          choices: [{ value: '', label: 'Never' }, ...ends],
          state,
        })}
        <div class="actions">
          <button class="button button-main">Create token</button>
          ${linkButton('/tokens', 'Cancel')}
        </div>
      </form>
    `,
  });
}

/**
 * A day in the organisation's time zone, at whose beginning the token ends: the same all day long,
 * so that a form that is shown again still has it.
 */
function dateIn(zone: string, at: number): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(at);
}

/** Shown once: only a fingerprint is stored. */
function shown(
  { with: { baseUrl } }: MembersRequest,
  { name, token }: { readonly name: string; readonly token: string },
): PageAnswer {
  const url = baseUrl();
  return show({
    title: 'Token created',
    place: 'tokens',
    headers: { 'cache-control': 'no-store' },
    main: html`
      ${heading({
        sentence: 'Copy your token now',
        below: html`You see <b>${name}</b> only once. Anyone who has it can act as you.`,
        trail,
      })}
      <div class="card stack">
        ${copyable(token, 'the token')}
        ${notice(
          'information',
          'Store it in a secret manager',
          'Keep it out of repositories and chats. If it leaks, revoke it here: it stops working at once.',
        )}
      </div>
      <section>
        <h2>Try it</h2>
        <div class="card stack">
          <p>With curl. The answer names the token’s owner:</p>
          ${copyable(
            `curl -H 'Authorization: Bearer ${token}' ${url}/api/v1/me`,
            'the command with curl',
          )}
          <p>With the command-line client. It needs Node 20 or later:</p>
          ${copyable(
            `curl -fsSO ${url}/downloads/antipode.mjs && ANTIPODE_URL=${url} ANTIPODE_TOKEN=${token} node antipode.mjs whoami`,
            'the command with antipode',
          )}
          <p class="soft">
            See <a href="/docs/command-line">the command line</a> and the${' '}
            <a href="/api/v1/docs">API reference</a>.
          </p>
        </div>
      </section>
      <p class="actions">${linkButton('/tokens', 'Done', { main: true })}</p>
    `,
  });
}

export const revokePages = forMembers.form('/tokens/:token_id/revoke', async (request) => {
  const { ask, path } = request;
  const token = await ask(getToken, { token_id: path.token_id });
  const { name, shown: begins, over } = token;
  return {
    fresh: () => proofFirst(request),
    shown: (state) =>
      confirm({
        state,
        title: `Revoke ${name}`,
        place: 'tokens',
        sentence: over ? `Remove ${name}?` : `Revoke ${name}?`,
        below: over
          ? 'It has expired. Removing it only clears this list.'
          : 'It stops working at once, for every program that uses it. You cannot undo this.',
        trail,
        facts: html`
        <dl class="card settings lines">
          <div class="setting">
            <dt>Starts with</dt>
            <dd><code>${begins}…</code></dd>
          </div>
          <div class="setting">
            <dt>Owner</dt>
            <dd>${ownerOf(token)}</dd>
          </div>
          <div class="setting">
            <dt>Access</dt>
            <dd>${accessText(token)}</dd>
          </div>
          <div class="setting">
            <dt>Last used</dt>
            <dd>${usedOf(token, request)}</dd>
          </div>
        </dl>
      `,
        act: over ? 'Remove token' : 'Revoke token',
      }),
    act: async () => {
      await ask(revokeToken, { token_id: path.token_id });
      return seeOther('/tokens', {
        said: over ? `Token ${name} removed.` : `Token ${name} revoked.`,
      });
    },
  };
});

export const tokenPages: readonly Page[] = [tokensPage, ...newTokenPages, ...revokePages];
