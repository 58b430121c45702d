import { beforeEach, describe, expect, test } from 'vitest';
import { previewImport } from '../../../coordinator/imports/contract.ts';
import { without } from '../../../coordinator/imports/filling.ts';
import { readImport } from '../../../coordinator/imports/reading.ts';
import type { Reach } from '../../../shared/imports/download.ts';
import type { Source } from '../../../shared/imports/sources.ts';
import { gateBench } from '../../support/gate.ts';
import { today } from '../../support/imports.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

/** Uploads and downloads of strangers: none may hold up the coordinator. */

const noReach: Reach = () => Promise.reject(new Error('nobody is asked'));
const readText = (source: Source, document: string) =>
  readImport({ source, today, document }, { reach: noReach, gone: undefined });

const endpoints = (lines: number, line: (index: number) => string): string =>
  `endpoints: [{name: one, url: "https://one.example/", conditions: []}]\n${Array.from({ length: lines }, (_, index) => line(index)).join('')}`;
const checks = (count: number, name: (index: number) => string): string =>
  JSON.stringify({
    checks: Array.from({ length: count }, (_, index) => ({ name: name(index), timeout: 3_600 })),
  });

describe('a document', () => {
  test.each<[string, Source, string]>([
    ['8,000 keys', 'gatus', endpoints(8_000, (index) => `k${index}: 1\n`)],
    [
      '8,000 anchors',
      'gatus',
      endpoints(8_000, (index) => `k${index}: [&a${index} x, *a${index}]\n`),
    ],
    ['8,000 checks of one name', 'healthchecks', checks(8_000, () => 'same')],
  ])('of %s takes no time that grows with its square', async (_what, source, document) => {
    const { objects } = await readText(source, document);
    expect(Object.keys(objects.monitors).length).toBe(source === 'gatus' ? 1 : 8_000);
  });

  test('that is larger than its thread may become ends the thread alone', async () => {
    const document = `[${'{"a":[]},'.repeat(230_000)}1]`;
    await expect(readText('uptimerobot', document)).rejects.toThrow(
      'It is too large or too tangled to be read here',
    );
    const { objects } = await readText(
      'healthchecks',
      checks(1, () => 'next'),
    );
    expect(Object.keys(objects.monitors)).toEqual(['next']);
  });

  test('leaves the coordinator to its other work', async () => {
    const reading = readText(
      'gatus',
      endpoints(60_000, (index) => `k${index}: {a: [b, c]}\n`),
    );
    let turns = 0;
    const going = setInterval(() => {
      turns += 1;
    }, 1);
    await reading.catch(() => undefined);
    clearInterval(going);
    // One that reads on the event loop leaves it no turn at all.
    expect(turns).toBeGreaterThan(50);
  });

  test('loses many refused objects in one pass', () => {
    const monitors = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`m${index}`, { name: 'm' }]),
    );
    const given = {
      groups: {},
      monitors,
      channels: {},
      maintenance: {},
      objectives: {},
      status_pages: {},
    };
    const refused = Object.keys(monitors)
      .slice(1)
      .map((key) => ({ kind: 'monitors', key }));
    expect(Object.keys(without(given, refused).monitors)).toEqual(['m0']);
  });
});

describe('a download', () => {
  const byKey = (reach: Reach, gone?: AbortSignal) =>
    readImport({ source: 'better-stack', today, key: 'k', host: undefined }, { reach, gone });
  const page = (size: number, next: string) => ({
    status: 200,
    retryAfter: null,
    text: JSON.stringify({
      data: [{ id: '1', attributes: { note: 'x'.repeat(size) } }],
      pagination: { next },
    }),
  });

  test.each([
    ['of small pages without end', 10, 101],
    ['of large ones', 2_000_000, 5],
  ])('%s ends with its budget', async (_what, size, most) => {
    let asked = 0;
    const endless: Reach = async ({ url }) => {
      asked += 1;
      return page(size, url);
    };
    await expect(byKey(endless)).rejects.toThrow('answers with more than can be read here');
    expect(asked).toBeLessThanOrEqual(most);
  });

  test('ends when nobody waits for it any more', async () => {
    const caller = new AbortController();
    const seen: (AbortSignal | undefined)[] = [];
    const silent: Reach = (_request, signal) => {
      seen.push(signal);
      caller.abort(new Error('gone'));
      return new Promise(() => undefined);
    };
    await expect(byKey(silent, caller.signal)).rejects.toThrow('gone');
    expect(seen.map((signal) => signal?.aborted)).toEqual([true]);
  });
});

describe('an import by a member', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  beforeEach(async () => {
    house = await createTestOrganisation(bench.sql);
  });

  test('asks only Healthchecks at an address of his choice', async () => {
    for (const source of ['better-stack', 'uptimerobot'])
      await expect(
        bench.call(previewImport, house.admin, { source, key: 'k', url: 'https://own.example' }),
      ).rejects.toThrow('url: ');
  });

  test('has at most 10,000 objects', async () => {
    await expect(
      bench.call(previewImport, house.admin, {
        source: 'healthchecks',
        document: checks(10_001, (index) => `n${index}`),
      }),
    ).rejects.toThrow('10000 are the most');
  });

  test('has at most as many groups as a call of the files API', async () => {
    const one = (at: number): string =>
      `- {name: n${at}, group: g${at}, url: "https://h.example", conditions: ["[STATUS] == 200"]}`;
    const document = `endpoints:\n${Array.from({ length: 2_001 }, (_, at) => one(at)).join('\n')}`;
    await expect(
      bench.call(previewImport, house.admin, { source: 'gatus', document }),
    ).rejects.toThrow('It has 2001 groups; 2000 are the most');
  });

  test('is tried 20 times an hour', async () => {
    const input = { source: 'healthchecks', document: '{}' };
    // None of these begins a thread.
    const gone = { ...house.admin.caller, gone: AbortSignal.abort(new Error('gone')) };
    for (let tried = 0; tried < 20; tried += 1)
      await expect(bench.call(previewImport, gone, input)).rejects.toThrow('gone');
    expect(await bench.refusal(previewImport, house.admin, input)).toBe('too_many_attempts');
  });
});
