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
import {
  pageNames,
  pageText,
  pictureNames,
} from '../../../coordinator/documentation/page-files.ts';
import { understand } from '../../../coordinator/operator/command-line.ts';
import { commands as operatorCommands } from '../../../coordinator/operator/commands.ts';
import { projectFolder } from '../../../deploy/node/places.mjs';
import { commands } from '../../../shared/client/commands.ts';

import { commandsOf, typedElsewhere, typedPages } from './commands.ts';

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

test('every picture is shown by a page, and is there', () => {
  const shown = names.flatMap((name) =>
    readMarkdown(pageText(name)).flatMap((block) => (block.is === 'picture' ? block.name : [])),
  );
  expect(shown.toSorted()).toEqual(pictureNames());
});

test('README fits on few screens', () => {
  const lines = readFileSync(join(projectFolder, 'README.md'), 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(90);
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

  test('has pictures alone in a line', () => {
    expect(readMarkdown('a text\n\n![What it shows](name-of-it.svg)')).toEqual([
      { is: 'paragraph', words: [{ is: 'text', text: 'a text' }] },
      { is: 'picture', name: 'name-of-it', says: 'What it shows' },
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

describe('commands', () => {
  test('are each typed by a test', () => {
    const typed: ReadonlySet<string> = new Set([...typedPages.api, ...typedPages.service]);
    const untyped = names
      .filter((name) => !typed.has(name))
      .flatMap((name) => commandsOf(name).map((command) => `${name}: ${command}`))
      .filter(
        (line) => !typedElsewhere.some(([pattern]) => pattern.test(line.replace(/^\S+: /, ''))),
      );
    expect(untyped).toEqual([]);
    expect(names.flatMap(commandsOf).length).toBeGreaterThan(60);
  });

  test('that another test types are in a page, and in that test', () => {
    const all = names.flatMap(commandsOf);
    for (const [pattern, file, words] of typedElsewhere) {
      expect(
        all.filter((command) => pattern.test(command)),
        String(pattern),
      ).not.toEqual([]);
      expect(readFileSync(join(projectFolder, file), 'utf8'), file).toContain(words);
    }
  });

  test('in the middle of a text are commands that there are, with flags that they take', () => {
    const silent = { out: () => undefined, err: () => undefined, watched: false };
    const nouns = new Set(operatorCommands.map(({ words }) => words[0] ?? ''));
    const isOperators = (words: readonly string[]): boolean =>
      typeof understand(words, silent) !== 'number' ||
      (words.length === 2 && understand([...words, '--help'], silent) === 0);
    const isClients = ([noun, verb, ...rest]: readonly string[]): boolean => {
      const command = commands.find(({ words }) => words[0] === noun && words[1] === verb);
      const flags = rest.filter((word) => word.startsWith('--')).map((word) => word.slice(2));
      return (
        command !== undefined &&
        flags.every((name) => command.flags.some((each) => each.name === name))
      );
    };
    const wrong = names.flatMap((name) =>
      codeWordsIn(readMarkdown(pageText(name))).flatMap((code) => {
        const words = code.replace(/^npm run operator -- |^operator /, '').split(' ');
        const isAsked = words.join(' ') !== code;
        // A sentence of a log may begin with a noun, too.
        const isShort = words.length > 1 && !/^[a-z]/.test(words[2] ?? '');
        if (words.includes('NOUN')) return [];
        const isRight =
          isAsked || (isShort && nouns.has(words[0] ?? ''))
            ? isOperators(words)
            : !code.startsWith('antipode ') ||
              notOperations.test(code) ||
              isClients(words.slice(1));
        return isRight ? [] : [`${name}: ${code}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test('stand in blocks that say so: a block without a language has none', () => {
    const command = /^(?:antipode|npm|npx|curl|docker|helm|kubectl|systemctl|node) /;
    const unmarked = names.flatMap((name) =>
      codeIn(readMarkdown(pageText(name)))
        .filter(
          ({ language, text }) =>
            language === '' && text.split('\n').some((line) => command.test(line)),
        )
        .map(({ text }) => `${name}: ${text}`),
    );
    expect(unmarked).toEqual([]);
  });
});

/** Commands of the client that are no single operation. */
const notOperations = /^antipode (?:help|--help|discover kubernetes|operator|backup|restore)\b/;

function codeWordsIn(parts: readonly (Block | Inline)[]): readonly string[] {
  return parts.flatMap((part) => {
    if (part.is === 'code') return 'language' in part ? [] : [part.text];
    if (part.is === 'list') return part.items.flatMap(codeWordsIn);
    if (part.is === 'table') return [...part.head, ...part.rows.flat()].flatMap(codeWordsIn);
    if ('words' in part) return codeWordsIn(part.words);
    return 'inside' in part ? codeWordsIn(part.inside) : [];
  });
}

function codeIn(blocks: readonly Block[]): readonly Extract<Block, { is: 'code' }>[] {
  return blocks.flatMap((block) => {
    if (block.is === 'code') return [block];
    return block.is === 'list' ? block.items.flatMap(codeIn) : [];
  });
}
