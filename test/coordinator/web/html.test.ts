import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5';
import { describe, expect, test } from 'vitest';
import { Html, html, type Part, query, safeUrl } from '../../../coordinator/web/html.ts';
import fc from '../../support/random.ts';

type Node = DefaultTreeAdapterTypes.ChildNode;

const parsed = (made: Html): readonly Node[] => parseFragment(made.toString()).childNodes;

/** As a parser of the standard reads it: line breaks become one kind, NUL is no character. */
const asRead = (text: string): string =>
  text.replaceAll(/\r\n?/g, '\n').replaceAll('\0', '\uFFFD').toWellFormed();

/** Texts that look like markup, among all others. */
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        '<',
        '>',
        '"',
        "'",
        '&',
        '&lt;',
        '&#0;',
        '</p>',
        '<script>',
        '-->',
        '<!--',
        ']]>',
        '=',
        '`',
        ' on',
        '\0',
        '\r',
        'x',
      ),
    )
    .map((all) => all.join('')),
);

describe('a text in a template', () => {
  test('is parsed as the same text, and makes no element', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const [element, ...others] = parsed(html`<p>${text}</p>`);
        expect(others).toEqual([]);
        const inside = element && 'childNodes' in element ? element.childNodes : [];
        expect(inside.map((node) => node.nodeName)).toEqual(text === '' ? [] : ['#text']);
        expect(inside.map((node) => ('value' in node ? node.value : '')).join('')).toBe(
          asRead(text),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test('is parsed as the same value in an attribute, and makes no other attribute', () => {
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        const [element, ...others] = parsed(html`<a title="${one}" data-more="${other}">x</a>`);
        expect(others).toEqual([]);
        expect(element && 'attrs' in element ? element.attrs : []).toEqual([
          { name: 'title', value: asRead(one) },
          { name: 'data-more', value: asRead(other) },
        ]);
      }),
      { numRuns: 2_000 },
    );
  });

  test('is escaped once, however deep it is nested', () => {
    const list: Part = [html`<li>${'a & b'}</li>`, 'c < d', [null, false, undefined, 7]];
    expect(html`<ul>${list}</ul>`.toString()).toBe('<ul><li>a &amp; b</li>c &lt; d7</ul>');
  });
});

describe('HTML', () => {
  test('is made by templates alone', () => {
    // @ts-expect-error: the mark is known to templates alone.
    expect(() => new Html('<script>', Symbol('made by a template'))).toThrow(
      'only a template makes HTML',
    );
  });

  test('accepts no value without an explicit text, which the compiler enforces', () => {
    const never = () => [
      // @ts-expect-error: a date has many texts.
      html`${new Date(0)}`,
      // @ts-expect-error: an object has none.
      html`${{ name: 'x' }}`,
      // @ts-expect-error: a promise is not there yet.
      html`${Promise.resolve('x')}`,
    ];
    expect(never).toThrow(TypeError);
    expect(html`${0}`.toString()).toBe('0');
  });
});

describe('an address', () => {
  test('leads to a path of ours, to the web or to a mail, and nowhere else', () => {
    for (const good of [
      '/',
      '/monitors/1?a=b#c',
      'https://shop.example/x',
      'HTTP://shop.example',
      'mailto:ana@shop.example',
    ])
      expect(safeUrl(good)).toBe(good);
    for (const bad of [
      'javascript:alert(1)',
      ' javascript:alert(1)',
      'java\nscript:alert(1)',
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      'data:text/html,x',
      'x',
      '',
    ])
      expect(safeUrl(bad)).toBe('#');
  });

  test('carries what is there in its query', () => {
    expect(query({ q: 'a & b', page: 2, none: null, empty: '' })).toBe('?q=a%20%26%20b&page=2');
    expect(query({ q: undefined })).toBe('');
  });
});

test('the layout of a template in its source does not reach the page', () => {
  const name = 'Ada';
  const list = html`
    <ul class="names">
      <li
        class="first"
        ${name === 'Ada' && html`id="ada"`}
      >
        ${name} is the
        first of <b>them</b><br
          class="end"
        />
      </li>
      ${html`<li></li>`}
    </ul>
  `;
  expect(String(list)).toBe(
    '<ul class="names"><li class="first" id="ada">Ada is the first of <b>them</b><br class="end"/></li><li></li></ul>',
  );
});

test('a line break of a value is kept, and so is a space within a line', () => {
  expect(String(html`<pre>${'a\n  b'}</pre> <i>c</i>`)).toBe('<pre>a\n  b</pre> <i>c</i>');
});
