import { expect, test } from 'vitest';
import { apiDocument } from '../../../coordinator/api/openapi.ts';
import { isRecord } from '../../../shared/base/json.ts';

const document = apiDocument('https://antipode.example.org');
const entries = Object.values(document.paths).flatMap((methods) => Object.values(methods));

const members = (name: string): Record<string, unknown> => {
  const schema = document.components.schemas[name];
  return isRecord(schema) && isRecord(schema.properties) ? schema.properties : {};
};

test('nothing in the document is without words: no operation, no parameter, no member', () => {
  const silent: string[] = [];
  const isSaid = (of: unknown): boolean =>
    isRecord(of) && (typeof of.$ref === 'string' || (typeof of.description === 'string' && of.description.trim() !== ''));
  for (const entry of entries) {
    if (!isSaid(entry)) silent.push(entry.operationId);
    for (const parameter of entry.parameters) if (!isSaid(parameter)) silent.push(`${entry.operationId} ${parameter.name}`);
  }
  for (const name of Object.keys(document.components.schemas))
    for (const [member, of] of Object.entries(members(name))) if (!isSaid(of)) silent.push(`${name}.${member}`);
  expect(silent).toEqual([]);
});

test('what is sent says its bounds, what is told does not', () => {
  expect(members('MonitorIn')).toMatchObject({ name: { maxLength: 200 }, target: { maxLength: 2_048 } });
  expect(members('MonitorIn').interval_s).toMatchObject({
    anyOf: [{ type: 'integer', minimum: 10, maximum: 31_536_000 }, { type: 'null' }],
  });
  expect(members('GroupPatch').description).toMatchObject({ anyOf: [{ type: 'string', maxLength: 2_000 }, { type: 'null' }] });
  expect(members('MonitorOut').name).not.toHaveProperty('maxLength');
});

test('a client that is generated from it can send a local time, and reads instants', () => {
  for (const name of ['MaintenanceIn', 'MaintenancePatch'])
    expect(JSON.stringify([members(name).starts_at, members(name).ends_at]), name).not.toContain('date-time');
  expect(members('MaintenanceOut').starts_at).toMatchObject({ type: 'string', format: 'date-time' });
});

test('every operation may be answered that it took too long, and a patch says what becomes of a config', () => {
  for (const entry of entries) expect(entry.responses[408], entry.operationId).toEqual({ $ref: '#/components/responses/TooSlow' });
  expect(document.components.responses.TooSlow).not.toHaveProperty('headers.RateLimit-Reset');
  expect(JSON.stringify(members('MonitorPatch').config)).toMatch(/replaces the whole.*left out is gone.*another scheme, host or port/);
});
