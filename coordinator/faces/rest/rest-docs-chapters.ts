import { copyable } from './rest-docs-calls.ts';
import { escapeHtml } from './rest-docs-text.ts';

/** What stands beside the operations: how to begin, the client, the assistants. */

const settings = (baseUrl: string): string => `export ANTIPODE_URL=${baseUrl} ANTIPODE_TOKEN=svc_…`;

export const beginning = (baseUrl: string): string => `<h2 id="begin">How to begin</h2>
<p>Make a token on the page <strong>Tokens</strong> of your account. Every example below takes the address and the token from these two:</p>
${copyable('Address and token', settings(baseUrl))}
${copyable('The first call', 'curl -sS --fail-with-body "$ANTIPODE_URL/api/v1/me" -H "Authorization: Bearer $ANTIPODE_TOKEN"')}
<p class="faint">Everything is on this one page: the search of your browser finds every operation, field, key and code, also in what is folded up.</p>`;

const install = (baseUrl: string): string => `curl -fsS --create-dirs -o ~/.local/bin/antipode.mjs ${baseUrl}/downloads/antipode.mjs
chmod +x ~/.local/bin/antipode.mjs && ln -sf antipode.mjs ~/.local/bin/antipode
antipode login ${baseUrl}`;

const uses = `antipode monitors create --type https --target https://shop.example/ --name Shop --interval-s 60
antipode monitors status Shop
antipode incidents list --state open --fields monitor_name,started_at,cause
antipode maintenance create --monitor Shop --for 10m
antipode run --beat https://antipode.example/beat/KEY -- /usr/local/bin/backup --all`;

export const clientChapter = (baseUrl: string): string => `<h2 id="client">The command-line client</h2>
<p>One file for Node 20 or later. One command is one call; on a terminal it prints tables, in a pipe the JSON of the API.</p>
${copyable('Install', install(baseUrl))}
${copyable('Use', uses)}
<p>For an id the end of one, as tables show it, or an exact name serves as well. <code>antipode --help</code> lists every command, <code>antipode help config https</code> every key of a config.</p>`;

const server = (baseUrl: string): string =>
  JSON.stringify(
    {
      mcpServers: {
        antipode: { command: 'node', args: ['/path/to/antipode-mcp.mjs'], env: { ANTIPODE_URL: baseUrl, ANTIPODE_TOKEN: 'svc_…' } },
      },
    },
    null,
    2,
  );

export const assistantsChapter = (baseUrl: string): string => `<h2 id="assistants">Assistants</h2>
<p>An assistant that speaks the Model Context Protocol takes one address: it sends you here to sign in and to allow it; nothing is installed and no token is copied.</p>
${copyable('Connect', `${baseUrl}/mcp`)}
<p>One without such connections reads monitors, incidents, maintenance and groups through a local server, one file for Node 20 or later. A token of scope <code>read</code> is enough.</p>
${copyable('Get it', `curl -fsSO ${baseUrl}/downloads/antipode-mcp.mjs`)}
${copyable('Claude Code', `claude mcp add antipode --env ANTIPODE_URL=${baseUrl} --env ANTIPODE_TOKEN=svc_… -- node /path/to/antipode-mcp.mjs`)}
${copyable('Claude Desktop, Cursor and others: in their settings file', server(baseUrl))}
<p class="faint">VS Code calls <code>${escapeHtml('mcpServers')}</code> <code>servers</code>.</p>`;
