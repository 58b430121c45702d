import { createHash } from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import { docsPage, docsSecurityPolicy } from '../../../coordinator/api/docs.ts';
import { apiDocument } from '../../../coordinator/api/openapi.ts';
import { planNames, plans } from '../../../coordinator/gate/plans.ts';
import { configKeys, kinds } from '../../../shared/api/config-keys.ts';
import { restOperations } from '../../../shared/api/index.ts';
import { isRecord } from '../../../shared/base/json.ts';

describe('The page of the API document', () => {
  const document = apiDocument('https://antipode.example.org');
  const page = docsPage(document, 'https://antipode.example.org');
  const all = (pattern: RegExp): readonly string[] =>
    [...page.matchAll(pattern)].map(([, found]) => found ?? '');

  it('lists every operation, every field and every code', () => {
    for (const { id, path, summary } of restOperations)
      for (const part of [id, path, summary]) expect(page).toContain(part);
    for (const name of Object.keys(document.components.schemas))
      expect(page).toContain(`id="${name}"`);
    expect(page).toContain('plan_limit_monitors');
  });

  it('links to the service record where it is public', () => {
    expect(page).not.toContain('href="/about"');
    expect(docsPage(document, 'https://antipode.example.org', true)).toContain('href="/about"');
  });

  it('lists every key of a config, under its type', () => {
    const text = (html: string) =>
      html
        .replaceAll(/<[^>]+>/g, '')
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'")
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>');
    for (const kind of kinds) {
      const chapter = text(
        new RegExp(`<section id="config-${kind}">([\\s\\S]*?)</section>`).exec(page)?.[1] ?? '',
      );
      for (const [key, { meaning, allowed }] of Object.entries(configKeys[kind]))
        for (const words of [key, meaning, allowed])
          expect(chapter).toContain(words.replaceAll('`', ''));
    }
    expect(page.split('<a href="#config">Every key</a>')).toHaveLength(4);
  });

  it('lists every number of every plan, from the one table', () => {
    const table = /<table class="plans">([\s\S]*?)<\/table>/.exec(page)?.[1] ?? '';
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

  it('shows every operation as a call to copy, with curl and as a command', () => {
    for (const { id, method, path, query } of restOperations) {
      const part =
        page.slice(page.indexOf(`<article aria-labelledby="${id}"`)).split('</article>')[0] ?? '';
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
        /<h4>With the client<\/h4><pre class="copy" tabindex="0"><code>antipode [a-z]/,
      );
    }
    expect(page).toContain(`-d &#39;{&quot;type&quot;`);
    for (const chapter of ['begin', 'client', 'assistants'])
      expect(page).toContain(`<h2 id="${chapter}">`);
    expect(page).toContain('<code>https://antipode.example.org/mcp</code>');
  });

  it('loads nothing, and its policy allows its one style and its one script', () => {
    const [script = '', ...more] = all(/<script>([\s\S]*?)<\/script>/g);
    expect(more).toEqual([]);
    expect(docsSecurityPolicy).toContain(
      `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
    );
    expect(page.replace(script, '')).not.toMatch(/<script |<link|<img|@import|url\(|\son\w+=/i);
    expect(all(/href="([^"#][^"]*)"/g)).toEqual(['/api/v1/openapi.json']);
    const [style = ''] = all(/<style>([\s\S]*?)<\/style>/g);
    expect(docsSecurityPolicy).toContain(
      `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    );
  });

  it('can be walked by keyboard and screen reader: landmarks, headings in order, links that lead somewhere', () => {
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
