import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { channelKinds } from '../../../coordinator/notifications/kinds/index.ts';
import {
  providerSchema,
  readmeFile,
  readmeText,
  schemaFile,
  schemaText,
} from '../../../deploy/terraform/schema.ts';
import { configKeys, kinds } from '../../../shared/api/config-keys.ts';
import { splitSecrets } from '../../../shared/checks/config.ts';
import type { Json } from '../../../shared/checks/result.ts';

/** The provider's schema follows from the API document, and nothing of it is typed by hand. */

const read = (file: string): string => readFileSync(file, 'utf8');
const resources = new Map(providerSchema().resources.map((one) => [one.name, one]));
const attribute = (resource: string, name: string) => {
  const found = resources.get(resource)?.attributes.find((one) => one.name === name);
  if (!found) throw new Error(`no ${resource} has ${name}`);
  return found;
};

describe('the schema of the Terraform provider', () => {
  test('is what the API document gives: node deploy/node/run.mjs deploy/terraform/schema.ts makes it', () => {
    expect(read(schemaFile) === schemaText()).toBe(true);
  });

  test('is what the table of the README says', () => {
    const readme = read(readmeFile);
    expect(readme === readmeText(readme)).toBe(true);
  });

  test('has a form for each kind of monitor and channel', () => {
    const forms = (resource: string) =>
      resources.get(resource)?.attributes.flatMap(({ of }) => (of === undefined ? [] : [of]));
    expect(forms('monitor')?.toSorted()).toEqual(kinds.toSorted());
    expect(forms('channel')?.toSorted()).toEqual(channelKinds.map(({ id }) => id).toSorted());
  });

  test.each(kinds)('knows each key of %s', (kind) => {
    const keys = attribute('monitor', kind).fields?.map(({ name }) => name);
    expect(keys?.toSorted()).toEqual(Object.keys(configKeys[kind]).toSorted());
  });

  test.each(kinds)('hides each secret of %s', (kind) => {
    const examples = Object.fromEntries(
      Object.entries(configKeys[kind]).map(([key, { example }]): [string, Json] => [
        key,
        key === 'headers' || key === 'metadata' ? { Authorization: 'Basic abc' } : example,
      ]),
    );
    const { open } = splitSecrets(kind, examples);
    const masked = Object.keys(open).filter((key) => JSON.stringify(open[key]).includes('"***"'));
    const hidden = (attribute('monitor', kind).fields ?? [])
      .filter(({ sensitive, fields }) => sensitive || fields?.some((one) => one.sensitive))
      .map(({ name }) => name);
    expect(hidden.toSorted()).toEqual(masked.toSorted());
  });

  test.each(channelKinds)('hides each secret of $id', ({ id, fields }) => {
    const secrets = Object.keys(fields).filter((name) => fields[name]?.secret === true);
    const hidden = (attribute('channel', id).fields ?? []).filter(({ sensitive }) => sensitive);
    expect(hidden.map(({ name }) => name).toSorted()).toEqual(secrets.toSorted());
  });

  test('hides what is answered once', () => {
    const once = [...resources.values()].flatMap(({ name, attributes }) =>
      attributes.filter((one) => one.once).map((one) => `${name}.${one.name} ${one.sensitive}`),
    );
    expect(once).toEqual([
      'channel.secret true',
      'probe_invitation.token true',
      'probe_invitation.command true',
      'ping_key.key true',
      'ping_key.address true',
    ]);
  });
});

test('files of Go are as short as others, and named by no more than their subject', () => {
  const folder = join(import.meta.dirname, '../../../deploy/terraform');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.go'),
  );
  expect(files.length).toBeGreaterThan(5);
  const lines = (file: string): number => read(join(folder, file)).split('\n').length;
  expect(files.filter((file) => lines(file) > 600)).toEqual([]);
  expect(files.filter((file) => !/^(?:[a-z]+\/)*[a-z]+(?:_test)?\.go$/.test(file))).toEqual([]);
});
