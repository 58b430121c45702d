import { expect, test } from 'vitest';
import { markdown } from '../../../coordinator/web/markdown.ts';

const shown = (text: string): string => {
  const [, inside = ''] =
    /^<div class="prose">([\s\S]*)<\/div>$/.exec(String(markdown(text))) ?? [];
  return inside;
};

test('paragraphs keep their lines, and lists, headings and code are what they are', () => {
  expect(
    shown(
      '## First\r\nCall Ana.\r\nThen Bo.\r\n\r\n1. Stop\n2. Start\n\n- `top`\n* **now**\n```\na <b>\n  - c\n```\nEnd',
    ),
  ).toBe(
    '<p><b>First</b></p><p>Call Ana.<br>Then Bo.</p><ol><li>Stop</li><li>Start</li></ol>' +
      '<ul><li><code>top</code></li><li><b>now</b></li></ul>' +
      '<pre>a &lt;b&gt;\n  - c</pre><p>End</p>',
  );
});

test('addresses are links, with words or bare, and end before the full stop', () => {
  expect(shown('See [the wiki](https://wiki.example/shop) or https://a.example/x?y=1&z.')).toBe(
    '<p>See <a href="https://wiki.example/shop" rel="noreferrer">the wiki</a> or ' +
      '<a href="https://a.example/x?y=1&amp;z" rel="noreferrer">https://a.example/x?y=1&amp;z</a>.</p>',
  );
});

test.each([
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '[x](javascript:alert(1))',
  '[x](data:text/html,y)',
  '![x](//evil.example/a.png)',
  '[a"onmouseover="b](/c)',
])('%s is text', (text) => {
  expect(shown(text)).not.toMatch(/<(?!\/?p>)/);
});

test('an address cannot leave its attribute', () => {
  expect(shown('[x](https://a.example/"onclick="b)')).toBe(
    '<p><a href="https://a.example/&quot;onclick=&quot;b" rel="noreferrer">x</a></p>',
  );
});

test('an open fence, an empty text and a mark without its end are no fault', () => {
  expect([shown('```\na'), shown(''), shown('**a `b [c](d')]).toEqual([
    '<pre>a</pre>',
    '',
    '<p>**a `b [c](d</p>',
  ]);
});
