import { createHash } from 'node:crypto';
import { isRecord } from '../../../shared/base/json.ts';
import { configChapter } from './rest-config-docs.ts';
import { callExamples } from './rest-docs-calls.ts';
import { assistantsChapter, beginning, clientChapter } from './rest-docs-chapters.ts';
import { docsScript } from './rest-docs-script.ts';
import { docsStyle } from './rest-docs-style.ts';
import { escapeHtml, prose } from './rest-docs-text.ts';
import { onceChapter } from './rest-idempotency-docs.ts';
import { type ApiDocument, type OperationEntry, type Parameter, type Response, responseIn } from './rest-openapi.ts';
import { plansChapter } from './rest-plans-docs.ts';

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Nothing may be loaded, and nothing but this style and this script, allowed by their hashes, may stand in the page. */
export const docsSecurityPolicy = [
  "default-src 'none'",
  `style-src ${hashOf(docsStyle)}`,
  `script-src ${hashOf(docsScript)}`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

type Listed = { readonly method: string; readonly path: string; readonly entry: OperationEntry };

const refersTo = (schema: unknown): string | undefined =>
  isRecord(schema) && typeof schema.$ref === 'string' ? schema.$ref.replace('#/components/schemas/', '') : undefined;

const lengthWords = ({ minLength, maxLength }: Record<string, unknown>): string =>
  typeof maxLength !== 'number'
    ? ''
    : ` of ${typeof minLength === 'number' ? `${minLength} to` : 'up to'} ${maxLength.toLocaleString('en')}`;

/** A schema in a few words, with links to the objects it names. */
const typeWords = (schema: unknown): string => {
  const name = refersTo(schema);
  if (name !== undefined) return `<a href="#${escapeHtml(name)}">${escapeHtml(name)}</a>`;
  if (!isRecord(schema)) return 'anything';
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map(typeWords).join(' or ');
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `<code>${escapeHtml(String(value))}</code>`).join(' or ');
  if (schema.type === 'array') {
    const most = typeof schema.maxItems === 'number' ? ` up to ${schema.maxItems.toLocaleString('en')}` : '';
    return `list of${most} ${typeWords(schema.items)}`;
  }
  if (schema.type === 'object' && schema.properties === undefined) return 'object with free keys';
  const bounds = schema.minimum === undefined ? lengthWords(schema) : ` from ${schema.minimum} to ${schema.maximum}`;
  return schema.type === undefined ? 'anything' : escapeHtml(`${schema.format ?? schema.type}${bounds}`);
};

const row = (name: string, schema: unknown, required: boolean, description: unknown, hasChapter = false): string => {
  const initial =
    isRecord(schema) && schema.default !== undefined ? ` Default <code>${escapeHtml(JSON.stringify(schema.default))}</code>.` : '';
  // What stands in further paragraphs has a chapter of its own.
  const [first = ''] = typeof description === 'string' ? description.split('\n\n', 1) : [];
  const words = `${prose(first)}${hasChapter ? ' <a href="#config">Every key</a>' : ''}`;
  return `<tr><th scope="row"><code>${escapeHtml(name)}</code></th><td>${typeWords(schema)}</td><td>${required ? 'yes' : 'no'}</td><td>${words}${initial}</td></tr>`;
};

const table = (caption: string, rows: string): string =>
  `<div class="wide" tabindex="0" role="region" aria-label="${escapeHtml(caption)}"><table><caption>${escapeHtml(caption)}</caption><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Required</th><th scope="col">Meaning</th></tr></thead><tbody>${rows}</tbody></table></div>`;

const parameterTable = (parameters: readonly (Parameter & { readonly description?: string })[]): string => {
  const shown = parameters.filter(({ in: where }) => where !== 'cookie');
  return shown.length === 0
    ? ''
    : table('Parameters', shown.map((one) => row(`${one.name} (${one.in})`, one.schema, one.required, one.description)).join(''));
};

const example = (label: string, value: unknown): string =>
  `<h4>${escapeHtml(label)}</h4><pre tabindex="0"><code>${escapeHtml(JSON.stringify(value, null, 2))}</code></pre>`;

const jsonOf = (part: { readonly content?: unknown } | undefined): Record<string, unknown> | undefined => {
  const content = part && isRecord(part.content) ? part.content['application/json'] : undefined;
  return isRecord(content) ? content : undefined;
};

/** An answer that is no JSON, as it stands. */
const textExample = (part: { readonly content?: unknown } | undefined): string => {
  const media = part && isRecord(part.content) ? Object.values(part.content)[0] : undefined;
  const text = isRecord(media) && typeof media.example === 'string' ? media.example : undefined;
  return text === undefined ? '' : `<h4>Example of the answer</h4><pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`;
};

const requestPart = ({ requestBody }: OperationEntry): string => {
  const json = jsonOf(requestBody);
  return json ? `<p>Body: ${typeWords(json.schema)}</p>${example('Example of the body', json.example)}` : '';
};

/** The body that the examples send; nothing where none is taken. */
const bodyOf = ({ requestBody }: OperationEntry): { readonly body?: unknown } => {
  const json = jsonOf(requestBody);
  return json === undefined ? {} : { body: json.example };
};

const queryOf = ({ parameters }: OperationEntry): readonly string[] =>
  parameters.filter(({ in: where, required }) => where === 'query' && required).map(({ name }) => name);

const successPart = (status: string, response: Response): string => {
  const json = jsonOf(response);
  const what = json ? `, ${typeWords(json.schema)}` : '';
  return `<p>Answers <strong>${escapeHtml(status)}</strong>${what}. <span class="faint">${prose(response.description)}</span></p>`;
};

const refusalsPart = (responses: readonly (readonly [string, Response])[]): string =>
  `<details><summary>Refusals</summary><div class="wide" tabindex="0" role="region" aria-label="Refusals"><table><thead><tr><th scope="col">Status</th><th scope="col">Code and meaning</th></tr></thead><tbody>${responses
    .map(
      ([status, { description }]) =>
        `<tr><th scope="row">${escapeHtml(status)}</th><td>${description
          .split('\n\n')
          .map((words) => `<p>${prose(words)}</p>`)
          .join('')}</td></tr>`,
    )
    .join('')}</tbody></table></div></details>`;

const operationPart = (document: ApiDocument, { method, path, entry }: Listed): string => {
  const responses = Object.entries(entry.responses).map(([status, response]) => [status, responseIn(document, response)] as const);
  const successes = responses.filter(([status]) => status < '300');
  const answered = successes.map(([status, response]) => successPart(status, response)).join('');
  const json = jsonOf(successes.at(-1)?.[1]);
  return `<article aria-labelledby="${entry.operationId}"><h3 id="${entry.operationId}">${escapeHtml(entry.summary)}</h3>
<p class="route"><span class="method ${method}">${method}</span><code>${escapeHtml(path)}</code> <span class="faint">${entry.operationId}</span></p>
${entry.description === undefined ? '' : `<p>${prose(entry.description)}</p>`}
${parameterTable(entry.parameters)}${requestPart(entry)}${callExamples({ method, path, operationId: entry.operationId, query: queryOf(entry), ...bodyOf(entry) })}${answered}${json ? example('Example of the answer', json.example) : textExample(successes.at(-1)?.[1])}
${refusalsPart(responses.filter(([status]) => status >= '300'))}</article>`;
};

const componentPart = (name: string, schema: unknown): string => {
  if (!isRecord(schema) || !isRecord(schema.properties)) return '';
  const required = Array.isArray(schema.required) ? schema.required : [];
  const words = typeof schema.description === 'string' ? `<p>${prose(schema.description)}</p>` : '';
  const rows = Object.entries(schema.properties).map(([key, field]) =>
    // A monitor's config has a chapter of its own; what a channel's holds depends on its kind.
    row(
      key,
      field,
      required.includes(key),
      isRecord(field) ? field.description : undefined,
      key === 'config' && name.startsWith('Monitor'),
    ),
  );
  return `<section id="${escapeHtml(name)}"><h3>${escapeHtml(name)}</h3>${words}${table(`Fields of ${name}`, rows.join(''))}</section>`;
};

const anchor = (tag: string): string => `tag-${tag.toLowerCase().replaceAll(' ', '-')}`;

/** The API document as one page for people: nothing from elsewhere, and without scripts only the buttons are missing. */
/** `isAboutOpen`: the page about the installation itself is open to everyone. */
export const docsPage = (document: ApiDocument, baseUrl: string, isAboutOpen = false): string => {
  const listed: readonly Listed[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, entry]) => ({ method: method.toUpperCase(), path, entry })),
  );
  const under = (tag: string) => listed.filter(({ entry }) => entry.tags.includes(tag));
  const contents = document.tags
    .map(
      ({ name }) =>
        `<p><a href="#${anchor(name)}">${escapeHtml(name)}</a></p><ul>${under(name)
          .map(({ entry }) => `<li><a href="#${entry.operationId}">${escapeHtml(entry.summary)}</a></li>`)
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
<body><a class="skip" href="#content">Skip to the content</a><div class="page">
<nav aria-label="Contents"><p><a href="#begin">How to begin</a></p><p><a href="#once">Sending again</a></p>${contents}<p><a href="#config">Keys of a config</a></p><p><a href="#plans">Plans</a></p><p><a href="#client">The client</a></p><p><a href="#assistants">Assistants</a></p><p><a href="#objects">Objects</a></p></nav>
<main id="content"><h1>Antipode API</h1><p class="faint">Version 1, document ${escapeHtml(String(document.info.version))}. For machines: <a href="/api/v1/openapi.json">openapi.json</a>.${isAboutOpen ? ' How well this installation does: <a href="/about">/about</a>' : ''}</p>
${about}${beginning(baseUrl)}${onceChapter()}${chapters}${configChapter()}${plansChapter()}${clientChapter(baseUrl)}${assistantsChapter(baseUrl)}<h2 id="objects">Objects</h2>${objects}</main></div><script>${docsScript}</script></body></html>`;
};
