import { createHash } from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import { createReference, docsSecurityPolicy } from '../../../coordinator/api/docs.ts';
import { apiDocument } from '../../../coordinator/api/openapi.ts';
import { pageNames } from '../../../coordinator/documentation/page-files.ts';
import { planNames, plans } from '../../../coordinator/gate/plans.ts';
import { configKeys, kinds } from '../../../shared/api/config-keys.ts';
import { restOperations } from '../../../shared/api/index.ts';
import { isRecord } from '../../../shared/base/json.ts';

describe('The pages of the API document', () => {
  const document = apiDocument('https://antipode.example.org');
  const reference = createReference(document, 'https://antipode.example.org');
  const index = reference.index('');
  const pageOf = (name: string): string => reference.page(name) ?? `no page ${name}`;
  const found = (page: string, pattern: RegExp): readonly string[] =>
    [...page.matchAll(pattern)].map(([, each]) => each ?? '');
  const nodesIn = (page: string): number => found(page, /(<[a-z])/g).length;
  const names = [
    ...restOperations.map(({ id }) => id),
    ...Object.keys(document.components.schemas),
    'config',
    'plans',
  ];
  const pages = [index, ...names.flatMap((name) => reference.page(name) ?? [])];

  it('list every operation, and open one at a time with its fields and codes', () => {
    for (const { id, path, summary } of restOperations) {
      expect(index).toContain(`<li id="${id}"><a href="/api/v1/docs/${id}">`);
      for (const part of [id, path, summary]) expect(pageOf(id)).toContain(part);
    }
    expect(pageOf('createMonitor')).toContain('plan_limit_monitors');
    expect(pageOf('createMonitor')).toContain('Fields of MonitorIn');
    expect(reference.page('nothing')).toBeUndefined();
  });

  it('are light: the index and each page have few elements', () => {
    expect(pages.length).toBeGreaterThan(200);
    expect(nodesIn(index)).toBeGreaterThan(restOperations.length * 4);
    for (const page of pages) expect(nodesIn(page)).toBeLessThanOrEqual(3_000);
  });

  it('are found by any words of theirs, without scripts', () => {
    const asked = (words: string): readonly string[] =>
      found(reference.index(words), /<li id="([^"]+)"/g);
    expect(asked('idempotency_key_in_use create monitor')).toContain('createMonitor');
    expect(asked('body_contains')).toContain('config');
    expect(asked('acknowledge')).not.toContain('createMonitor');
    expect(asked('xyzzy')).toEqual([]);
    expect(reference.index('xyzzy')).toContain('Nothing has all of these words.');
    expect(reference.index('"><script>')).toContain('value="&quot;&gt;&lt;script&gt;"');
  });

  it('link to the service record where it is public', () => {
    expect(index).not.toContain('href="/about"');
    const open = createReference(document, 'https://antipode.example.org', true);
    expect(open.index('')).toContain('href="/about"');
  });

  it('list every key of a config, under its type', () => {
    const text = (html: string) =>
      html
        .replaceAll(/<[^>]+>/g, '')
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'")
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>');
    for (const kind of kinds) {
      const chapter = text(
        new RegExp(`<section id="config-${kind}">([\\s\\S]*?)</section>`).exec(
          pageOf('config'),
        )?.[1] ?? '',
      );
      for (const [key, { meaning, allowed }] of Object.entries(configKeys[kind]))
        for (const words of [key, meaning, allowed])
          expect(chapter).toContain(words.replaceAll('`', ''));
    }
    for (const name of ['MonitorIn', 'MonitorPatch', 'MonitorOut'])
      expect(pageOf(name)).toContain('<a href="/api/v1/docs/config">Every key</a>');
  });

  it('list every number of every plan, from the one table', () => {
    const table = /<table class="plans">([\s\S]*?)<\/table>/.exec(pageOf('plans'))?.[1] ?? '';
    const rows = [...table.matchAll(/<tr><th scope="row">[^<]+<\/th>(.*?)<\/tr>/g)].map(
      ([, cells = '']) => [...cells.matchAll(/<td>([^<]*)<\/td>/g)].map(([, cell]) => cell),
    );
    const words = (value: number) =>
      Number.isFinite(value) ? value.toLocaleString('en') : 'no limit';
    const columns = planNames.map((plan) =>
      Object.entries(plans[plan]).map(([key, value]) =>
        key === 'min_interval_s' && value === 0 ? '10' : words(value),
      ),
    );
    expect(columns.map((_, plan) => rows.map((row) => row[plan]))).toEqual(columns);
  });

  it('show every operation as a call to copy, with curl and as a command', () => {
    for (const { id, method, path, query } of restOperations) {
      const part = pageOf(id);
      const route = path.replaceAll(/\{\w+\}/g, '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f');
      expect(part).toContain(
        `curl -sS --fail-with-body${method === 'GET' ? '' : ` -X ${method}`} &quot;$ANTIPODE_URL${route}`,
      );
      const asked = new URL(
        `http://x${/\$ANTIPODE_URL(\S+?)&quot;/.exec(part)?.[1]?.replaceAll('&amp;', '&')}`,
      ).searchParams;
      const required = Object.entries(query).filter(([, field]) => field.absent === undefined);
      expect([id, [...asked.keys()]]).toEqual([id, required.map(([key]) => key)]);
      for (const [key, field] of required)
        expect([key, field.parse(asked.get(key), []).ok]).toEqual([key, true]);
      expect(part).toMatch(
        /<h2>With the client<\/h2><pre class="copy" tabindex="0"><code>antipode [a-z]/,
      );
    }
    expect(pageOf('createMonitor')).toContain(`-d &#39;{&quot;type&quot;`);
    expect(index).toContain('<h2 id="begin">');
  });

  it('load nothing, and their policy allows their one style and their one script', () => {
    for (const page of [index, pageOf('createMonitor')]) {
      const all = (pattern: RegExp) => found(page, pattern);
      const [script = '', ...more] = all(/<script>([\s\S]*?)<\/script>/g);
      expect(more).toEqual([]);
      expect(docsSecurityPolicy).toContain(
        `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
      );
      expect(page.replace(script, '')).not.toMatch(/<script |<link|<img|@import|url\(|\son\w+=/i);
      const [style = ''] = all(/<style>([\s\S]*?)<\/style>/g);
      expect(docsSecurityPolicy).toContain(
        `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
      );
    }
  });

  it('lead to each other, and to the documentation', () => {
    const ids = found(index, /\sid="([^"]+)"/g);
    for (const page of pages)
      for (const to of found(page, /href="([^"]+)"/g)) {
        const [, name, part] = /^\/api\/v1\/docs(?:\/(\w+))?(?:#(.+))?$/.exec(to) ?? [];
        if (name !== undefined) expect(reference.page(name), to).toBeDefined();
        else if (part !== undefined) expect(ids).toContain(part);
        else if (to.startsWith('/docs/')) expect(pageNames()).toContain(to.slice('/docs/'.length));
        else expect(['#content', '/docs', '/api/v1/docs', '/api/v1/openapi.json']).toContain(to);
      }
  });

  it('can be walked by keyboard and screen reader: landmarks, headings in order, links that lead somewhere', () => {
    for (const page of [
      index,
      pageOf('createMonitor'),
      pageOf('MonitorOut'),
      pageOf('config'),
      pageOf('plans'),
    ]) {
      const all = (pattern: RegExp) => found(page, pattern);
      expect(page).toMatch(/<html lang="en">/);
      expect(page).toMatch(/<a class="skip" href="#content">/);
      expect(page).toMatch(/<nav aria-label="[^"]+">[\s\S]*<main id="content">/);
      const levels = all(/<h([1-6])/g).map(Number);
      expect(levels[0]).toBe(1);
      for (const [position, level] of levels.entries())
        expect(level).toBeLessThanOrEqual((levels[position - 1] ?? 0) + 1);
      const ids = all(/\sid="([^"]+)"/g);
      expect(new Set(ids).size).toBe(ids.length);
      expect(all(/href="#([^"]+)"/g).filter((target) => !ids.includes(target))).toEqual([]);
      expect(
        all(/<table[^>]*>([\s\S]*?)<\/table>/g).every(
          (table) => table.includes('scope="col"') && table.includes('scope="row"'),
        ),
      ).toBe(true);
    }
  });
});

describe('document words', () => {
  const document = apiDocument('https://antipode.example.org');
  const entries = Object.values(document.paths).flatMap((methods) => Object.values(methods));

  const members = (name: string): Record<string, unknown> => {
    const schema = document.components.schemas[name];
    return isRecord(schema) && isRecord(schema.properties) ? schema.properties : {};
  };

  test('nothing in the document is without words: no operation, no parameter, no member', () => {
    const silent: string[] = [];
    const isSaid = (of: unknown): boolean =>
      isRecord(of) &&
      (typeof of.$ref === 'string' ||
        (typeof of.description === 'string' && of.description.trim() !== ''));
    for (const entry of entries) {
      if (!isSaid(entry)) silent.push(entry.operationId);
      for (const parameter of entry.parameters)
        if (!isSaid(parameter)) silent.push(`${entry.operationId} ${parameter.name}`);
    }
    for (const name of Object.keys(document.components.schemas))
      for (const [member, of] of Object.entries(members(name)))
        if (!isSaid(of)) silent.push(`${name}.${member}`);
    expect(silent).toEqual([]);
  });

  test('inputs state their limits, outputs do not', () => {
    expect(members('MonitorIn')).toMatchObject({
      name: { maxLength: 200 },
      target: { maxLength: 2_048 },
    });
    expect(members('MonitorIn').interval_s).toMatchObject({
      anyOf: [{ type: 'integer', minimum: 10, maximum: 31_536_000 }, { type: 'null' }],
    });
    expect(members('GroupPatch').description).toMatchObject({
      anyOf: [{ type: 'string', maxLength: 2_000 }, { type: 'null' }],
    });
    expect(members('MonitorOut').name).not.toHaveProperty('maxLength');
  });

  test('a client that is generated from it can send a local time, and reads instants', () => {
    for (const name of ['MaintenanceIn', 'MaintenancePatch'])
      expect(JSON.stringify([members(name).starts_at, members(name).ends_at]), name).not.toContain(
        'date-time',
      );
    expect(members('MaintenanceOut').starts_at).toMatchObject({
      type: 'string',
      format: 'date-time',
    });
  });

  test('every operation may be answered that it took too long, and a patch says what becomes of a config', () => {
    for (const entry of entries)
      expect(entry.responses[408], entry.operationId).toEqual({
        $ref: '#/components/responses/TooSlow',
      });
    expect(document.components.responses.TooSlow).not.toHaveProperty('headers.RateLimit-Reset');
    expect(JSON.stringify(members('MonitorPatch').config)).toMatch(
      /replaces the whole.*left out is gone.*another scheme, host or port/,
    );
  });
});
