import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { templatesOf } from '../../support/template-holes.ts';

/** The rules that `html` cannot hold by its types: where its holes may stand. */

const coordinator = join(import.meta.dirname, '../../../coordinator');

const sources = readdirSync(coordinator)
  .filter((room) => !room.includes('.'))
  .flatMap((room) =>
    readdirSync(join(coordinator, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('assets'))
      .map((file) => ({
        file: `${room}/${file}`,
        source: readFileSync(join(coordinator, room, file), 'utf8'),
      })),
  );

const templates = sources.flatMap(({ file, source }) =>
  templatesOf(source).map((template) => ({ file, ...template })),
);

const holes = templates.flatMap(({ file, holes: all }) =>
  all.map((hole) => ({ place: `${file}:${hole.line}: ${hole.code.slice(0, 80)}`, ...hole })),
);

const addressed = new Set([
  'href',
  'src',
  'action',
  'formaction',
  'xlink:href',
  'poster',
  'cite',
  'data',
  'srcset',
  'ping',
]);

/** As it stands in a source: here a dollar would be taken for a slip of the pen. */
const written = (source: string): string => source.replaceAll('§', '$');

/** HTML in itself, or nothing. */
const isMarkup = (code: string): boolean =>
  /(^|&&\s*|\?\s*|\()html`/.test(code) || /^(marks|each\.marks)$/.test(code);

describe('every template of a page', () => {
  test('is found by its reader, and so is every hole', () => {
    expect(templates.length).toBeGreaterThan(30);
    expect(
      templatesOf(
        written(
          'const a = html`<p title="§{b}">§{c ? html`<b §{d}></b>` : `no §{e}`}</p><a href=§{f}>`',
        ),
      ),
    ).toEqual([
      {
        line: 1,
        text: '<b …></b>',
        holes: [{ line: 1, code: 'd', where: { is: 'between attributes' } }],
      },
      {
        line: 1,
        text: '<p title="…">…</p><a href=…>',
        holes: [
          { line: 1, code: 'b', where: { is: 'attribute', name: 'title', before: '' } },
          { line: 1, code: written('c ? html`<b §{d}></b>` : `no §{e}`'), where: { is: 'text' } },
          { line: 1, code: 'f', where: { is: 'nowhere', why: 'in href, which has no quotes' } },
        ],
      },
    ]);
    expect(
      templatesOf(
        written('html`<script>§{a}</script><!-- §{b} --><textarea>§{c}</textarea><§{d}>`'),
      )[0]?.holes.map(({ where }) => where),
    ).toEqual([
      { is: 'nowhere', why: 'in <script>' },
      { is: 'nowhere', why: 'in a comment' },
      { is: 'text' },
      { is: 'nowhere', why: 'in the name of a tag' },
    ]);
  });

  test('has its holes in text, in quoted attributes, or between attributes', () => {
    expect(
      holes
        .filter(({ where }) => where.is === 'nowhere')
        .map(({ place, where }) => ({ place, where })),
    ).toEqual([]);
  });

  test('puts nothing but HTML between attributes: a text there could become an attribute', () => {
    expect(
      holes
        .filter(({ where, code }) => where.is === 'between attributes' && !isMarkup(code))
        .map(({ place }) => place),
    ).toEqual([]);
  });

  test('leads only to paths of ours, or to what safeUrl() let through', () => {
    const elsewhere = holes.filter(({ where, code }) => {
      if (where.is !== 'attribute' || !addressed.has(where.name)) return false;
      return where.before === ''
        ? !code.startsWith('safeUrl(')
        : !/^(\/[\w.~-]|#|\?)/.test(where.before);
    });
    expect(elsewhere.map(({ place }) => place)).toEqual([]);
  });

  test('has neither styles nor scripts in its attributes', () => {
    const inline = templates.filter(
      ({ text }) =>
        /<[^>]*\s(style|on[a-z]+)\s*=/i.test(text) ||
        // A document may stand in a frame that runs, sends and opens nothing.
        /<(?![^>]*\ssandbox(?:="allow-same-origin")?\s)[^>]*\ssrcdoc\s*=/i.test(text) ||
        /<(script|style)\b(?![^>]*\bsrc=)/i.test(text),
    );
    expect(inline.map(({ file, line }) => `${file}:${line}`)).toEqual([]);
  });
});

describe('the style of the pages', () => {
  const folder = join(coordinator, 'web/assets/style');
  const rules = readdirSync(folder).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ' '))
      .split('\n')
      .map((line, at) => ({ file, line: line.trim(), place: `${file}:${at + 1}: ${line.trim()}` })),
  );

  test('keeps to one scale of space, and to the colours and sizes of text of its tokens', () => {
    const scale = new Set([0, 1, 2, 4, 8, 12, 16, 24, 32, 48]);
    const isOff = (line: string): boolean =>
      /^(row-|column-)?gap:|^(scroll-)?(padding|margin)/.test(line) &&
      [...line.matchAll(/([\d.]+)px/g)].some(([, px]) => !scale.has(Number(px)));
    expect(rules.length).toBeGreaterThan(1_000);
    expect(rules.filter(({ line }) => isOff(line)).map(({ place }) => place)).toEqual([]);

    // A code for cameras is dark on light, a backdrop is no ground; names on the map grow with it.
    const isOwn = ({ file, line }: (typeof rules)[number]): boolean =>
      /^[a-z-]+:.*(#[\da-f]{3,8}\b|\brgb\()/.test(line)
        ? !['own.css', 'dialogs.css'].includes(file)
        : /^font-size:(?!.*(var\(|em|clamp\())/.test(line) && file !== 'incident.css';
    expect(
      rules.filter((rule) => rule.file !== 'tokens.css' && isOwn(rule)).map(({ place }) => place),
    ).toEqual([]);
  });

  test('names no class that no page has', () => {
    const text = sources.map(({ source }) => source).join('\n');
    const words = new Set(text.match(/[a-z][\w-]*/g));
    const begun = [...text.matchAll(/([a-z][\w-]*-)\$\{/g)].map(([, word = '']) => word);
    const named = new Set(
      rules.flatMap(({ line }) =>
        line.includes('{') || line.endsWith(',')
          ? [...line.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = '']) => name)
          : [],
      ),
    );
    expect(
      [...named].filter((name) => !words.has(name) && !begun.some((word) => name.startsWith(word))),
    ).toEqual([]);
  });
});
