import { createHash } from 'node:crypto';
import { isRecord } from '../../shared/base/json.ts';
import { configChapter } from './config-schemas.ts';
import { callExamples, copyable, escapeHtml, prose } from './document-words.ts';
import {
  type ApiDocument,
  type OperationEntry,
  onceChapter,
  type Parameter,
  plansChapter,
  type Response,
  responseIn,
} from './openapi.ts';

/** What a page of the reference is about, and its content without a frame. */
type Part = {
  readonly name: string;
  readonly title: string;
  readonly body: string;
};

/** The API document for people: an index, and a page for each operation, object and chapter. */
export type Reference = {
  /** @param words only what has all of them; everything without any. */
  readonly index: (words: string) => string;
  readonly page: (name: string) => string | undefined;
};

/** Where the index and its pages stand. */
const place = '/api/v1/docs';

/** `isAboutOpen`: the page about the installation itself is public. */
export function createReference(
  document: ApiDocument,
  baseUrl: string,
  isAboutOpen = false,
): Reference {
  const listed: readonly Listed[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, entry]) => ({
      method: method.toUpperCase(),
      path,
      entry,
    })),
  );
  const operations = listed.map((one) => ({ ...one, part: operationPart(document, one) }));
  const objects = Object.keys(document.components.schemas).flatMap(
    (name) => objectPart(document, name) ?? [],
  );
  const chapters: readonly Part[] = [
    { name: 'config', title: 'Keys of a config', body: configChapter() },
    { name: 'plans', title: 'Plans', body: plansChapter() },
  ];
  const parts = new Map(
    [...operations.map(({ part }) => part), ...objects, ...chapters].map((part) => [
      part.name,
      part,
    ]),
  );
  const texts = new Map<Part, string>();
  const has = (words: readonly string[]) => (part: Part) => {
    const text = texts.get(part) ?? plainText(part);
    texts.set(part, text);
    return words.every((word) => text.includes(word));
  };
  const navigation = (current?: string) => contentsOf(document, listed, current);

  return {
    page: (name) => {
      const part = parts.get(name);
      return part && frame(part.title, `${upwards}${part.body}`, navigation(name));
    },
    index: (asked) => {
      const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
      const isFound = has(words);
      const found = document.tags.map(({ name, description }) => ({
        name,
        description,
        operations: operations.filter(
          ({ entry, part }) => entry.tags.includes(name) && isFound(part),
        ),
      }));
      const list = [
        ...found.map(tagPart),
        linkList('objects', 'Objects', objects.filter(isFound)),
        linkList('chapters', 'More', chapters.filter(isFound)),
      ].join('');
      const head = `<h1>Antipode API</h1><p class="faint">Version 1, document ${escapeHtml(String(document.info.version))}. For machines: <a href="/api/v1/openapi.json">openapi.json</a>.${isAboutOpen ? ' <a href="/about">Service status</a>' : ''}</p>${searchForm(asked)}`;
      return words.length === 0
        ? frame(
            'Antipode API, version 1',
            `${head}${beginning(baseUrl)}${aboutPart(document)}${onceChapter()}${list}`,
            navigation(),
          )
        : frame(
            'Search of the Antipode API',
            `${head}${list === '' ? '<p role="status">Nothing has all of these words.</p>' : list}`,
            navigation(),
          );
    },
  };
}

type Listed = { readonly method: string; readonly path: string; readonly entry: OperationEntry };

const upwards = `<p><a href="${place}">All operations</a></p>`;

function plainText({ name, title, body }: Part): string {
  const text = body.replaceAll(/<[^>]+>/g, ' ').replaceAll(/&(?:quot|#39|amp|lt|gt);/g, ' ');
  return `${name} ${title} ${text}`.toLowerCase();
}

/** Without scripts only the copy buttons are missing, and old addresses lead to the index. */
function frame(title: string, main: string, navigation: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}${title.includes('Antipode') ? '' : ' · Antipode API'}</title><style>${docsStyle}</style></head>
<body><a class="skip" href="#content">Skip to content</a><div class="page">
${navigation}
<main id="content">${main}</main></div><script>${docsScript}</script></body></html>`;
}

/** All operations by tag, on every page. */
function contentsOf(
  document: ApiDocument,
  listed: readonly Listed[],
  current: string | undefined,
): string {
  const link = (name: string, words: string): string =>
    `<a href="${place}/${name}"${name === current ? ' aria-current="page"' : ''}>${escapeHtml(words)}</a>`;
  const tags = document.tags
    .map(
      ({ name }) =>
        `<p><a href="${place}#${anchor(name)}">${escapeHtml(name)}</a></p><ul>${listed
          .filter(({ entry }) => entry.tags.includes(name))
          .map(({ entry }) => `<li>${link(entry.operationId, entry.summary)}</li>`)
          .join('')}</ul>`,
    )
    .join('');
  return `<nav aria-label="Contents"><p><a href="/docs">Documentation</a></p><p><a href="${place}"${current === undefined ? ' aria-current="page"' : ''}>API reference</a></p>${tags}<p>${link('config', 'Keys of a config')}</p><p>${link('plans', 'Plans')}</p><p><a href="${place}#objects">Objects</a></p></nav>`;
}

function anchor(tag: string): string {
  return `tag-${tag.toLowerCase().replaceAll(' ', '-')}`;
}

function searchForm(asked: string): string {
  return `<form role="search" action="${place}"><label for="q">Search operations, fields and codes</label> <input type="search" id="q" name="q" value="${escapeHtml(asked)}"> <button>Search</button></form>`;
}

/** The id of an entry is that of the operation: addresses with it lead on from here. */
function tagPart({
  name,
  description,
  operations,
}: {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Listed[];
}): string {
  if (operations.length === 0) return '';
  const rows = operations.map(
    ({ method, path, entry: { operationId, summary } }) =>
      `<li id="${operationId}"><a href="${place}/${operationId}">${escapeHtml(summary)}</a> <span class="method ${method}">${method}</span> <code>${escapeHtml(path)}</code></li>`,
  );
  return `<h2 id="${anchor(name)}">${escapeHtml(name)}</h2><p>${prose(description)}</p><ul class="list">${rows.join('')}</ul>`;
}

function linkList(id: string, title: string, parts: readonly Part[]): string {
  const rows = parts.map(
    ({ name, title }) =>
      `<li id="${name}"><a href="${place}/${name}">${escapeHtml(title)}</a></li>`,
  );
  return rows.length === 0
    ? ''
    : `<h2 id="${id}">${title}</h2><ul class="list short">${rows.join('')}</ul>`;
}

function aboutPart({ info }: ApiDocument): string {
  return String(info.description)
    .split('\n\n')
    .map((paragraph) => `<p>${prose(paragraph)}</p>`)
    .join('');
}

function beginning(baseUrl: string): string {
  return `<h2 id="begin">Get started</h2>
<p>Create a token under <strong>API &amp; assistants</strong> in your account. All examples use these two variables:</p>
${copyable('Address and token', settings(baseUrl))}
${copyable('Your first call', 'curl -sS --fail-with-body "$ANTIPODE_URL/api/v1/me" -H "Authorization: Bearer $ANTIPODE_TOKEN"')}
<p>The documentation has pages about <a href="/docs/command-line">the command line</a>, <a href="/docs/webhooks">webhooks</a> and <a href="/docs/assistants">assistants</a>.</p>`;
}

function settings(baseUrl: string): string {
  return `export ANTIPODE_URL=${baseUrl} ANTIPODE_TOKEN=svc_…`;
}

/**
 * The only script of these pages: a copy button beside each text that is to be copied (without it,
 * one click selects the text), and the way from an entry of the index that an address names to its page.
 */
const docsScript = `
const named = document.getElementById(location.hash.slice(1));
const opened = named?.matches('.list li') ? named.querySelector('a') : null;
if (opened) location.replace(opened.href);
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
 * The whole style of these pages: the colours and marks of the others, system fonts, no foreign host,
 * light or dark as the reader's system.
 */
const docsStyle = `
:root { color-scheme: light dark; --text: #171b21; --faint: #505a66; --ground: #fff; --raised: #f5f6f8; --line: #e3e6ea; --link: #0a5bb5;
  --get: #0b6b55; --post: #0a5bb5; --patch: #8a4d00; --delete: #a10718; }
@media (prefers-color-scheme: dark) { :root { --text: #e8ebef; --faint: #a7b0bb; --ground: #0f1318; --raised: #161b22; --line: #262d36;
  --link: #7ab7ff; --get: #7be6d2; --post: #7ab7ff; --patch: #f4d27a; --delete: #ff9a86; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 1rem/1.55 system-ui, sans-serif; color: var(--text); background: var(--ground); }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--ground); padding: .5rem 1rem; z-index: 1; }
.page { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 78rem; margin: 0 auto; }
nav { padding: 1.5rem 1rem; border-right: 1px solid var(--line); position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; }
nav p { font-weight: 600; margin: 1.1rem 0 .2rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: .2rem 0; text-decoration: none; font-size: .92rem; }
nav a:hover { text-decoration: underline; }
nav a[aria-current] { font-weight: 600; color: var(--text); }
form { margin: 1rem 0; }
input, button { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line); border-radius: .35rem; padding: .4rem .7rem; }
button { cursor: pointer; }
.list { padding: 0; list-style: none; }
.list li { padding: .35rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.list li:target { background: var(--raised); }
.list a { display: inline-block; width: min(24rem, 100%); }
.short { columns: 3 13rem; }
.short a { width: auto; }
main { padding: 1.5rem 2rem 6rem; min-width: 0; }
h1 { margin: 0 0 .3rem; font-size: 1.9rem; line-height: 1.2; }
h2 { margin: 2.4rem 0 .5rem; font-size: 1.3rem; }
h3 { margin: 0; font-size: 1.12rem; }
h4 { margin: 1.2rem 0 .3rem; font-size: .95rem; }
main > h3, section h3 { margin-top: 1.2rem; }
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
summary { display: flex; gap: .5rem; align-items: center; cursor: pointer; font-weight: 500; list-style: none; padding: .2rem 0; }
summary::-webkit-details-marker { display: none; }
summary::before { content: ""; width: .5rem; height: .5rem; margin: 0 .25rem; border: solid var(--faint); border-width: 0 1.5px 1.5px 0; rotate: -45deg; }
[open] > summary::before { rotate: 45deg; }
@media (max-width: 50rem) {
  .page { display: flex; flex-direction: column; }
  nav { order: 1; position: static; max-height: none; border-right: 0; border-top: 1px solid var(--line); }
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
 * The pages may load nothing, and contain only this style and this script, which their hashes allow.
 */
export const docsSecurityPolicy = [
  "default-src 'none'",
  `style-src ${hashOf(docsStyle)}`,
  `script-src ${hashOf(docsScript)}`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/** An operation, and the objects that it takes and answers with. */
function operationPart(document: ApiDocument, { method, path, entry }: Listed): Part {
  const responses = Object.entries(entry.responses).map(
    ([status, response]) => [status, responseIn(document, response)] as const,
  );
  const successes = responses.filter(([status]) => status < '300');
  const answered = successes.map(([status, response]) => successPart(status, response)).join('');
  const json = jsonOf(successes.at(-1)?.[1]);
  const named = [jsonOf(entry.requestBody), ...successes.map(([, response]) => jsonOf(response))];
  const objects = [...new Set(named.flatMap((one) => refersTo(one?.schema) ?? []))].flatMap(
    (name) => objectPart(document, name) ?? [],
  );
  return {
    name: entry.operationId,
    title: entry.summary,
    body: `<h1>${escapeHtml(entry.summary)}</h1>
<p class="route"><span class="method ${method}">${method}</span><code>${escapeHtml(path)}</code> <span class="faint">${entry.operationId}</span></p>
${entry.description === undefined ? '' : `<p>${prose(entry.description)}</p>`}
${parameterTable(entry.parameters)}${requestPart(entry)}${callExamples({ method, path, operationId: entry.operationId, query: queryOf(entry), ...bodyOf(entry) })}${answered}${json ? example('Example of the answer', json.example) : textExample(successes.at(-1)?.[1])}
${refusalsPart(responses.filter(([status]) => status >= '300'))}${objects.map(({ name, body }) => `<section id="${name}">${body.replace('<h1>', '<h2>').replace('</h1>', '</h2>')}</section>`).join('')}`,
  };
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
  if (name !== undefined) return `<a href="${place}/${escapeHtml(name)}">${escapeHtml(name)}</a>`;
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
  const words = `${prose(first)}${hasChapter ? ` <a href="${place}/config">Every key</a>` : ''}`;
  return `<tr><th scope="row"><code>${escapeHtml(name)}</code></th><td>${typeWords(schema)}</td><td>${required ? 'yes' : 'no'}</td><td>${words}${initial}</td></tr>`;
}

function requestPart({ requestBody }: OperationEntry): string {
  const json = jsonOf(requestBody);
  return json
    ? `<p>Body: ${typeWords(json.schema)}</p>${example('Example of the body', json.example)}`
    : '';
}

function example(label: string, value: unknown): string {
  return `<h2>${escapeHtml(label)}</h2><pre tabindex="0"><code>${escapeHtml(JSON.stringify(value, null, 2))}</code></pre>`;
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
    : `<h2>Example of the answer</h2><pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`;
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

/** Undefined for a schema without fields, which is told where it is used. */
function objectPart({ components }: ApiDocument, name: string): Part | undefined {
  const schema: unknown = components.schemas[name];
  if (!isRecord(schema) || !isRecord(schema.properties)) return undefined;
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
  return {
    name,
    title: name,
    body: `<h1>${escapeHtml(name)}</h1>${words}${table(`Fields of ${name}`, rows.join(''))}`,
  };
}
