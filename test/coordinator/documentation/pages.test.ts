import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  pageNames,
  pageText,
  pictureNames,
  pictureText,
} from '../../../coordinator/documentation/page-files.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

/** The documentation as a coordinator serves it. */

let web: TestWeb;

beforeAll(async () => {
  web = await startWeb();
});
afterAll(() => web.close());

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${web.url}${path}`, { headers, redirect: 'manual' });
const textOf = async (path: string): Promise<string> => (await get(path)).text();
const names = pageNames().filter((name) => name !== 'README');

describe('as HTML', () => {
  test('every page is there for everybody, without a script of its own, and its links lead on', async () => {
    for (const name of names) {
      const answer = await get(`/docs/${name}`);
      const text = await answer.text();
      expect([name, answer.status, answer.headers.get('content-type')]).toEqual([
        name,
        200,
        'text/html; charset=utf-8',
      ]);
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(text).toContain(`aria-current="page"`);
      const astray = [...text.matchAll(/href="\/docs\/([\w.-]+)/g)].filter(
        ([, to = '']) => !pageNames().includes(to.replace(/\.md$/, '')),
      );
      expect([name, astray]).toEqual([name, []]);
      expect(text).not.toMatch(/href="[^"]*\.md#|style="|<script(?! src="\/assets\/)/);
    }
  });

  test('the index leads to all of them, and stands at /docs', async () => {
    const text = await textOf('/docs');
    for (const name of names) expect(text).toContain(`href="/docs/${name}"`);
    for (const path of ['/docs/', '/docs/README'])
      expect([path, (await get(path)).headers.get('location')]).toEqual([path, '/docs']);
  });

  test('the index finds pages by all words of a search, and says where there are none', async () => {
    const found = async (find: string) =>
      [...(await textOf(`/docs?find=${find}`)).matchAll(/href="\/docs\/([\w-]+)"/g)].map(
        ([, name]) => name,
      );
    expect(await found('Burn+rate')).toContain('objectives');
    expect(await found('burn+zzz')).toEqual([]);
    expect(await textOf('/docs?find=burn+zzz')).toContain('No results');
    expect(await textOf('/docs?find=%22%3E%3Cb%3E')).toContain('value="&quot;&gt;&lt;b&gt;"');
  });

  test('headings have the anchors that links name', async () => {
    expect(await textOf('/docs/troubleshooting-trust')).toContain(
      '<h2 id="secret_key-must-be-replaced"><a href="#secret_key-must-be-replaced"><code>SECRET_KEY</code>',
    );
  });

  test('commands name this installation, and stay as they are otherwise', async () => {
    const text = await textOf('/docs/command-line');
    expect(text).toContain(`export ANTIPODE_URL=${web.url}\ncurl -fsS`);
    expect(text).not.toContain('https://antipode.example');
  });

  test('a reader who signed in gets the same', async () => {
    const cookie = await web.cookieOf(web.house.owner);
    expect((await get('/docs/start', { cookie })).status).toBe(200);
  });

  test('pictures are there, and pages show them', async () => {
    expect(pictureNames()).toContain('referee');
    for (const name of pictureNames()) {
      const answer = await get(`/docs/${name}.svg`);
      expect(answer.headers.get('content-type')).toBe('image/svg+xml');
      expect(await answer.text()).toBe(pictureText(name));
    }
    expect(await textOf('/docs/referee')).toContain('<img src="/docs/referee.svg" alt="');
    expect((await get('/docs/nothing.svg')).status).toBe(404);
  });

  test.each(['/docs/nothing', '/docs/nothing.md', '/docs/..%2fREADME.md', '/docs/start.md.md'])(
    '%s is not there',
    async (path) => {
      expect((await get(path, { accept: 'text/html' })).status).toBe(404);
    },
  );
});

describe('for programs', () => {
  test('every page is there as it is written', async () => {
    for (const name of pageNames()) {
      const answer = await get(`/docs/${name}.md`);
      expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
      expect(await answer.text()).toBe(pageText(name));
    }
  });

  test('llms.txt lists them by title and a line each, at both addresses', async () => {
    const text = await textOf('/llms.txt');
    expect(text).toBe(await textOf('/docs/llms.txt'));
    const [title, , about] = text.split('\n');
    expect([title, about]).toEqual(['# Antipode', expect.stringMatching(/^> \S/)]);
    for (const name of names)
      expect(text).toMatch(
        new RegExp(`^- \\[[^\\]]+\\]\\(${web.url}/docs/${name}\\.md\\): \\S`, 'm'),
      );
  });
});

test.each(['/docs', '/docs/start', '/docs/start.md', '/llms.txt'])(
  'a browser keeps %s, and hears that it is the same',
  async (path) => {
    const first = await get(path);
    const tag = first.headers.get('etag') ?? '';
    expect([tag, first.headers.get('cache-control')]).toEqual([
      expect.stringMatching(/^W\/"\S{16}"$/),
      expect.stringContaining('no-cache'),
    ]);
    const again = await get(path, { 'if-none-match': tag });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect((await get(path, { 'if-none-match': 'W/"another"' })).status).toBe(200);
  },
);
