import { innerOperations } from '../../../../shared/api/inner/inner-index.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { type Html, html, type Part, query, safeUrl } from '../web-html.ts';
import { icon } from '../web-icons.ts';
import { heading, linkButton } from '../web-layout.ts';
import { type MembersRequest, type Page, seeOther, show } from '../web-page.ts';

const { listConnections, getConnection, disconnectAssistant } = innerOperations;

type Connection = OutputOf<typeof getConnection>;

const mayText = ({ may_change, scope }: Connection): Part =>
  may_change ? 'may look and change' : scope === 'read' ? 'may look' : 'may look, as its owner is a viewer';

const ownerOf = ({ own, owner }: Connection): Part => (own ? 'you' : owner.name === '' ? owner.email : owner.name);

const usedOf = ({ last_used_at }: Connection, { times }: MembersRequest): Part =>
  last_used_at === null ? 'not yet' : times.ago(last_used_at);

const rowOf = (connection: Connection, request: MembersRequest, manages: boolean): Html => {
  const { id, client, redirect_host, created_at } = connection;
  return html`<tr id="assistant-${id}" data-row><td data-label="Assistant"><span class="stacked"><b>${client}</b><span class="softer">${redirect_host}</span></span></td><td data-label="May">${mayText(connection)}</td>${
    manages && html`<td data-label="Of">${ownerOf(connection)}</td>`
  }<td data-label="Used">${usedOf(connection, request)}</td><td data-label="Connected">${request.times.moment(created_at)}</td><td class="number"><a class="button" href="/tokens/assistants/${id}/disconnect">Disconnect<span class="unseen"> ${client}</span></a></td></tr>`;
};

const address = (url: string): Html =>
  html`<p class="copyable"><code>${url}</code><button class="button" type="button" data-scripts data-copy="${url}" hidden>${icon('copy')}Copy<span class="unseen"> the address</span></button></p>`;

/** What stands below the tokens: assistants that somebody connected, and how to connect one. */
export const connectedAssistants = async (request: MembersRequest): Promise<Html> => {
  const { ask, may, query: asked, with: instruments } = request;
  const { items, next_cursor } = await ask(listConnections, asked.assistants === undefined ? {} : { cursor: asked.assistants });
  const manages = may({ access: 'manage' });
  const more =
    next_cursor !== null &&
    html`<p class="actions pages-more"><a class="button" rel="next" href="${safeUrl(`/tokens${query({ assistants: next_cursor })}`)}">Earlier</a></p>`;
  return html`<section class="after" id="assistants"><h2>Connected assistants</h2>${
    items.length > 0 &&
    html`<div class="table-card"><table class="cards"><thead><tr><th scope="col">Assistant</th><th scope="col">May</th>${manages && html`<th scope="col">Of</th>`}<th scope="col">Used</th><th scope="col">Connected</th><th scope="col"><span class="unseen">Disconnect</span></th></tr></thead><tbody>${items.map((each) => rowOf(each, request, manages))}</tbody></table></div>${more}`
  }<div class="card stack after-table"><p>${
    items.length === 0
      ? 'Claude, ChatGPT, an editor: an assistant can ask about your monitors, and change them if you let it. Give it'
      : 'To connect another one, give it'
  } this address as a connector (an MCP server); it then asks you here what it may.</p>${address(`${instruments.baseUrl()}/mcp`)}</div></section>`;
};

const trail = [{ href: '/tokens', name: 'Tokens' }];

export const disconnectPage: Page = {
  method: 'GET',
  path: '/tokens/assistants/:connection_id/disconnect',
  needs: 'member',
  answer: async (request) => {
    const connection = await request.ask(getConnection, { connection_id: request.path.connection_id });
    const { client, redirect_host, created_at } = connection;
    return show({
      title: `Disconnect ${client}`,
      place: 'tokens',
      main: html`${heading({ sentence: `Disconnect ${client}?`, below: 'Its next call is refused. It can ask to be connected again.', trail })}
<dl class="card settings"><div class="setting"><dt>Returns to</dt><dd>${redirect_host}</dd></div><div class="setting"><dt>Of</dt><dd>${ownerOf(connection)}</dd></div><div class="setting"><dt>May</dt><dd>${mayText(connection)}</dd></div><div class="setting"><dt>Connected</dt><dd>${request.times.moment(created_at)}</dd></div><div class="setting"><dt>Used</dt><dd>${usedOf(connection, request)}</dd></div></dl>
<form class="actions after" method="post"><button class="button button-danger">${icon('delete')}Disconnect it</button>${linkButton('/tokens', 'Leave it')}</form>`,
    });
  },
};

export const disconnect: Page = {
  method: 'POST',
  path: '/tokens/assistants/:connection_id/disconnect',
  needs: 'member',
  answer: async ({ ask, path }) => {
    const { client } = await ask(getConnection, { connection_id: path.connection_id });
    await ask(disconnectAssistant, { connection_id: path.connection_id });
    return seeOther('/tokens', { said: `${client} is disconnected; its next call is refused.` });
  },
};

export const connectionPages: readonly Page[] = [disconnectPage, disconnect];
