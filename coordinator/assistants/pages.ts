import type { OutputOf } from '../../shared/api/operation.ts';
import { listOwnOrganisations } from '../people/contract.ts';
import { entryCard, entryPage, proofFirst } from '../people/pages/parts.ts';
import { confirm } from '../web/confirm.ts';
import { copyable, linkButton, moreLink, notice, rowAct, tabs } from '../web/elements.ts';
import { formOf } from '../web/form-data.ts';
import {
  attempt,
  choiceField,
  type FormState,
  formSummary,
  freshForm,
  hiddenField,
  selectField,
} from '../web/forms.ts';
import { type Html, html, type Part, query, safeUrl } from '../web/html.ts';
import {
  forAnyone,
  forMembers,
  forPersons,
  type MembersRequest,
  type Page,
  type PageAnswer,
  type PersonsRequest,
  type ShownPage,
  seeOther,
} from '../web/page.ts';
import { acts, stacked, stepTable } from '../web/tables.ts';
import {
  connectAssistant,
  disconnectAssistant,
  getConnection,
  listConnections,
} from './contract.ts';
import type { AskedConsent } from './oauth-routes.ts';

/** The line to copy for each client. */
export function clientLines(url: string): Html {
  return html`
    <section id="connect">
      <h2>Connect a client</h2>
      <div class="card">
        ${tabs(
          'client',
          clientsOf(url).map(({ name, words, lines }) => ({
            title: name,
            body: html`
              <div class="stack">
                <p>${words}</p>
                ${lines.map((line) => copyable(line, `the line for ${name}`))}
              </div>
            `,
          })),
        )}
      </div>
    </section>
  `;
}

type Client = {
  readonly name: string;
  /** Where the lines go. */
  readonly words: Part;
  readonly lines: readonly string[];
};

/** Each takes the address of our MCP server, or a token, in its own way. */
function clientsOf(url: string): readonly Client[] {
  const mcp = `${url}/mcp`;
  const asJson = (value: object): string => JSON.stringify(value);
  return [
    {
      name: 'Claude',
      words: 'Settings › Connectors › Add custom connector. Paste this URL:',
      lines: [mcp],
    },
    {
      name: 'Claude Code',
      words: 'Run this command, then /mcp to sign in:',
      lines: [`claude mcp add --transport http antipode ${mcp}`],
    },
    {
      name: 'ChatGPT',
      words: 'Settings › Apps › Advanced: turn on developer mode. Create an app with this MCP URL:',
      lines: [mcp],
    },
    {
      name: 'VS Code',
      words: 'Run this command:',
      lines: [`code --add-mcp '${asJson({ name: 'antipode', type: 'http', url: mcp })}'`],
    },
    {
      name: 'Cursor',
      words: html`Put this into <code>~/.cursor/mcp.json</code>:`,
      lines: [asJson({ mcpServers: { antipode: { url: mcp } } })],
    },
    {
      name: 'curl',
      words: 'Create a token, then run:',
      lines: [`curl -H "Authorization: Bearer $ANTIPODE_TOKEN" ${url}/api/v1/monitors`],
    },
    {
      name: 'Command line',
      words: 'Needs Node 20 or later. It asks for a token:',
      lines: [
        `curl -fsS --create-dirs -o ~/.local/bin/antipode.mjs ${url}/downloads/antipode.mjs`,
        'chmod +x ~/.local/bin/antipode.mjs && ln -sf antipode.mjs ~/.local/bin/antipode',
        `antipode login ${url}`,
      ],
    },
  ];
}

/** Shown below the tokens. */
export async function connectedAssistants(
  request: MembersRequest,
): Promise<{ readonly section: Html; readonly count: number; readonly isPart: boolean }> {
  const { ask, may, query: asked } = request;
  const { items, next_cursor } = await ask(
    listConnections,
    asked.assistants === undefined ? {} : { cursor: asked.assistants },
  );
  const manages = may({ access: 'manage' });
  const more =
    next_cursor !== null && moreLink(`/tokens${query({ assistants: next_cursor })}`, 'Earlier');
  const section = html`
    <section id="assistants">
      <div>
        <h2>Connected assistants</h2>
        <p class="soft">
          ${
            items.length === 0
              ? 'None yet. An assistant asks you here before it can read or change anything.'
              : 'Each acts as the member who connected it.'
          }
        </p>
      </div>
      ${stepTable(items.map((each) => rowOf(each, request, manages)))}
      ${more}
    </section>
  `;
  const isPart = next_cursor !== null || asked.assistants !== undefined;
  return { section, count: items.length, isPart };
}

type Connection = OutputOf<typeof getConnection>;

function rowOf(connection: Connection, request: MembersRequest, manages: boolean) {
  const { id, client, redirect_host, created_at } = connection;
  return {
    id: `assistant-${id}`,
    Assistant: stacked(html`<b>${client}</b>`, redirect_host),
    Access: mayText(connection),
    ...(manages && { Owner: ownerOf(connection) }),
    'Last used': usedOf(connection, request),
    Connected: request.times.moment(created_at),
    Disconnect: acts(
      rowAct({
        symbol: 'delete',
        words: 'Disconnect',
        of: client,
        href: `/tokens/assistants/${id}/disconnect`,
      }),
    ),
  };
}

function mayText({ may_change, scope }: Connection): Part {
  return may_change
    ? 'Read and write'
    : scope === 'read'
      ? 'Read'
      : 'Read, as its owner is a viewer';
}

function ownerOf({ own, owner }: Connection): Part {
  return own ? 'You' : owner.name === '' ? owner.email : owner.name;
}

function usedOf({ last_used_at }: Connection, { times }: MembersRequest): Part {
  return last_used_at === null ? '–' : times.ago(last_used_at);
}

const trail = [{ href: '/tokens', name: 'API & assistants' }];

export const connectionPages = forMembers.form(
  '/tokens/assistants/:connection_id/disconnect',
  async (request) => {
    const {
      ask,
      path: { connection_id },
    } = request;
    const connection = await ask(getConnection, { connection_id });
    const { client, redirect_host, created_at } = connection;
    return {
      shown: (state) =>
        confirm({
          state,
          title: `Disconnect ${client}`,
          place: 'tokens',
          below: 'It loses access at once. You can connect it again later.',
          trail,
          facts: html`
        <dl class="card settings lines">
          <div class="setting">
            <dt>Redirects to</dt>
            <dd>${redirect_host}</dd>
          </div>
          <div class="setting">
            <dt>Owner</dt>
            <dd>${ownerOf(connection)}</dd>
          </div>
          <div class="setting">
            <dt>Access</dt>
            <dd>${mayText(connection)}</dd>
          </div>
          <div class="setting">
            <dt>Connected</dt>
            <dd>${request.times.moment(created_at)}</dd>
          </div>
          <div class="setting">
            <dt>Last used</dt>
            <dd>${usedOf(connection, request)}</dd>
          </div>
        </dl>
      `,
          act: 'Disconnect',
        }),
      act: async () => {
        await ask(disconnectAssistant, { connection_id });
        return seeOther('/tokens', { said: `${client} disconnected.` });
      },
    };
  },
);

const noStore = { 'cache-control': 'no-store' };

export const connectPage = forPersons.get('/connect/:secret', async (request) => {
  const { askOwn, path, cookies, signedIn, with: instruments } = request;
  const asked = await instruments.consents.asked({ id: path.secret ?? '', cookies });
  if (!asked) return over();
  const items = await opened(askOwn);
  if (items.length === 0) return nowhere();
  const organisation_id = signedIn.caller?.organisation.id ?? '';
  return (
    proofFirst(request) ??
    consentPage(request, asked, items, freshForm(formOf({ organisation_id, scope: 'read' })))
  );
});

function over(): ShownPage {
  return saying(
    'Request expired',
    'This request has expired',
    'It was answered already, is older than an hour, or started in another browser. Start again in your assistant.',
  );
}

function saying(title: string, sentence: string, words: Part, status = 404): ShownPage {
  return entryPage(
    title,
    entryCard(
      sentence,
      html`
        <p class="soft">${words}</p>
        <p class="actions">${linkButton('/', 'View monitors')}</p>
      `,
    ),
    {
      status,
      headers: noStore,
    },
  );
}

function nowhere(): ShownPage {
  return saying(
    'No organisation',
    'No organisation yet',
    'An assistant acts in an organisation. Ask an owner or admin to invite you.',
    403,
  );
}

type Own = OutputOf<typeof listOwnOrganisations>['items'][number];

async function opened(askOwn: PersonsRequest['askOwn']): Promise<readonly Own[]> {
  return (await askOwn(listOwnOrganisations)).items.filter(({ wants }) => wants === null);
}

function consentPage(
  request: PersonsRequest,
  asked: AskedConsent,
  own: readonly Own[],
  state: FormState,
): ShownPage {
  const { person } = request.signedIn;
  return entryPage(
    'Connect an assistant',
    entryCard(
      html`Connect ${asked.client}?`,
      html`
        <p class="soft">
          “${asked.client}” wants access to your account, ${person.email}. It chose this name itself.
        </p>
        <dl class="sunk">
          <dt>Redirects to</dt>
          <dd>${destination(asked)}</dd>
        </dl>
      `,
      warning(asked),
      formSummary(state),
      html`
        <form class="form" method="post">
          ${place(own, state)}
          ${permission(asked, own, state)}
          <div class="actions">
            <button class="button button-main" name="act" value="allow">Connect</button>
            <button class="button" name="act" value="refuse">Refuse</button>
          </div>
        </form>
        <p class="entry-foot">
          You and the owners and admins of the organisation can disconnect it at any time under API
          &amp; assistants.
        </p>
      `,
    ),
    { status: state.status, headers: noStore },
  );
}

/** Where the answer goes, which cannot be faked: a name can be anyone's. */
function destination({ way }: AskedConsent): Html {
  return way.is === 'site'
    ? html`<b>${way.host}</b>`
    : way.is === 'machine'
      ? html`<b>A program on this computer</b> <span class="note">${way.host}</span>`
      : html`<b>A program on this device</b> <span class="note">${way.host}:</span>`;
}

function warning({ way, client }: AskedConsent): Html | false {
  return (
    way.is !== 'site' &&
    notice(
      'verifying',
      'Did you start this yourself?',
      html`Any program on this device can claim to be ${client}. If you did not start it, refuse.`,
    )
  );
}

function place(own: readonly Own[], state: FormState): Html {
  const [only] = own;
  if (own.length === 1 && only)
    return html`
      ${hiddenField('organisation_id', only.id)}
      <div class="field">
        <p class="field-label">Organisation</p>
        <p>${only.name}</p>
      </div>
    `;
  const named = (each: Own): string => (mayChange(each) ? each.name : `${each.name} (read only)`);
  return selectField({
    name: 'organisation_id',
    label: 'Organisation',
    state,
    choices: own.map((each) => ({ value: each.id, label: named(each) })),
  });
}

function mayChange({ role }: Own): boolean {
  return role !== 'viewer';
}

function permission(asked: AskedConsent, own: readonly Own[], state: FormState): Html {
  const offered = asked.wants === 'read_write' && own.some(mayChange);
  if (!offered) {
    const why =
      asked.wants === 'read'
        ? 'It asks for no more.'
        : 'You are a viewer, so your assistants can only read.';
    return html`
      ${hiddenField('scope', 'read')}
      <div class="field">
        <p class="field-label">Access</p>
        <p>Read monitors, incidents and everything else you can see. ${why}</p>
      </div>
    `;
  }
  return choiceField({
    name: 'scope',
    label: 'Access',
    state,
    choices: [
      {
        value: 'read',
        label: 'Read',
        help: 'Reads monitors, incidents and everything else you can see.',
      },
      {
        value: 'read_write',
        label: 'Read and write',
        help: 'Also creates, edits and deletes monitors, groups and maintenance that you can.',
      },
    ],
  });
}

export const connect = forPersons.post('/connect/:secret', async (request) => {
  const { form, path, cookies, with: instruments } = request;
  const of = { id: path.secret ?? '', cookies };
  const asked = await instruments.consents.asked(of);
  if (!asked) return over();
  if (form.value('act') === 'allow') return connected(request, asked);
  const to = await instruments.consents.refuse(of);
  return to === undefined
    ? over()
    : goOn(to, `${asked.client} is not connected`, 'You refused its request.');
});

async function connected(request: PersonsRequest, asked: AskedConsent): Promise<PageAnswer> {
  const { askOwn, form, path, cookies, signedIn, with: instruments } = request;
  const of = { id: path.secret ?? '', cookies };
  const { client_id, client, way } = asked;
  const scope =
    form.value('scope') === 'read_write' && asked.wants === 'read_write' ? 'read_write' : 'read';
  const input = {
    organisation_id: form.value('organisation_id'),
    scope,
    client_id,
    client,
    redirect_host: way.host,
  };
  const tried = await attempt(form, () => askOwn(connectAssistant, input), [
    'organisation_id',
    'scope',
  ]);
  if ('refused' in tried) return consentPage(request, asked, await opened(askOwn), tried.refused);
  const to = await instruments.consents.allow(of, {
    connection: tried.done.id,
    user: signedIn.person.user,
    scope,
  });
  return to === undefined
    ? over()
    : goOn(
        to,
        `${client} is connected`,
        'You return to it now. You can close this page afterwards.',
      );
}

/**
 * Back to the client, through the address that issues the code. A form may lead only to our own
 * site, and the code goes elsewhere, so a page answers, which goes on by itself.
 */
function goOn(to: string, sentence: string, words: Part): ShownPage {
  return entryPage(
    'Going back',
    entryCard(
      sentence,
      html`
        <p class="soft">${words}</p>
        <p class="actions"><a class="button button-main" href="${safeUrl(to)}">Go back</a></p>
      `,
    ),
    { headers: { ...noStore, refresh: `0; url=${to}` } },
  );
}

const failures: Readonly<Record<string, readonly [string, string]>> = {
  invalid_client: [
    'Unknown assistant',
    'We do not know the client ID that it sent. Remove the connector in the assistant and add it again.',
  ],
  invalid_client_metadata: [
    'Invalid client metadata',
    'The metadata of this assistant is not valid. Only its maker can fix that.',
  ],
  invalid_redirect_uri: [
    'Unknown redirect address',
    'The assistant asks to return to an address that it did not register. We sent nothing there.',
  ],
  invalid_target: [
    'Wrong address',
    'The assistant asks for another service. Use the address under API & assistants.',
  ],
};

/**
 * A failure that could not be reported to the client. The words are ours, whatever the address
 * says.
 */
export const connectFailed = forAnyone.get('/connect/failed', ({ query }) => {
  const why = query.why ?? '';
  const [sentence, words] = (Object.hasOwn(failures, why) ? failures[why] : undefined) ?? [
    'The assistant could not be connected',
    'Its request was not valid or has expired. Start again in the assistant.',
  ];
  return saying('Not connected', sentence, words, 400);
});

export const connectPages: readonly Page[] = [connectFailed, connectPage, connect];
