import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { indexName, readContents } from '../../../coordinator/documentation/contents.ts';
import {
  anchorsOf,
  type Block,
  type Inline,
  plainOf,
  readMarkdown,
} from '../../../coordinator/documentation/markdown.ts';
import { pageNames, pageText } from '../../../coordinator/documentation/page-files.ts';
import { projectFolder } from '../../../deploy/node/places.mjs';

/** The pages of docs/ as they are written. */

const maxLines = 150;
const names = pageNames();
const chapters = readContents(pageText(indexName));

function linksIn(parts: readonly (Block | Inline)[]): readonly string[] {
  return parts.flatMap((part) => {
    if (part.is === 'link') return [part.to, ...linksIn(part.inside)];
    if (part.is === 'list') return part.items.flatMap(linksIn);
    if (part.is === 'table') return [...part.head, ...part.rows.flat()].flatMap(linksIn);
    if ('words' in part) return linksIn(part.words);
    return 'inside' in part ? linksIn(part.inside) : [];
  });
}

describe.each(names)('the page %s', (name) => {
  const text = pageText(name);
  const blocks = readMarkdown(text);

  test('is short, and begins with its title and a line that says what it is about', () => {
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(maxLines);
    const [title, about] = blocks;
    expect(title).toMatchObject({ is: 'heading', level: 1 });
    expect(about?.is === 'paragraph' ? plainOf(about.words).length : 0).toBeGreaterThan(20);
    expect(blocks.filter((block) => block.is === 'heading' && block.level === 1)).toHaveLength(1);
  });

  test('links to pages and headings that are there', () => {
    const astray = linksIn(blocks).filter((to) => {
      if (to.startsWith('https://')) return false;
      const [file = '', anchor] = to.split('#');
      const target = file === '' ? name : file.replace(/\.md$/, '');
      const isPage = names.includes(target) && (file === '' || file.endsWith('.md'));
      return !isPage || (anchor !== undefined && !anchorsOf(pageText(target)).has(anchor));
    });
    expect(astray).toEqual([]);
  });
});

test('the index lists every page once, by its title', () => {
  const listed = chapters.flatMap(({ pages }) => pages);
  expect(listed.map(({ name }) => name).toSorted()).toEqual(
    names.filter((name) => name !== indexName),
  );
  for (const { name, title, about } of listed) {
    const [first] = readMarkdown(pageText(name));
    expect(first?.is === 'heading' && plainOf(first.words)).toBe(title);
    expect(about.length).toBeGreaterThan(10);
  }
});

test('documents elsewhere lead to pages and headings that are there', () => {
  for (const file of ['README.md', 'SECURITY.md', 'deploy/README.md', 'test/README.md']) {
    const text = readFileSync(join(projectFolder, file), 'utf8');
    for (const [, name = '', anchor] of text.matchAll(
      /\(\/?(?:\.\.\/)*docs\/([\w-]+)\.md(?:#([\w-]+))?\)/g,
    )) {
      expect(names, file).toContain(name);
      if (anchor !== undefined) expect(anchorsOf(pageText(name)), file).toContain(anchor);
    }
  }
});

describe('Markdown', () => {
  test('has blocks inside the items of a list', () => {
    const text = '- one\n  more\n\n  1. a\n\n     ```\n       code\n     ```\n  2. b\n- two';
    const words = (text: string) => [{ is: 'text', text }];
    expect(readMarkdown(text)).toEqual([
      {
        is: 'list',
        ordered: false,
        items: [
          [
            { is: 'paragraph', words: words('one more') },
            {
              is: 'list',
              ordered: true,
              items: [
                [
                  { is: 'paragraph', words: words('a') },
                  { is: 'code', language: '', text: '  code' },
                ],
                [{ is: 'paragraph', words: words('b') }],
              ],
            },
          ],
          [{ is: 'paragraph', words: words('two') }],
        ],
      },
    ]);
  });

  test('gives headings the anchors that code hosts give them', () => {
    const text = "# `SECRET_KEY` must be replaced\n## A probe's machine\n### Killed, or (gone)";
    expect([...anchorsOf(text)]).toEqual([
      'secret_key-must-be-replaced',
      'a-probes-machine',
      'killed-or-gone',
    ]);
  });

  test.each([
    ['> quoted'],
    ['<b>bold</b>'],
    ['text with <b>bold</b>'],
    ['![a picture](a.png)'],
    ['    code by indent'],
    ['#### too deep'],
    ['an open `mark'],
    ['an [open](mark'],
    ['a **half'],
    ['&nbsp;'],
    ['```sh\nwithout an end'],
    ['| a | b |\n|---|---|\n| c |'],
    ['# twice\n# twice'],
    ['* a list of stars'],
    ['[ref]: https://example.org'],
  ])('refuses what no page uses: %j', (text) => {
    expect(() => readMarkdown(text)).toThrow('the documentation cannot be read');
  });
});
