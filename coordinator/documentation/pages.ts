import { capital } from '../../shared/base/text.ts';
import { heading, linkButton } from '../web/elements.ts';
import { notFoundAnswer } from '../web/failures.ts';
import { type Html, html, icon, type Part, safeUrl } from '../web/html.ts';
import { forAnyone, type PageAnswer, type Sent, seeOther, send, show } from '../web/page.ts';
import { indexName, readContents } from './contents.ts';
import { type Block, plainOf, readMarkdown } from './markdown.ts';
import { markupOf, wordsMarkup } from './markup.ts';
import { pageNames, pageText, pictureNames, pictureText } from './page-files.ts';

/** The documentation for people and for programs: the pages of docs/, as HTML and as they are. */

export const index = forAnyone.get('/docs', ({ query, with: { baseUrl } }) =>
  documentationPage(indexName, baseUrl(), query.find),
);

export const one = forAnyone.get('/docs/:name', ({ path: { name = '' }, with: { baseUrl } }) => {
  if (name === 'llms.txt') return listForPrograms(baseUrl());
  if (name === '' || name === indexName) return seeOther('/docs');
  const [, source] = /^([\w-]+)\.md$/.exec(name) ?? [];
  const known = pageNames();
  if (source !== undefined && known.includes(source))
    return textOf('text/markdown; charset=utf-8', pageText(source));
  const [, picture] = /^([\w-]+)\.svg$/.exec(name) ?? [];
  if (picture !== undefined && pictureNames().includes(picture))
    return textOf('image/svg+xml', pictureText(picture));
  return known.includes(name) ? documentationPage(name, baseUrl()) : notFoundAnswer;
});

/** Where programs look for it first. */
export const forPrograms = forAnyone.get('/llms.txt', ({ with: { baseUrl } }) =>
  listForPrograms(baseUrl()),
);

function documentationPage(name: string, baseUrl: string, find = ''): PageAnswer {
  const [title, about, ...blocks] = readMarkdown(pageText(name));
  if (title?.is !== 'heading' || about?.is !== 'paragraph')
    throw new Error(`docs/${name}.md begins with a title and a line about it`);
  const isIndex = name === indexName;
  const words = isIndex ? 'Documentation' : plainOf(title.words);
  return show({
    title: words,
    frame: 'bare',
    ...(find === '' && { isKept: true }),
    main: html`
      <div class="docs${isIndex && ' docs-index'}">
        <article>
          ${heading({
            sentence: words,
            below: wordsMarkup(about.words, baseUrl),
            trail: isIndex ? [] : [{ href: '/docs', name: 'Documentation' }],
          })}
          ${isIndex ? [searchForm(find), chapters(find)] : markupOf(blocks, baseUrl)}
          <p class="actions">
            ${beside(name)}
            ${linkButton(`/docs/${name}.md`, 'This page as Markdown')}
          </p>
        </article>
        ${!isIndex && contents(name, blocks)}
      </div>
    `,
  });
}

function searchForm(find: string): Html {
  return html`
    <form class="search" role="search" action="/docs">
      ${icon('search')}
      <input
        type="search"
        name="find"
        value="${find}"
        aria-label="Search the documentation"
        placeholder="Search"
        autocomplete="off"
      >
    </form>
  `;
}

/** Every page, or those that have all of the words. */
function chapters(find: string): Html {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const found = readContents(pageText(indexName)).flatMap(({ title, pages }) => {
    const some = pages.filter(({ name }) => {
      const text = pageText(name).toLowerCase();
      return words.every((word) => text.includes(word));
    });
    return some.length === 0 ? [] : [{ title, pages: some }];
  });
  return found.length === 0
    ? html`<p class="nothing">No results</p>`
    : html`${found.map(
        ({ title, pages }) => html`
          <section>
            <h2>${title}</h2>
            <div>
              ${pages.map(
                ({ name, title, about }) => html`
                  <a href="${safeUrl(`/docs/${name}`)}">
                    <b>${title}</b>
                    <span class="note">${capital(about)}</span>
                  </a>
                `,
              )}
            </div>
          </section>
        `,
      )}`;
}

/** The pages before and after one, in the order of the index. */
function beside(name: string): Part {
  const all = readContents(pageText(indexName)).flatMap(({ pages }) => pages);
  const at = all.findIndex((each) => each.name === name);
  const [before, after] = [all[at - 1], all[at + 1]];
  return (
    at !== -1 && [
      before && linkButton(`/docs/${before.name}`, before.title, { symbol: 'previous' }),
      after && linkButton(`/docs/${after.name}`, html`${after.title}${icon('next')}`),
    ]
  );
}

/** All pages, and below the one that is read its parts. */
function contents(current: string, blocks: readonly Block[]): Html {
  const parts = blocks.flatMap((block) =>
    block.is === 'heading' && block.level === 2
      ? [html`<li><a href="${safeUrl(`#${block.anchor}`)}">${plainOf(block.words)}</a></li>`]
      : [],
  );
  return html`
    <details class="docs-contents">
    <summary class="button">${icon('more')}Contents</summary>
    <nav aria-label="Documentation">
      ${readContents(pageText(indexName)).map(
        ({ title, pages }) => html`
          <p>${title}</p>
          <ul>
            ${pages.map(
              ({ name, title }) => html`
                <li>
                  <a href="${safeUrl(`/docs/${name}`)}"${name === current && html` aria-current="page"`}>${title}</a>
                  ${name === current && parts.length > 0 && html`<ul aria-label="On this page">${parts}</ul>`}
                </li>
              `,
            )}
          </ul>
        `,
      )}
    </nav>
    </details>
  `;
}

/** The index in the form of llmstxt.org, with whole addresses. */
function listForPrograms(baseUrl: string): Sent {
  const [title, about] = readMarkdown(pageText(indexName));
  const wordsOf = (block: typeof title): string =>
    block && 'words' in block ? plainOf(block.words) : '';
  const chapters = readContents(pageText(indexName)).map(
    ({ title, pages }) =>
      `## ${title}\n\n${pages
        .map(({ name, title, about }) => `- [${title}](${baseUrl}/docs/${name}.md): ${about}\n`)
        .join('')}`,
  );
  const reference = `- [API reference](${baseUrl}/api/v1/openapi.json): every operation, as OpenAPI\n`;
  return textOf(
    'text/plain; charset=utf-8',
    [
      `# ${wordsOf(title)}\n`,
      `> ${wordsOf(about)}\n`,
      ...chapters,
      `## Reference\n\n${reference}`,
    ].join('\n'),
  );
}

function textOf(type: string, body: string): Sent {
  return send({ type, body, isKept: true, headers: { 'cache-control': 'no-cache' } });
}
