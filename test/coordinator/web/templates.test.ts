import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { templatesOf } from '../../support/template-holes.ts';

/** The rules that `html` cannot hold by its types: where its holes may stand. */

const coordinator = join(import.meta.dirname, '../../../coordinator');

const templates = readdirSync(coordinator)
  .filter((room) => !room.includes('.'))
  .flatMap((room) =>
    readdirSync(join(coordinator, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('assets'))
      .flatMap((file) =>
        templatesOf(readFileSync(join(coordinator, room, file), 'utf8')).map((template) => ({
          file: `${room}/${file}`,
          ...template,
        })),
      ),
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
        // A document may stand in a frame that can do nothing.
        /<(?![^>]*\ssandbox\s)[^>]*\ssrcdoc\s*=/i.test(text) ||
        /<(script|style)\b(?![^>]*\bsrc=)/i.test(text),
    );
    expect(inline.map(({ file, line }) => `${file}:${line}`)).toEqual([]);
  });
});
