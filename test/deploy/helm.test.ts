import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { imageNames } from '../../deploy/image/make.ts';
import { isRecord } from '../../shared/base/json.ts';
import { version } from '../../shared/base/process.ts';
import { commandsOf } from '../coordinator/documentation/commands.ts';

/** What of charts and settings can be held against our own sources; `npm run test:kubernetes` renders them. */

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const charts = { coordinator: 'coordinator', probe: 'probe', discover: 'client' } as const;
const schemaOf = (chart: string) => JSON.parse(read(`deploy/helm/${chart}/values.schema.json`));
const valuesOf = (chart: string) => parse(read(`deploy/helm/${chart}/values.yaml`));

/** The variables that a program reads, as its config declares them. */
const variablesIn = (file: string): readonly string[] =>
  [...read(file).matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map(([, name = '']) => name);
const ofCoordinator = [
  ...new Set([
    ...variablesIn('coordinator/config.ts'),
    ...variablesIn('shared/bus/setup.ts').filter((name) => name.startsWith('NATS_')),
  ]),
];
const ofProbe = [...new Set(variablesIn('probe/config.ts'))];

describe.each(Object.entries(charts))('the chart of %s', (chart, image) => {
  test('has the version of the package, and an image that npm run images makes', () => {
    expect(parse(read(`deploy/helm/${chart}/Chart.yaml`))).toMatchObject({
      name: `antipode-${chart}`,
      version,
      appVersion: version,
    });
    expect(imageNames).toContain(image);
    expect(valuesOf(chart).image.repository).toBe(`antipode-${image}`);
  });

  test('names in its schema exactly the values that there are', () => {
    const { global: _, ...properties } = schemaOf(chart).properties;
    expect(Object.keys(properties).toSorted()).toEqual(Object.keys(valuesOf(chart)).toSorted());
  });
});

test('settings of the charts are those that the programs read, without secrets and what the charts set', () => {
  const settingsOf = (chart: string): readonly string[] =>
    Object.keys(schemaOf(chart).properties.settings.properties).toSorted();
  const inSecret =
    /^(?:DATABASE_URL|SECRET_KEY.*|NATS_.*_SEED|NATS_.*CREDENTIALS|SMTP_URL|OIDC_CLIENT_SECRET|OIDC_SCIM_TOKEN|BACKUP_.*_URL|HEARTBEAT_URL)$/;
  const ofChart = ['HOST', 'PORT', 'DATA_DIR', 'METRICS_PORT', 'METRICS_HOST'];
  // Keys and authorities are files.
  const asFiles = ['NATS_CA', 'MAIL_DKIM_KEY'];
  expect(settingsOf('coordinator')).toEqual(
    ofCoordinator
      .filter((name) => !inSecret.test(name) && !ofChart.includes(name))
      .map((name) => (asFiles.includes(name) ? `${name}_FILE` : name))
      .toSorted(),
  );
  expect(settingsOf('probe')).toEqual(
    ofProbe.filter((name) => !/CREDENTIALS|IDENTITY|DATA_DIR|NATS_CA/.test(name)).toSorted(),
  );
});

test('what the documentation sets is a value of its chart', () => {
  const lines = commandsOf('kubernetes').filter((line) => line.startsWith('helm install '));
  const unknown = lines.flatMap((line) => {
    const [, chart = '', set = ''] = /deploy\/helm\/(\w+) --set (\S+)/.exec(line) ?? [];
    const keys = set.split(',').map((each) => each.split('=', 1).join(''));
    return keys.filter((key) => !hasPath(valuesOf(chart), key.split('.')));
  });
  expect(lines).toHaveLength(3);
  expect(unknown).toEqual([]);
  expect(hasPath(valuesOf('probe'), ['joinToken', 'nothing'])).toBe(false);
});

const hasPath = (value: unknown, [key, ...rest]: readonly string[]): boolean =>
  key === undefined || (isRecord(value) && key in value && hasPath(value[key], rest));

test('the chart of the coordinator trusts no proxy that nobody named', () => {
  expect(Object.keys(valuesOf('coordinator').settings)).not.toContain('TRUSTED_PROXIES');
});

test('docs/settings.md lists every setting of a coordinator and of a probe, and no other', () => {
  const [, coordinator = '', probe = ''] = read('docs/settings.md').split(/^## /m);
  const listedIn = (chapter: string): readonly string[] =>
    chapter
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .flatMap((line) => (line.split('|')[1] ?? '').match(/[A-Z][A-Z_]+/g) ?? []);
  expect(listedIn(coordinator).toSorted()).toEqual(ofCoordinator.toSorted());
  // A program without an identity reads these two alone.
  const joining = ['PROBE_JOIN_URL', 'PROBE_JOIN_TOKEN'];
  expect(listedIn(probe).toSorted()).toEqual([...ofProbe, ...joining].toSorted());
});

test('the chart of the coordinator has the alerting rules of the monitoring', () => {
  expect(read('deploy/helm/coordinator/files/alerts.yml')).toBe(
    read('deploy/monitoring/alerts.yml'),
  );
});
