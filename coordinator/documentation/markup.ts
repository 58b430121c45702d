import { capital } from '../../shared/base/text.ts';
import { type Html, html, icon, type Part, safeUrl } from '../web/html.ts';
import { drawingMarkup } from './drawing.ts';
import { type Block, type Inline, plainOf } from './markdown.ts';

/** The address that pages write for an installation. */
const placeholder = 'https://antipode.example';

/** The blocks of a page as HTML; `baseUrl` stands where a page means the reader's installation. */
export function markupOf(blocks: readonly Block[], baseUrl: string): readonly Html[] {
  return blocks.map((block) => blockMarkup(block, baseUrl));
}

export function wordsMarkup(words: readonly Inline[], baseUrl: string): readonly Part[] {
  return words.map((word) => wordMarkup(word, baseUrl));
}

function blockMarkup(block: Block, baseUrl: string): Html {
  switch (block.is) {
    case 'heading': {
      const words = html`<a href="${safeUrl(`#${block.anchor}`)}">${wordsMarkup(block.words, baseUrl)}</a>`;
      return block.level === 3
        ? html`<h3 id="${block.anchor}">${words}</h3>`
        : html`<h2 id="${block.anchor}">${words}</h2>`;
    }
    case 'paragraph':
      return html`<p>${wordsMarkup(block.words, baseUrl)}</p>`;
    case 'code':
      return codeMarkup(block.language, block.text.replaceAll(placeholder, baseUrl));
    case 'picture':
      return html`<img src="${safeUrl(`/docs/${block.name}.svg`)}" alt="${block.says}">`;
    case 'list': {
      const items = block.items.map((item) => html`<li>${itemMarkup(item, baseUrl)}</li>`);
      return block.ordered ? html`<ol>${items}</ol>` : html`<ul>${items}</ul>`;
    }
    case 'table':
      return html`
        <table>
          <thead>
            <tr>
              ${block.head.map((cell) => html`<th scope="col">${wordsMarkup(cell, baseUrl)}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${block.rows.map(
              (row) => html`
                <tr>
                  ${row.map(
                    (cell, at) =>
                      html`<td data-label="${capital(plainOf(block.head[at] ?? []))}">${wordsMarkup(cell, baseUrl)}</td>`,
                  )}
                </tr>
              `,
            )}
          </tbody>
        </table>
      `;
  }
}

/** What is typed or written into a file can be copied; a drawing has no language. */
function codeMarkup(language: string, text: string): Html {
  if (language === '' && /[─-╿]/.test(text)) return drawingMarkup(text);
  const code = html`<pre tabindex="0"><code>${text}</code></pre>`;
  return language === ''
    ? code
    : html`
      <div class="copyable">
        ${code}
        <button class="button" type="button" data-copy="${text}">
          ${icon('copy')}<span data-copied>Copy</span>
        </button>
      </div>
    `;
}

function itemMarkup(item: readonly Block[], baseUrl: string): readonly Part[] {
  const [first, ...rest] = item;
  return first?.is === 'paragraph'
    ? [wordsMarkup(first.words, baseUrl), markupOf(rest, baseUrl)]
    : markupOf(item, baseUrl);
}

function wordMarkup(word: Inline, baseUrl: string): Part {
  switch (word.is) {
    case 'text':
      return word.text.replaceAll(placeholder, baseUrl);
    case 'code':
      return html`<code>${word.text.replaceAll(placeholder, baseUrl)}</code>`;
    case 'strong':
      return html`<strong>${wordsMarkup(word.inside, baseUrl)}</strong>`;
    case 'emphasis':
      return html`<em>${wordsMarkup(word.inside, baseUrl)}</em>`;
    case 'break':
      return html`<br>`;
    case 'link':
      return html`<a href="${safeUrl(addressOf(word.to))}">${wordsMarkup(word.inside, baseUrl)}</a>`;
  }
}

/** `b.md#part`, which a code host follows, is `/docs/b#part` here. */
function addressOf(to: string): string {
  const [, name, part = ''] = /^([\w-]+)\.md(#.+)?$/.exec(to) ?? [];
  return name === undefined ? to : `/docs/${name}${part}`;
}
