import { describe, expect, test } from 'vitest';
import { draftOf } from '../../../../shared/client/discover/draft.ts';
import { type ExposedKind, exposedBy } from '../../../../shared/client/discover/exposed.ts';
import { readConfiguration } from '../../../../shared/client/files/configuration.ts';
import { fileText } from '../../../../shared/client/files/export.ts';
import fc from '../../../support/random.ts';

type Rule = { readonly host?: string; readonly paths?: readonly object[] };

const ingress = (
  name: string,
  rules: readonly Rule[],
  {
    tls = [],
    annotations = {},
    labels = {},
  }: {
    readonly tls?: readonly object[];
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  } = {},
) => ({
  metadata: {
    namespace: 'shop',
    name,
    labels,
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [`antipode.example/${key}`, value]),
    ),
  },
  spec: { tls, rules: rules.map(({ host, paths }) => ({ host, http: { paths } })) },
});

const route = (name: string, spec: object) => ({ metadata: { namespace: 'shop', name }, spec });

const draft = (...objects: readonly (readonly [ExposedKind, unknown])[]) =>
  draftOf(
    'kubernetes',
    objects.flatMap(([kind, object]) => exposedBy(kind, object) ?? []),
  );
const ofIngress = (...objects: readonly unknown[]) =>
  draft(...objects.map((object): [ExposedKind, unknown] => ['Ingress', object]));

describe('an Ingress', () => {
  test('has a monitor for each host, with its first path, and https where it has a certificate', () => {
    const { objects, notes } = ofIngress(
      ingress(
        'web',
        [
          { host: 'shop.example', paths: [{ path: '/cart', pathType: 'Prefix' }, { path: '/' }] },
          { host: 'shop.example', paths: [{ path: '/later' }] },
          { host: 'old.example' },
          {
            host: 'a.wild.example',
            paths: [{ path: '/x(/|$)(.*)', pathType: 'ImplementationSpecific' }],
          },
        ],
        { tls: [{ hosts: ['shop.example', '*.wild.example'] }] },
      ),
    );
    expect(objects.monitors).toEqual({
      'shop/web/shop.example/cart': {
        type: 'https',
        target: 'https://shop.example/cart',
        name: 'shop.example/cart',
        group: 'shop',
      },
      'shop/web/old.example': {
        type: 'https',
        target: 'http://old.example/',
        name: 'old.example',
        group: 'shop',
      },
      'shop/web/a.wild.example/x': {
        type: 'https',
        target: 'https://a.wild.example/x',
        name: 'a.wild.example/x',
        group: 'shop',
      },
    });
    expect(objects.groups).toEqual({ shop: { name: 'kubernetes/shop' } });
    expect(notes).toEqual([]);
  });

  test('without a host, with a wildcard or for an address that has a monitor says so', () => {
    const { objects, notes } = ofIngress(
      ingress('a', [{ host: '*.shop.example' }, {}]),
      ingress('b', [{ host: 'shop.example' }]),
      ingress('c', [{ host: 'shop.example' }]),
    );
    expect(Object.keys(objects.monitors)).toEqual(['shop/b/shop.example']);
    expect(notes).toEqual([
      'Ingress shop/a: *.shop.example is a wildcard, which names no host to check.',
      'Ingress shop/a: a rule without a host answers for all; there is none to check.',
      'Ingress shop/c: http://shop.example/ is checked for Ingress shop/b already.',
    ]);
  });

  test('that cert-manager makes for a minute is left out', () => {
    const solver = ingress('cm-acme-http-solver-x', [{ host: 'shop.example' }], {
      labels: { 'acme.cert-manager.io/http01-solver': 'true' },
    });
    expect(ofIngress(solver)).toEqual({
      objects: { groups: {}, monitors: {} },
      plain: {},
      notes: [],
    });
  });
});

describe('an HTTPRoute', () => {
  test('has https, unless all its listeners are of port 80, and the first path that a GET meets', () => {
    const { objects } = draft(
      [
        'HTTPRoute',
        route('web', {
          hostnames: ['shop.example', 'www.shop.example'],
          parentRefs: [{ name: 'edge' }],
          rules: [
            { filters: [{ type: 'RequestRedirect' }] },
            {
              matches: [
                { path: { type: 'RegularExpression', value: '/a.*' } },
                { method: 'POST', path: { value: '/in' } },
              ],
            },
            { matches: [{ path: { type: 'PathPrefix', value: '/start' } }] },
          ],
        }),
      ],
      ['HTTPRoute', route('plain', { hostnames: ['plain.example'], parentRefs: [{ port: 80 }] })],
    );
    expect(Object.values(objects.monitors).map(({ target }) => target)).toEqual([
      'http://plain.example/',
      'https://shop.example/start',
      'https://www.shop.example/start',
    ]);
  });

  test('that only redirects is left out, and one without hostnames says so', () => {
    const { objects, notes } = draft(
      [
        'HTTPRoute',
        route('up', {
          hostnames: ['a.example'],
          rules: [{ filters: [{ type: 'RequestRedirect' }] }],
        }),
      ],
      ['HTTPRoute', route('any', { rules: [{}] })],
    );
    expect(objects.monitors).toEqual({});
    expect(notes).toEqual([
      'HTTPRoute shop/any: it has no hostnames; add those that it answers for.',
    ]);
  });
});

describe('annotations', () => {
  const monitor = (annotations: Readonly<Record<string, string>>) => {
    const { objects, notes } = ofIngress(
      ingress('web', [{ host: 'shop.example' }], { annotations }),
    );
    return { monitor: Object.values(objects.monitors)[0], groups: objects.groups, notes };
  };

  test('go straight to the fields of the file', () => {
    const all = monitor({
      name: 'Shop',
      path: '/healthz?full=1',
      scheme: 'https',
      interval: '5m',
      timeout: '1500ms',
      'expected-status': '2xx, 401-403',
      tags: 'eu, shop',
      group: 'front',
    });
    expect(all).toEqual({
      monitor: {
        type: 'https',
        target: 'https://shop.example/healthz?full=1',
        name: 'Shop',
        group: 'front',
        interval_s: 300,
        tags: ['eu', 'shop'],
        config: { timeout_ms: 1500, expected_status: ['2xx', '401-403'] },
      },
      groups: { front: { name: 'kubernetes/front' } },
      notes: [],
    });
    expect(monitor({ group: 'infra/web' })).toMatchObject({
      monitor: { group: 'infra/web' },
      groups: {},
    });
    expect(monitor({ group: '' }).monitor).not.toHaveProperty('group');
    expect(monitor({ ignore: 'true', interval: 'often' })).toMatchObject({
      monitor: undefined,
      notes: [],
    });
  });

  test.each([
    ['interval', 'often'],
    ['interval', '9s'],
    ['interval', '1500ms'],
    ['timeout', '2m'],
    ['expected-status', '2xx, teapot'],
    ['expected-status', ''],
    ['tags', 'two words'],
    ['path', 'healthz'],
    ['path', '//elsewhere.example/'],
    ['scheme', 'ftp'],
    ['ignore', 'yes'],
    ['name', 'x'.repeat(201)],
    ['group', 'Web Shop'],
  ])('with a bad value are left out: %s %j', (key, value) => {
    const { monitor: left, notes } = monitor({ [key]: value });
    expect(left).toEqual(monitor({}).monitor);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain(
      `Ingress shop/web: antipode.example/${key}: "${value.slice(0, 60)}" is left out; it must be `,
    );
  });

  test('that there are not are named', () => {
    expect(monitor({ intervall: '30s' }).notes).toEqual([
      'Ingress shop/web: there is no annotation antipode.example/intervall; did you mean interval?',
    ]);
    expect(monitor({ constructor: '1' }).notes).toHaveLength(1);
  });
});

describe('the file', () => {
  test('keeps keys apart where no key may be so long or so written', () => {
    const long = 'x'.repeat(60);
    const hosts = [`a.${long}.example`, `b.${long}.example`];
    const { objects } = ofIngress(
      ...hosts.map((host) => ingress(`${long}-ingress`, [{ host, paths: [{ path: '/A~b' }] }])),
    );
    const keys = Object.keys(objects.monitors);
    expect(new Set(keys).size).toBe(2);
    for (const key of keys) expect(key).toMatch(/^shop\/x{60}-ingress\/[ab]\.x+-[0-9a-f]{8}$/);
  });

  test('is the same whatever order the objects come in, and valid whatever they say', () => {
    const text = fc.oneof(
      fc.constantFrom(
        'shop.example',
        '*.x.example',
        '',
        '/',
        '/a',
        'interval',
        '30s',
        'group',
        'a/b',
        `\${HOME}`,
        'true',
      ),
      fc.string(),
    );
    const rule = fc.record(
      { host: text, paths: fc.array(fc.record({ path: text, pathType: text }), { maxLength: 2 }) },
      { requiredKeys: [] },
    );
    const object = fc.record({
      name: fc.stringMatching(/^[a-z][a-z0-9-]{0,20}[a-z0-9]$/),
      rules: fc.array(rule, { maxLength: 3 }),
      annotations: fc.dictionary(
        fc.oneof(fc.constantFrom('name', 'path', 'group', 'tags', 'interval'), fc.string()),
        text,
        { maxKeys: 3 },
      ),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(object, { selector: ({ name }) => name, maxLength: 5 }),
        (given) => {
          const objects = given.map(({ name, rules, annotations }) =>
            ingress(name, rules, { annotations }),
          );
          const made = ofIngress(...objects);
          expect(ofIngress(...objects.toReversed())).toEqual(made);
          const whole = {
            ...made.objects,
            channels: {},
            maintenance: {},
            objectives: {},
            status_pages: {},
          };
          const { faults } = readConfiguration(
            [{ file: 'x', text: fileText('kubernetes', { objects: whole }) }],
            undefined,
          );
          expect(faults).toEqual([]);
        },
      ),
    );
  });

  test('survives what is no such object', () => {
    const odd = { metadata: { name: 'a', namespace: 'b' }, spec: { rules: 'x', tls: 7 } };
    for (const object of [null, 7, [], {}, { metadata: null }, odd])
      expect(draft(['Ingress', object], ['HTTPRoute', object]).objects.monitors).toEqual({});
  });
});
