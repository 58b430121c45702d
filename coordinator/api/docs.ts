import { createHash } from 'node:crypto';
import { isRecord } from '../../shared/base/json.ts';
import { configChapter } from './config-schemas.ts';
import { callExamples, copyable, escapeHtml, prose } from './document-words.ts';
import { webhooksChapter } from './event-post.ts';
import {
  type ApiDocument,
  type OperationEntry,
  onceChapter,
  type Parameter,
  plansChapter,
  type Response,
  responseIn,
} from './openapi.ts';

/** The chapters beside the operations: first steps, the client, the assistants. */

export function beginning(baseUrl: string): string {
  return `<h2 id="begin">Get started</h2>
<p>Create a token under <strong>API &amp; assistants</strong> in your account. All examples below use these two variables:</p>
${copyable('Address and token', settings(baseUrl))}
${copyable('Your first call', 'curl -sS --fail-with-body "$ANTIPODE_URL/api/v1/me" -H "Authorization: Bearer $ANTIPODE_TOKEN"')}
<p class="faint">Everything is on this page. Your browser’s search finds every operation, field, key and code, also in folded parts.</p>`;
}

function settings(baseUrl: string): string {
  return `export ANTIPODE_URL=${baseUrl} ANTIPODE_TOKEN=svc_…`;
}

const uses = `antipode monitors create --type https --target https://shop.example/ --name Shop --interval-s 60
antipode monitors status Shop
antipode incidents list --state open --fields monitor_name,started_at,cause
antipode maintenance create --monitor Shop --for 10m
antipode run --ping https://antipode.example/beat/KEY -- /usr/local/bin/backup --all`;

export function clientChapter(baseUrl: string): string {
  return `<h2 id="client">Command-line client</h2>
<p>One file for Node 20 or later. Each command is one call. It prints tables on a terminal, and the API’s JSON in a pipe.</p>
${copyable('Install', install(baseUrl))}
${copyable('Use', uses)}
<p>Wherever an id is expected, you can give an exact name or the end of an id as tables show it. <code>antipode --help</code> lists every command, <code>antipode help config https</code> every key of a config.</p>`;
}

function install(baseUrl: string): string {
  return `curl -fsS --create-dirs -o ~/.local/bin/antipode.mjs ${baseUrl}/downloads/antipode.mjs
chmod +x ~/.local/bin/antipode.mjs && ln -sf antipode.mjs ~/.local/bin/antipode
antipode login ${baseUrl}`;
}

export function assistantsChapter(baseUrl: string): string {
  return `<h2 id="assistants">Assistants</h2>
<p>Give an assistant that supports the Model Context Protocol (MCP) this address. It asks you to sign in and to approve it. You install nothing and copy no token.</p>
${copyable('Connect', `${baseUrl}/mcp`)}
<p>An assistant that supports only local servers reads monitors, incidents, maintenance and groups through one file for Node 20 or later. A token of scope <code>read</code> is enough.</p>
${copyable('Download', `curl -fsSO ${baseUrl}/downloads/antipode-mcp.mjs`)}
${copyable('Claude Code', `claude mcp add antipode --env ANTIPODE_URL=${baseUrl} --env ANTIPODE_TOKEN=svc_… -- node /path/to/antipode-mcp.mjs`)}
${copyable('Claude Desktop, Cursor and others: settings file', server(baseUrl))}
<p class="faint">In VS Code, write <code>servers</code> instead of <code>mcpServers</code>.</p>`;
}

function server(baseUrl: string): string {
  return JSON.stringify(
    {
      mcpServers: {
        antipode: {
          command: 'node',
          args: ['/path/to/antipode-mcp.mjs'],
          env: { ANTIPODE_URL: baseUrl, ANTIPODE_TOKEN: 'svc_…' },
        },
      },
    },
    null,
    2,
  );
}

/**
 * The only script of the page: a copy button beside each text that is to be copied. Without it, one
 * click selects the text.
 */
export const docsScript = `
if (navigator.clipboard) for (const block of document.querySelectorAll('pre.copy')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', 'Copy: ' + (block.previousElementSibling?.textContent ?? 'the text'));
  const said = document.createElement('span');
  said.setAttribute('role', 'status');
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.textContent);
    said.textContent = 'Copied';
    setTimeout(() => { said.textContent = ''; }, 2000);
  });
  const line = document.createElement('p');
  line.className = 'copying';
  line.append(button, ' ', said);
  (block.previousElementSibling ?? block).before(line);
}
`;

/**
 * The whole style of the page: system fonts, no foreign host, light or dark as the reader's system.
 */
export const docsStyle = `
:root { color-scheme: light dark; --text: #1c2430; --faint: #55606e; --ground: #fff; --raised: #f4f6f8; --line: #d5dbe2; --link: #0b5fae;
  --get: #0b6b3a; --post: #0b5fae; --patch: #8a5300; --delete: #a82a2a; }
@media (prefers-color-scheme: dark) { :root { --text: #e5e9ee; --faint: #a5b0bd; --ground: #12161b; --raised: #1b2129; --line: #323b46;
  --link: #7db8f5; --get: #6fce9c; --post: #7db8f5; --patch: #e5b163; --delete: #f09090; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 1rem/1.55 system-ui, sans-serif; color: var(--text); background: var(--ground); }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--ground); padding: .5rem 1rem; z-index: 1; }
.page { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 78rem; margin: 0 auto; }
nav { padding: 1.5rem 1rem; border-right: 1px solid var(--line); position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; }
nav p { font-weight: 700; margin: 1.1rem 0 .2rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: .2rem 0; text-decoration: none; font-size: .92rem; }
nav a:hover { text-decoration: underline; }
main { padding: 1.5rem 2rem 6rem; min-width: 0; }
h1 { margin: 0 0 .3rem; font-size: 1.9rem; line-height: 1.2; }
h2 { margin: 3rem 0 .5rem; font-size: 1.45rem; }
h3 { margin: 0; font-size: 1.12rem; }
h4 { margin: 1.2rem 0 .3rem; font-size: .95rem; }
main > h3 { margin-top: 1.2rem; }
article { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem 1.2rem; margin: 1.2rem 0; }
.route { margin: .3rem 0 .6rem; overflow-wrap: anywhere; }
.method { font-weight: 700; margin-right: .4rem; }
.GET { color: var(--get); } .POST { color: var(--post); } .PATCH { color: var(--patch); } .DELETE { color: var(--delete); }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
code { overflow-wrap: break-word; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem; overflow-x: auto; margin: .4rem 0; }
.copy { user-select: all; clear: both; }
.copying { float: right; margin: .75rem 0 .3rem; font-size: .85rem; }
.copying button { font: inherit; color: var(--link); background: var(--ground); border: 1px solid var(--line); border-radius: .35rem; padding: .15rem .6rem; cursor: pointer; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
caption { text-align: left; font-weight: 700; font-size: .95rem; padding: .8rem 0 .2rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); }
thead th { color: var(--faint); font-weight: 600; }
tbody th { font-weight: 400; }
td p { margin: 0 0 .3rem; }
.faint { color: var(--faint); }
details { margin-top: .8rem; }
summary { cursor: pointer; font-weight: 600; padding: .2rem 0; }
@media (max-width: 50rem) {
  .page { display: block; }
  nav { position: static; max-height: 40vh; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem 1rem 4rem; }
  thead { position: absolute; left: -999rem; }
  tr { display: block; padding: .45rem 0; border-bottom: 1px solid var(--line); }
  th, td { display: inline; border: 0; padding: 0 .5rem 0 0; }
  table:not(.keys) td:nth-child(3) { white-space: nowrap; }
  table:not(.keys) td:nth-child(3)::before { content: "required: "; color: var(--faint); }
  td:last-child { display: block; }
  .keys td { display: block; }
  .plans thead { position: static; }
  .plans tr { display: table-row; }
  .plans th, .plans td, .plans td:last-child { display: table-cell; padding: .3rem .5rem .3rem 0; border-bottom: 1px solid var(--line); }
  table.plans td:nth-child(3)::before { content: none; }
}
@media print { nav, .skip { display: none; } .page { display: block; } article { break-inside: avoid; } }
`;

/**
 * The page may load nothing, and contain only this style and this script, which their hashes allow.
 */
export const docsSecurityPolicy = [
  "default-src 'none'",
  `style-src ${hashOf(docsStyle)}`,
  `script-src ${hashOf(docsScript)}`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

type Listed = { readonly method: string; readonly path: string; readonly entry: OperationEntry };

/**
 * The API document as one page for people: nothing from elsewhere, and without scripts only the
 * buttons are missing.
 */
/** `isAboutOpen`: the page about the installation itself is public. */
export function docsPage(document: ApiDocument, baseUrl: string, isAboutOpen = false): string {
  const listed: readonly Listed[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, entry]) => ({
      method: method.toUpperCase(),
      path,
      entry,
    })),
  );
  const under = (tag: string) => listed.filter(({ entry }) => entry.tags.includes(tag));
  const contents = document.tags
    .map(
      ({ name }) =>
        `<p><a href="#${anchor(name)}">${escapeHtml(name)}</a></p><ul>${under(name)
          .map(
            ({ entry }) =>
              `<li><a href="#${entry.operationId}">${escapeHtml(entry.summary)}</a></li>`,
          )
          .join('')}</ul>`,
    )
    .join('');
  const chapters = document.tags
    .map(
      ({ name, description }) =>
        `<h2 id="${anchor(name)}">${escapeHtml(name)}</h2><p>${prose(description)}</p>${under(name)
          .map((one) => operationPart(document, one))
          .join('')}`,
    )
    .join('');
  const objects = Object.entries(document.components.schemas)
    .map(([name, schema]) => componentPart(name, schema))
    .join('');
  const about = String(document.info.description)
    .split('\n\n')
    .map((paragraph) => `<p>${prose(paragraph)}</p>`)
    .join('');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Antipode API, version 1</title><style>${docsStyle}</style></head>
<body><a class="skip" href="#content">Skip to content</a><div class="page">
<nav aria-label="Contents"><p><a href="#begin">Get started</a></p><p><a href="#once">Retries and idempotency</a></p>${contents}<p><a href="#webhooks">Receive webhooks</a></p><p><a href="#config">Keys of a config</a></p><p><a href="#plans">Plans</a></p><p><a href="#client">Command-line client</a></p><p><a href="#assistants">Assistants</a></p><p><a href="#objects">Objects</a></p></nav>
<main id="content"><h1>Antipode API</h1><p class="faint">Version 1, document ${escapeHtml(String(document.info.version))}. For machines: <a href="/api/v1/openapi.json">openapi.json</a>.${isAboutOpen ? ' <a href="/about">Service status</a>' : ''}</p>
${beginning(baseUrl)}${about}${onceChapter()}${chapters}${webhooksChapter()}${configChapter()}${plansChapter()}${clientChapter(baseUrl)}${assistantsChapter(baseUrl)}<h2 id="objects">Objects</h2>${objects}</main></div><script>${docsScript}</script></body></html>`;
}

function anchor(tag: string): string {
  return `tag-${tag.toLowerCase().replaceAll(' ', '-')}`;
}

function operationPart(document: ApiDocument, { method, path, entry }: Listed): string {
  const responses = Object.entries(entry.responses).map(
    ([status, response]) => [status, responseIn(document, response)] as const,
  );
  const successes = responses.filter(([status]) => status < '300');
  const answered = successes.map(([status, response]) => successPart(status, response)).join('');
  const json = jsonOf(successes.at(-1)?.[1]);
  return `<article aria-labelledby="${entry.operationId}"><h3 id="${entry.operationId}">${escapeHtml(entry.summary)}</h3>
<p class="route"><span class="method ${method}">${method}</span><code>${escapeHtml(path)}</code> <span class="faint">${entry.operationId}</span></p>
${entry.description === undefined ? '' : `<p>${prose(entry.description)}</p>`}
${parameterTable(entry.parameters)}${requestPart(entry)}${callExamples({ method, path, operationId: entry.operationId, query: queryOf(entry), ...bodyOf(entry) })}${answered}${json ? example('Example of the answer', json.example) : textExample(successes.at(-1)?.[1])}
${refusalsPart(responses.filter(([status]) => status >= '300'))}</article>`;
}

function successPart(status: string, response: Response): string {
  const json = jsonOf(response);
  const what = json ? `, ${typeWords(json.schema)}` : '';
  return `<p>Answers <strong>${escapeHtml(status)}</strong>${what}. <span class="faint">${prose(response.description)}</span></p>`;
}

function jsonOf(
  part: { readonly content?: unknown } | undefined,
): Record<string, unknown> | undefined {
  const content = part && isRecord(part.content) ? part.content['application/json'] : undefined;
  return isRecord(content) ? content : undefined;
}

/** A schema in a few words, with links to the objects that it names. */
function typeWords(schema: unknown): string {
  const name = refersTo(schema);
  if (name !== undefined) return `<a href="#${escapeHtml(name)}">${escapeHtml(name)}</a>`;
  if (!isRecord(schema)) return 'anything';
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map(typeWords).join(' or ');
  if (Array.isArray(schema.enum))
    return schema.enum.map((value) => `<code>${escapeHtml(String(value))}</code>`).join(' or ');
  if (schema.type === 'array') {
    const most =
      typeof schema.maxItems === 'number' ? ` up to ${schema.maxItems.toLocaleString('en')}` : '';
    return `list of${most} ${typeWords(schema.items)}`;
  }
  if (schema.type === 'object' && schema.properties === undefined) return 'object with free keys';
  const bounds =
    schema.minimum === undefined
      ? lengthWords(schema)
      : ` from ${schema.minimum} to ${schema.maximum}`;
  return schema.type === undefined
    ? 'anything'
    : escapeHtml(`${schema.format ?? schema.type}${bounds}`);
}

function refersTo(schema: unknown): string | undefined {
  return isRecord(schema) && typeof schema.$ref === 'string'
    ? schema.$ref.replace('#/components/schemas/', '')
    : undefined;
}

function lengthWords({ minLength, maxLength }: Record<string, unknown>): string {
  return typeof maxLength !== 'number'
    ? ''
    : ` of ${typeof minLength === 'number' ? `${minLength} to` : 'up to'} ${maxLength.toLocaleString('en')}`;
}

function parameterTable(
  parameters: readonly (Parameter & { readonly description?: string })[],
): string {
  const shown = parameters.filter(({ in: where }) => where !== 'cookie');
  return shown.length === 0
    ? ''
    : table(
        'Parameters',
        shown
          .map((one) => row(`${one.name} (${one.in})`, one.schema, one.required, one.description))
          .join(''),
      );
}

function table(caption: string, rows: string): string {
  return `<div class="wide" tabindex="0" role="region" aria-label="${escapeHtml(caption)}"><table><caption>${escapeHtml(caption)}</caption><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Required</th><th scope="col">Meaning</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function row(
  name: string,
  schema: unknown,
  required: boolean,
  description: unknown,
  hasChapter = false,
): string {
  const initial =
    isRecord(schema) && schema.default !== undefined
      ? ` Default <code>${escapeHtml(JSON.stringify(schema.default))}</code>.`
      : '';
  // Further paragraphs are in a chapter of their own.
  const [first = ''] = typeof description === 'string' ? description.split('\n\n', 1) : [];
  const words = `${prose(first)}${hasChapter ? ' <a href="#config">Every key</a>' : ''}`;
  return `<tr><th scope="row"><code>${escapeHtml(name)}</code></th><td>${typeWords(schema)}</td><td>${required ? 'yes' : 'no'}</td><td>${words}${initial}</td></tr>`;
}

function requestPart({ requestBody }: OperationEntry): string {
  const json = jsonOf(requestBody);
  return json
    ? `<p>Body: ${typeWords(json.schema)}</p>${example('Example of the body', json.example)}`
    : '';
}

function example(label: string, value: unknown): string {
  return `<h4>${escapeHtml(label)}</h4><pre tabindex="0"><code>${escapeHtml(JSON.stringify(value, null, 2))}</code></pre>`;
}

function queryOf({ parameters }: OperationEntry): readonly string[] {
  return parameters
    .filter(({ in: where, required }) => where === 'query' && required)
    .map(({ name }) => name);
}

/** The body that the examples send; nothing where the operation takes none. */
function bodyOf({ requestBody }: OperationEntry): { readonly body?: unknown } {
  const json = jsonOf(requestBody);
  return json === undefined ? {} : { body: json.example };
}

/** An answer that is not JSON, unchanged. */
function textExample(part: { readonly content?: unknown } | undefined): string {
  const media = part && isRecord(part.content) ? Object.values(part.content)[0] : undefined;
  const text = isRecord(media) && typeof media.example === 'string' ? media.example : undefined;
  return text === undefined
    ? ''
    : `<h4>Example of the answer</h4><pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`;
}

function refusalsPart(responses: readonly (readonly [string, Response])[]): string {
  return `<details><summary>Refusals</summary><div class="wide" tabindex="0" role="region" aria-label="Refusals"><table><thead><tr><th scope="col">Status</th><th scope="col">Code and meaning</th></tr></thead><tbody>${responses
    .map(
      ([status, { description }]) =>
        `<tr><th scope="row">${escapeHtml(status)}</th><td>${description
          .split('\n\n')
          .map((words) => `<p>${prose(words)}</p>`)
          .join('')}</td></tr>`,
    )
    .join('')}</tbody></table></div></details>`;
}

function componentPart(name: string, schema: unknown): string {
  if (!isRecord(schema) || !isRecord(schema.properties)) return '';
  const required = Array.isArray(schema.required) ? schema.required : [];
  const words = typeof schema.description === 'string' ? `<p>${prose(schema.description)}</p>` : '';
  const rows = Object.entries(schema.properties).map(([key, field]) =>
    // A monitor's config has a chapter of its own; a channel's config depends on its kind.
    row(
      key,
      field,
      required.includes(key),
      isRecord(field) ? field.description : undefined,
      key === 'config' && name.startsWith('Monitor'),
    ),
  );
  return `<section id="${escapeHtml(name)}"><h3>${escapeHtml(name)}</h3>${words}${table(`Fields of ${name}`, rows.join(''))}</section>`;
}
