/**
 * Requests that nobody should send, made from the API document: each field is left out, plausible,
 * or anything at all.
 */

import { apiDocument, type OperationEntry } from '../../coordinator/api/openapi.ts';
import { isRecord } from '../../shared/base/json.ts';
import fc from './random.ts';

export type HostileRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly operationId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer | undefined;
};

const document = apiDocument('http://localhost');

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? { a: value } : [value];
  return value;
};

const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    '\0',
    'a\0b',
    '\ud800',
    '\udc00x',
    '\u202e',
    '😀'.repeat(60),
    'x'.repeat(3000),
    "'; drop table monitors; --",
    '../..',
    '\r\nX: y',
  ),
  fc.constantFrom(
    '0',
    '-1',
    '1e400',
    'NaN',
    'null',
    'true',
    '9'.repeat(400),
    '0x10',
    '1_000',
    '2026-02-30T00:00',
    '0000-01-01',
    '9999-12-31T23:59:59-23:59',
  ),
);

const oddNumber = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, -1, 0.5, 1e20, -1e20, 1e308, 2 ** 31, 2 ** 53, 2 ** 63, -(2 ** 31) - 1),
);

const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  oddNumber,
  oddText,
  fc.array(fc.oneof(oddText, oddNumber, fc.constant(null)), { maxLength: 5 }),
  fc.dictionary(
    fc.oneof(oddText, fc.constantFrom('__proto__', 'constructor', 'toString')),
    oddText,
    { maxKeys: 4 },
  ),
  fc.integer({ min: 1, max: 600 }).map(nested),
);

/** Values that get past the form of a field, so that what lies behind it is tried as well. */
const plausible: Readonly<Record<string, readonly unknown[]>> = {
  type: ['https', 'https', 'dns', 'heartbeat', 'heartbeat', 'HTTPS'],
  target: [
    'https://example.org/',
    'http://127.0.0.1/',
    'https://[::1]/',
    'example.org',
    'https://exa mple',
    'https://user:pw@example.org/',
    '',
    'https://é.example/',
  ],
  name: ['Shop', 'Backup', 'Mail', ' ', 'é', 'x'.repeat(201)],
  display_name: ['Shop', null, 'Mail', ' ', 'x'.repeat(201)],
  description: ['What customers see', '', null, 'x'.repeat(2001)],
  interval_s: [10, 60, '60', 86_400, null, 9, 31_536_001, true],
  rrule: [
    'FREQ=DAILY',
    'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=SECONDLY',
    'DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY',
    'FREQ=DAILY;COUNT=0',
    'x',
  ],
  starts_at: [
    '2027-01-05T02:00:00',
    '2027-01-05T02:00',
    '2027-01-05T02:00:00Z',
    1_800_000_000,
    '0001-01-01T00:00:00',
    '9999-12-31T23:00:00Z',
  ],
  ends_at: [
    '2027-01-05T03:00:00',
    '2027-01-05 03:00',
    '2027-01-05T03:00:00Z',
    1_800_003_600,
    '9999-12-31T23:59:59-23:59',
  ],
  slug: ['status', 'shop-status', 'Shop', 'a b', '', 'x'.repeat(61)],
  language: ['en', 'de', null, 'it'],
  accent: ['#0a5bb5', '', null, '#ffcc00', 'red'],
  access: ['public', 'password', 'link', null, 'friends'],
  password: [null, 'for everybody', 'x'],
  domain: [null, '', 'status.example.org', 'https://status.example.org/', '127.0.0.1', 'é.example'],
  kind: ['investigating', 'resolved', 'webhook', 'over'],
  text: [null, 'We look into it.', ' ', 'x'.repeat(2001)],
  position: [null, 0, 3, -1, 2 ** 40, 0.5],
};

const configKeys = [
  'timeout_ms',
  'continents',
  'probe',
  'alert_after_s',
  'method',
  'headers',
  'secret_headers',
  'body',
  'expected_status',
  'follow_redirects',
  'max_redirects',
  'body_contains',
  'body_matches',
  'json',
  'header_contains',
  'header_matches',
  'tls_expires_within_days',
  'ip_family',
  'basic_auth',
  'bearer_token',
  'client_certificate',
  'max_response_ms',
  'warn',
  'fail_on',
  'record_type',
  'resolver',
  'transport',
  'expected_values',
  'match',
  'expected_rcode',
  'min_ttl',
  'grace_s',
  'schedule',
  'timezone',
  'max_run_s',
  'unknown',
] as const;

const oddConfig = fc.dictionary(
  fc.constantFrom(...configKeys),
  fc.oneof(
    oddValue,
    fc.constantFrom<unknown[]>(
      ['Europe'],
      ['2xx', '200-299'],
      { username: 'u', password: '***' },
      '0 * * * *',
      'Europe/Oslo',
      'GET',
      'A',
      '***',
      5000,
      true,
    ),
  ),
  { maxKeys: 6 },
);

const schemaOf = (schema: unknown): Record<string, unknown> => {
  if (!isRecord(schema)) return {};
  if (typeof schema.$ref !== 'string') return schema;
  return schemaOf(document.components.schemas[schema.$ref.split('/').at(-1) ?? '']);
};

/** Texts that may name something, by the name of the field or parameter that they stand in. */
type Ids = (name: string) => fc.Arbitrary<string>;

const fieldValue = (key: string, schema: unknown, ids: Ids): fc.Arbitrary<unknown> => {
  const known = plausible[key];
  if (known) return fc.constantFrom(...known);
  if (key === 'config') return fc.oneof(fc.constantFrom(null, {}), oddConfig);
  const text = JSON.stringify(schema);
  if (text.includes('"array"')) return fc.array(ids(key), { maxLength: 3 });
  if (text.includes('"uuid"')) return ids(key);
  if (text.includes('"boolean"')) return fc.constantFrom(true, false, 'yes', 0);
  if (text.includes('"enum"')) return fc.constantFrom('all', 'open', 'resolved', 'OPEN');
  if (text.includes('"integer"')) return fc.constantFrom(1, 7, 50, '200', 365, 0, 1000);
  return oddText;
};

const objectOf = (schema: Record<string, unknown>, ids: Ids): fc.Arbitrary<unknown> => {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const fields = Object.entries(properties).map(([key, field]) =>
    fc
      .oneof(
        { weight: 25, arbitrary: fieldValue(key, field, ids) },
        { weight: 1, arbitrary: oddValue },
        { weight: 2, arbitrary: fc.constant(undefined) },
      )
      .map((value) => [key, value] as const),
  );
  return fc
    .tuple(...fields)
    .map((pairs) => Object.fromEntries(pairs.filter(([, value]) => value !== undefined)));
};

const jsonMedia = fc.constant({ 'content-type': 'application/json' });
const oddMedia = fc.constantFrom<Record<string, string>[]>(
  {},
  { 'content-type': 'text/plain' },
  { 'content-type': ';;;' },
  { 'content-type': 'application/x+json; charset=utf-16' },
);

const bodyOf = (entry: OperationEntry, ids: Ids) => {
  const content = isRecord(entry.requestBody?.content)
    ? entry.requestBody.content['application/json']
    : undefined;
  const schema = schemaOf(isRecord(content) ? content.schema : undefined);
  const text = objectOf(schema, ids).map((value) => JSON.stringify(value));
  const described = fc.tuple(
    text.map((json) => Buffer.from(json)),
    jsonMedia,
  );
  const odd = fc.tuple(
    fc.oneof(
      oddValue.map((value) => Buffer.from(JSON.stringify(value))),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc.tuple(text, fc.nat(200)).map(([json, at]) => Buffer.from(json.slice(0, at))),
      fc.constantFrom(
        Buffer.alloc(0),
        Buffer.from('['.repeat(30_000)),
        Buffer.from(`{"type":"${'x'.repeat(70_000)}"}`),
        Buffer.from('{"type":"\ufeff"}', 'utf16le'),
      ),
    ),
    fc.oneof(jsonMedia, oddMedia),
  );
  return fc.oneof({ weight: 8, arbitrary: described }, { weight: 2, arbitrary: odd });
};

/**
 * Percent-encoding for any text, also for halves of surrogate pairs, which encodeURIComponent does
 * not take.
 */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

const segment = (ids: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 12, arbitrary: ids.map(encode) },
    { weight: 2, arbitrary: oddText.filter((text) => text !== '').map(encode) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('%zz', '%', '%ff%fe', '%00', '%E0%A4%A', 'a%2Fb', '{id}', '~'),
    },
  );

/** Any request to an operation of the document. */
export const hostileRequest = (ids: Ids): fc.Arbitrary<HostileRequest> => {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, entry]) => ({
      path,
      method: method.toUpperCase(),
      entry,
    })),
  );
  return fc.constantFrom(...all).chain(({ path, method, entry }) => {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([whole]) => whole);
    const query = entry.parameters.filter(({ in: where }) => where === 'query');
    const pairs = query.map(({ name, schema }) =>
      fc.oneof(
        { weight: 9, arbitrary: fc.constant('') },
        {
          weight: 4,
          arbitrary: fieldValue(name, schema, ids).map(
            (value) => `${name}=${encode(String(value))}`,
          ),
        },
        { weight: 1, arbitrary: oddText.map((text) => `${name}=${encode(text)}`) },
        { weight: 1, arbitrary: fc.constantFrom(`${name}`, `${name}=%`, `${name}=%ff`) },
      ),
    );
    const verb = method === 'GET' || method === 'POST' || method === 'PATCH' ? method : 'DELETE';
    return fc
      .tuple(
        fc.tuple(...names.map((name) => segment(ids(name.slice(1, -1))))),
        fc.tuple(...pairs),
        entry.requestBody === undefined
          ? fc.constant([undefined, {}] as const)
          : bodyOf(entry, ids),
        fc.constantFrom<Record<string, string>[]>(
          {},
          { cookie: 'svc_session=x; svc_session' },
          { cookie: ';;=\u00e9' },
        ),
      )
      .map(([segments, questions, [payload, media], cookies]) => ({
        method: verb,
        operationId: entry.operationId,
        url: `${names.reduce((url, name, at) => url.replace(name, () => segments[at] ?? ''), path)}?${questions.filter((pair) => pair !== '').join('&')}`,
        headers: { ...media, ...cookies },
        payload,
      }));
  });
};
