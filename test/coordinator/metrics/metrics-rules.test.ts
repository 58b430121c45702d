import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { debianProgram } from '../../support/support-debian.ts';
import { runProgram } from '../../support/support-programs.ts';
import { monitoringFolder } from './metrics-rules.ts';

/** The rules for Prometheus, judged by its own program. */

/** Where it cannot be had, that is said loudly. */
const promtool = await debianProgram('promtool', ['prometheus']);

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
