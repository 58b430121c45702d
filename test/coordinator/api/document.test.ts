import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { fileSchema } from '../../../coordinator/api/file-schema.ts';
import { apiDocument, responseIn } from '../../../coordinator/api/openapi.ts';
import { channelKinds } from '../../../coordinator/notifications/kinds/index.ts';
import { configKeys, kinds } from '../../../shared/api/config-keys.ts';
import { operations, restOperations } from '../../../shared/api/index.ts';
import { createMaintenanceWindow } from '../../../shared/api/maintenance.ts';
import { moment } from '../../../shared/api/moment.ts';
import { apiRevision, refusalsOf } from '../../../shared/api/operation.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { readConfiguration } from '../../../shared/client/files/configuration.ts';
import { judgingTool } from '../../support/processes.ts';

describe('The API document', () => {
  const document = apiDocument('https://antipode.example.org');
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, entry]) => ({ path, method, entry })),
  );

  const run = promisify(execFile);

  const redocly = judgingTool('@redocly/cli/bin/cli.js');

  it.runIf(redocly)(
    'is valid and without warnings under redocly lint',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'antipode-openapi-'));
      try {
        await writeFile(join(folder, 'openapi.json'), JSON.stringify(document));
        await writeFile(join(folder, 'redocly.yaml'), 'extends:\n  - recommended\n');
        const { stdout } = await run(
          process.execPath,
          [redocly ?? '', 'lint', 'openapi.json', '--config', 'redocly.yaml', '--format', 'json'],
          {
            cwd: folder,
            env: { ...process.env, REDOCLY_TELEMETRY: 'off' },
          },
        );
        expect(JSON.parse(stdout).totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
      } finally {
        await rm(folder, { recursive: true });
      }
    },
    60_000,
  );

  it('is OpenAPI 3.1, of version 1.1.9, with exactly the operations of the specification', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info.version).toBe('1.1.9');
    expect(document.info['x-revision']).toBe(apiRevision);
    expect(entries.map(({ entry }) => entry.operationId).toSorted()).toEqual(
      [...Object.keys(operations), 'getMetrics'].toSorted(),
    );
  });

  it('has the operations of the specification under its tags, and later ones under other tags', () => {
    const specified =
      'whoami listMonitors createMonitor getMonitor updateMonitor deleteMonitor getMonitorStatus listIncidents getIncident listMaintenanceWindows getMaintenanceWindow createMaintenanceWindow deleteMaintenanceWindow listGroups createGroup getGroup updateGroup deleteGroup listStatusPages getStatusPage addStatusPageMonitor removeStatusPageMonitor addStatusPageGroup removeStatusPageGroup'.split(
        ' ',
      );
    const theirs = ['Account', 'Groups', 'Incidents', 'Maintenance', 'Monitors', 'Status pages'];
    for (const { entry } of entries)
      expect([entry.operationId, theirs.includes(entry.tags[0] ?? '')]).toEqual([
        entry.operationId,
        specified.includes(entry.operationId),
      ]);
    // Each of them is told of, and none is without an operation.
    expect(document.tags.map(({ name }) => name).toSorted()).toEqual(
      [...new Set(entries.flatMap(({ entry }) => entry.tags))].toSorted(),
    );
  });

  it('describes the metrics for Prometheus as text', () => {
    const { entry } = entries.find(({ path }) => path === '/api/v1/metrics') ?? {};
    expect(entry?.responses['200']).toMatchObject({
      headers: { 'RateLimit-Remaining': {}, ETag: {} },
      content: {
        'text/plain; version=0.0.4; charset=utf-8': {
          schema: { type: 'string' },
          example: expect.stringContaining('antipode_monitor_up{'),
        },
      },
    });
  });

  it('lists the cookie svc_session, the bearer scheme and a validation failure with every operation', () => {
    for (const { entry } of entries) {
      expect(entry.parameters.filter(({ in: where }) => where === 'cookie')).toEqual([
        expect.objectContaining({
          name: 'svc_session',
          required: false,
          schema: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        }),
      ]);
      expect(entry.security).toEqual([{ HTTPBearer: [] }]);
      expect(
        responseIn(document, entry.responses['422'] ?? { $ref: 'missing' }).content,
      ).toMatchObject({
        'application/json': { schema: { $ref: '#/components/schemas/HTTPValidationError' } },
      });
    }
  });

  it('gives every code that an operation may refuse with, under its status, with an example', () => {
    for (const operation of restOperations) {
      const { entry } = entries.find(({ entry }) => entry.operationId === operation.id) ?? {};
      const shown = JSON.stringify(
        Object.values(entry?.responses ?? {}).map((response) => responseIn(document, response)),
      );
      for (const code of refusalsOf(operation)) expect(shown).toContain(`"code":"${code}"`);
    }
  });

  it('names its components as the clients of the service know them', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining(
        'GroupIn GroupOut GroupPage GroupPatch HTTPValidationError IncidentOut IncidentPage MaintenanceOut MaintenancePage MeOut MonitorIn MonitorOut MonitorPage MonitorPatch OrganisationOut ProbeRef StatusOut UptimeOut ValidationError'.split(
          ' ',
        ),
      ),
    );
  });

  it('describes every key of a config in input, and leaves the object open', () => {
    const { MonitorIn, MonitorOut, MonitorPatch } = document.components.schemas;
    const config = z.object({
      properties: z.object({ config: z.looseObject({ description: z.string() }) }),
    });
    const [sent, told, changed] = [MonitorIn, MonitorOut, MonitorPatch].map(
      (schema) => config.parse(schema).properties.config,
    );
    for (const kind of kinds) {
      const part =
        sent?.description.split('Keys of ').find((words) => words.startsWith(`\`${kind}\`:`)) ?? '';
      expect([...part.matchAll(/^- `(\w+)`: /gm)].map(([, key]) => key)).toEqual(
        Object.keys(configKeys[kind]),
      );
      for (const { meaning, allowed } of Object.values(configKeys[kind]))
        for (const words of [meaning, allowed]) expect(part).toContain(words);
    }
    expect(sent?.anyOf).toEqual([{ type: 'object', additionalProperties: true }, { type: 'null' }]);
    for (const other of [told, changed])
      expect(other?.description).toContain('Every key stands at `config` of `MonitorIn`');
  });

  it('requires and defaults what the specification says', () => {
    const { MonitorIn, MonitorOut, MonitorPatch, GroupPage, StatusOut } =
      document.components.schemas;
    expect(MonitorIn?.required).toEqual(['type']);
    expect(MonitorIn?.properties).toMatchObject({
      target: { type: 'string', default: '' },
      interval_s: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      group: { anyOf: [{ type: 'string', format: 'uuid' }, { type: 'null' }] },
      affects_group_status: { type: 'boolean', default: true },
    });
    expect(MonitorOut?.required).toEqual([
      'id',
      'name',
      'type',
      'target',
      'interval_s',
      'enabled',
      'config',
      'created_at',
    ]);
    expect(MonitorPatch?.required).toBeUndefined();
    expect(GroupPage?.required).toEqual(['items']);
    expect(StatusOut?.required).toEqual([
      'monitor',
      'status',
      'since',
      'last_checked_at',
      'enabled',
      'uptime',
    ]);
  });
});

/**
 * Whoever sends something learns from the document alone how long, how large and how many it may
 * be.
 */
describe('document bounds', () => {
  const document = apiDocument('https://antipode.example.org');
  const { schemas } = document.components;
  const entries = Object.values(document.paths).flatMap((methods) => Object.values(methods));

  /** What is sent without bounds of its own, and why. */
  const exceptions: Readonly<Record<string, string>> = {
    svc_session: 'it is accepted and ignored, whatever it says',
    'MonitorIn.config': 'its keys follow from the type; as a whole it has 16 KiB',
    'MonitorPatch.config': 'the same, and the type does not stand beside it',
    'TestIn.config': 'the same, and it is not stored',
    'ChannelIn.config': 'its keys follow from the kind',
    'ChannelPatch.config': 'the same, and the kind does not stand beside it',
    'FileMonitor.config': 'as of MonitorIn',
    'FileChannel.config': 'as of ChannelIn',
    'HttpsConfig.json[].equals': 'a number is compared as it is, of any size',
    'HttpsConfig.json[].gt': 'a number is compared as it is, of any size',
    'HttpsConfig.json[].lt': 'a number is compared as it is, of any size',
  };

  const has = (schema: Record<string, unknown>, ...words: readonly string[]): boolean =>
    words.every((word) => schema[word] !== undefined);

  const isBounded = (schema: Record<string, unknown>): boolean => {
    if (has(schema, 'enum') || has(schema, 'const')) return true;
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    return types.every((type: unknown) => {
      if (type === 'string')
        return has(schema, 'maxLength') || has(schema, 'pattern') || schema.format === 'uuid';
      if (type === 'integer' || type === 'number') return has(schema, 'minimum', 'maximum');
      if (type === 'array') return has(schema, 'maxItems') || has(schema, 'uniqueItems');
      if (type === 'object') return has(schema, 'properties') || has(schema, 'maxProperties');
      return (
        type === 'boolean' ||
        type === 'null' ||
        (type === undefined && (has(schema, 'anyOf') || has(schema, '$ref')))
      );
    });
  };

  const walk = (
    schema: unknown,
    place: string,
    found: Map<string, boolean>,
    seen = new Set<string>(),
  ): void => {
    if (!isRecord(schema)) return;
    if (typeof schema.$ref === 'string') {
      const name = schema.$ref.replace('#/components/schemas/', '');
      if (seen.has(name)) return;
      seen.add(name);
      walk(schemas[name], name, found, seen);
      return;
    }
    found.set(place, (found.get(place) ?? true) && isBounded(schema));
    for (const one of [schema.anyOf, schema.allOf].flat()) walk(one, place, found, seen);
    if (schema.items !== undefined) walk(schema.items, `${place}[]`, found, seen);
    if (isRecord(schema.additionalProperties))
      walk(schema.additionalProperties, `${place}{}`, found, seen);
    if (isRecord(schema.properties))
      for (const [key, member] of Object.entries(schema.properties))
        walk(member, `${place}.${key}`, found, seen);
  };

  const configNames = Object.keys(schemas).filter((name) => name.endsWith('Config'));

  test('every text, number, list and object that is sent has bounds, a pattern or its values', () => {
    const found = new Map<string, boolean>();
    for (const entry of entries) {
      for (const { name, schema } of entry.parameters) walk(schema, name, found);
      const content = z
        .object({ content: z.object({ 'application/json': z.object({ schema: z.unknown() }) }) })
        .safeParse(entry.requestBody);
      if (content.success)
        walk(content.data.content['application/json'].schema, entry.operationId, found);
    }
    for (const name of configNames) walk(schemas[name], name, found);
    const unbounded = [...found].flatMap(([place, bounded]) => (bounded ? [] : [place]));
    expect(unbounded.toSorted()).toEqual(Object.keys(exceptions).toSorted());
    expect(found.size).toBeGreaterThan(200);
  });

  test('null is never one shape of three: programs that make clients fall over that', () => {
    const odd: string[] = [];
    const look = (value: unknown, place: string): void => {
      if (Array.isArray(value))
        for (const [index, one] of value.entries()) look(one, `${place}/${index}`);
      if (!isRecord(value)) return;
      const shapes: readonly unknown[] = Array.isArray(value.anyOf) ? value.anyOf : [];
      if (shapes.length > 2 && shapes.some((one) => isRecord(one) && one.type === 'null'))
        odd.push(place);
      if (shapes.some((one) => isRecord(one) && Array.isArray(one.anyOf))) odd.push(place);
      for (const [key, member] of Object.entries(value)) look(member, `${place}/${key}`);
    };
    look(schemas, '');
    expect(odd).toEqual([]);
  });

  test('the walk sees what has no bounds', () => {
    const found = new Map<string, boolean>();
    const member = { anyOf: [{ type: 'string' }, { type: 'null' }] };
    walk(
      {
        type: 'object',
        properties: { a: member, b: { type: 'array', items: { type: 'integer' } } },
      },
      'In',
      found,
    );
    expect([...found].flatMap(([place, bounded]) => (bounded ? [] : [place]))).toEqual([
      'In.a',
      'In.b',
      'In.b[]',
    ]);
  });

  /**
   * What an object with rows below `then` says of each value of a member: the component that its
   * config is.
   */
  const configOf = (name: string, member: string): Record<string, string> => {
    const one = z.object({
      properties: z.object({
        [member]: z.object({ const: z.string() }),
        config: z.record(z.string(), z.unknown()),
      }),
      required: z.tuple([z.literal(member)]),
    });
    // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema.
    const { then } = z.object({ then: z.object({ oneOf: z.array(one) }) }).parse(schemas[name]);
    return Object.fromEntries(
      then.oneOf.map(({ properties }) => {
        const [, component = ''] = /schemas\/(\w+)/.exec(JSON.stringify(properties.config)) ?? [];
        return [z.object({ const: z.string() }).parse(properties[member]).const, component];
      }),
    );
  };

  test('every key of every type of monitor is a schema with words, default and example', () => {
    const byType = configOf('MonitorIn', 'type');
    expect(Object.keys(byType)).toEqual([...kinds]);
    for (const kind of kinds) {
      const { properties } = schemas[byType[kind] ?? ''] ?? {};
      if (!isRecord(properties)) throw new Error(`${kind} has no config in the document`);
      expect(Object.keys(properties)).toEqual(Object.keys(configKeys[kind]));
      for (const [key, { meaning, allowed, initial, example }] of Object.entries(
        configKeys[kind],
      )) {
        const schema = z.looseObject({ description: z.string() }).parse(properties[key]);
        for (const words of [meaning, allowed]) expect(schema.description).toContain(words);
        expect(schema.default).toEqual(
          schema.anyOf === undefined && schema.type !== 'array' ? initial : undefined,
        );
        const shown = schema.type === 'array' ? [example].flat() : example;
        expect(schema.examples).toEqual([shown]);
        // The shape says what the words say: the example of each key is of the form that the
        // document tells.
        expect(
          z.fromJSONSchema(JSON.parse(JSON.stringify(schema))).safeParse(shown).success,
          key,
        ).toBe(true);
        expect(
          z.fromJSONSchema(JSON.parse(JSON.stringify(schema))).safeParse({ a: [] }).success,
          key,
        ).toBe(false);
      }
    }
  });

  test('every field of every kind of channel is one too, with a pattern that other programs can read', () => {
    const byKind = configOf('ChannelIn', 'kind');
    expect(Object.keys(byKind)).toEqual(channelKinds.map(({ id }) => id));
    for (const { id, fields } of channelKinds) {
      const component = z.looseObject({
        properties: z.record(z.string(), z.looseObject({ description: z.string() })),
        required: z.array(z.string()),
      });
      const { properties, required, additionalProperties } = component.parse(
        schemas[byKind[id] ?? ''],
      );
      expect(Object.keys(properties)).toEqual(Object.keys(fields));
      expect(additionalProperties).toBe(false);
      for (const [name, { optional, input, pattern }] of Object.entries(fields)) {
        expect(required.includes(name)).toBe(optional !== true && input !== 'generated');
        expect(properties[name]?.description).toMatch(/\S\.$/);
        // Forms read patterns with the flag v, JSON Schema with the flag u.
        expect(() => new RegExp(pattern.source, 'u')).not.toThrow();
      }
    }
  });

  /**
   * What may be sent as nothing at all, and what that means. Any other text says in the document
   * that it must not be empty.
   */
  const mayBeEmpty: Readonly<Record<string, string>> = {
    svc_session: 'it is accepted and ignored, whatever it says',
    text: 'no words to look for are in every monitor',
    tag: 'no monitor has it',
    external_id: 'no monitor has it',
    'MonitorIn.target': 'a heartbeat has none',
    'MonitorIn.name': 'the host of the target',
    'MonitorIn.external_id': 'it has none',
    'MonitorIn.runbook': 'it has none',
    'MonitorPatch.target': 'a heartbeat has none',
    'TestIn.target': 'as of a monitor; without one it is refused in words',
    'MonitorPatch.name': 'the host of the target',
    'MonitorPatch.external_id': 'taken away',
    'MonitorPatch.runbook': 'taken away',
    'GroupIn.description': 'it has none',
    'GroupIn.external_id': 'it has none',
    'GroupPatch.description': 'taken away',
    'GroupPatch.external_id': 'taken away',
    'MaintenancePatch.name': 'taken away',
    'MaintenancePatch.rrule': 'it no longer repeats',
    'PostMortemIn.text': 'taken away',
    'StatusPageIn.description': 'it has none',
    'StatusPagePatch.description': 'taken away',
    'StatusPagePatch.domain': 'taken away',
    'WebhookIn.description': 'it has none',
    'WebhookPatch.description': 'taken away',
  };

  test('a text that must not be empty says so: names, rules and cursors as well as fields with a pattern', () => {
    const empty = new Set<string>();
    const look = (schema: unknown, place: string): void => {
      if (!isRecord(schema)) return;
      if (
        schema.type === 'string' &&
        !['enum', 'pattern', 'minLength', 'format'].some((word) => has(schema, word))
      )
        empty.add(place);
      for (const one of [schema.anyOf, schema.items].flat()) look(one, place);
    };
    for (const entry of entries)
      for (const { name, schema } of entry.parameters) look(schema, name);
    for (const [name, { properties }] of Object.entries(schemas))
      if (/(?:In|Patch|Hours|Span)$/.test(name) && isRecord(properties))
        for (const [key, member] of Object.entries(properties)) look(member, `${name}.${key}`);
    expect([...empty].toSorted()).toEqual(Object.keys(mayBeEmpty).toSorted());
  });

  test('every pattern is portable: no octal zero, no \\u, no quote, no lookaround', () => {
    const patterns = new Set<string>();
    const look = (value: unknown): void => {
      if (Array.isArray(value)) value.forEach(look);
      if (!isRecord(value)) return;
      if (typeof value.pattern === 'string') patterns.add(value.pattern);
      Object.values(value).forEach(look);
    };
    look(document);
    expect(patterns.size).toBeGreaterThan(30);
    expect([...patterns].filter((pattern) => /\\[0uUpPkbB]|["`]|\(\?(?!:)/.test(pattern))).toEqual(
      [],
    );
    // Go repeats nothing more than a thousand times.
    expect(
      [...patterns].filter((pattern) =>
        [...pattern.matchAll(/\d{4,}/g)].some(([count]) => Number(count) > 1_000),
      ),
    ).toEqual([]);
  });

  test('the pattern of a time matches exactly what the API accepts, except days that a month does not have', () => {
    const { pattern } = createMaintenanceWindow.body?.shape.starts_at?.schema ?? {};
    const said = new RegExp(String(pattern), 'u');
    const taken = [
      '2026-11-24T02:00',
      '2026-11-24 02:00:30Z',
      '2026-11-24T23:59:59.999999999+23:59',
      '2026-11-24T02:00-0330',
    ];
    const refused = [
      '2026-00-01T00:00',
      '2026-13-01T00:00',
      '2026-01-00T00:00',
      '2026-01-32T00:00',
      '2026-01-01T24:00',
      '2026-01-01T00:60',
    ];
    const refusedToo = [
      '2026-01-01T00:00:60',
      '2026-01-01T00:00:00.',
      '2026-01-01T00:00+24:00',
      '2026-01-01T00:00+00:60',
    ];
    for (const text of [...taken, ...refused, ...refusedToo])
      expect([text, said.test(text), moment().parse(text, []).ok]).toEqual([
        text,
        taken.includes(text),
        taken.includes(text),
      ]);
  });

  test('nothing in the document has an empty description, whatever it is', () => {
    const empty: string[] = [];
    const look = (value: unknown, place: string): void => {
      if (Array.isArray(value))
        for (const [index, one] of value.entries()) look(one, `${place}/${index}`);
      if (!isRecord(value)) return;
      if (typeof value.description === 'string' && value.description.trim() === '')
        empty.push(place);
      for (const [key, member] of Object.entries(value)) look(member, `${place}/${key}`);
    };
    look(document, '');
    for (const [name, header] of Object.entries(document.components.headers))
      if (!isRecord(header) || typeof header.description !== 'string') empty.push(`header ${name}`);
    for (const entry of entries)
      for (const [status, response] of Object.entries(entry.responses))
        if (!('$ref' in response) && response.description.trim() === '')
          empty.push(`${entry.operationId} ${status}`);
    expect(empty).toEqual([]);
  });
});

const page = readFileSync(
  resolve(import.meta.dirname, '../../../docs/monitors-as-code.md'),
  'utf8',
);
const example = /```yaml\n(# yaml-language-server[\s\S]*?)```/.exec(page)?.[1] ?? '';

test('the schema of a file accepts the example of the documentation, which has no faults', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const judge = ajv.compile(fileSchema('https://antipode.example'));
  const [document] = parseAllDocuments(example);
  expect([judge(document?.toJS()), judge.errors]).toEqual([true, null]);
  expect(judge({ name: 'x', monitor: {} })).toBe(false);
  expect(judge({ name: 'x', monitors: { a: { type: 'smoke' } } })).toBe(false);
  expect(readConfiguration([{ file: 'antipode.yaml', text: example }], undefined)).toMatchObject({
    name: 'shop',
    faults: [],
    warnings: [],
  });
});
