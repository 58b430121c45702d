import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { debianProgram, runProgram } from '../../support/processes.ts';
import { monitoringFolder } from './rules.ts';

/** The rules for Prometheus, judged by its own program. */

/** Where it cannot be had, that is said loudly. */
const promtool = await debianProgram('promtool', ['prometheus']);

const read = (file: string): string => readFileSync(join(monitoringFolder, file), 'utf8');

test('each rule names headings of the runbook, except the rules that say what to type', () => {
  const runbook = readFileSync(join(monitoringFolder, '../RUNBOOK.md'), 'utf8');
  const headings = [...runbook.matchAll(/^##+ (.+)$/gm)].map(([, heading]) => heading);
  const [, ...rules] = read('alerts.yml').split(/^ *- alert: /m);
  expect(rules.length).toBeGreaterThan(15);
  const typed = ['AntipodeMessagesWait', 'AntipodeNotice', 'AntipodeDeadMansSwitch'];
  for (const rule of rules) {
    const name = rule.split('\n', 1)[0] ?? '';
    const pages = /what_to_do: 'RUNBOOK: (.+)'/.exec(rule)?.[1]?.split('; ');
    expect(pages === undefined, name).toBe(typed.includes(name));
    for (const page of pages ?? []) expect(headings, `${name}: ${page}`).toContain(page);
  }
});

test('what the rules take for our job is what Prometheus is told to call it', () => {
  const jobs = [...read('alerts.yml').matchAll(/job="(\w+)"/g)].map(([, job]) => job);
  expect(jobs.length).toBeGreaterThan(0);
  for (const job of jobs) expect(read('prometheus.yml')).toContain(`job_name: ${job}\n`);
});

describe.skipIf(promtool === undefined)('the rules for Prometheus', () => {
  test.each([
    ['are rules', ['check', 'rules', 'alerts.yml']],
    ['belong to a configuration that Prometheus takes', ['check', 'config', 'prometheus.yml']],
    ['fire when they should, and not before', ['test', 'rules', 'alerts-test.yml']],
  ])('%s', async (_what, [verb = '', noun = '', file = '']) => {
    const said = await runProgram([promtool?.file ?? '', verb, noun, join(monitoringFolder, file)], {
      env: { ...process.env, ...promtool?.env },
    });
    expect(said).toMatchObject({ code: 0 });
  });
});
