import { expect, test } from 'vitest';
import { planOf } from '../../../../probe/checks/https/perform.ts';
import type { ProbeIdentity } from '../../../../probe/checks/types.ts';
import { assignmentOf } from '../../support/checkers.ts';

const probe: ProbeIdentity = { name: 'eu-1', continent: 'Europe', base_url: 'https://antipode.example', version: '0.1.0' };

test('a plan is made once for an assignment; another version, and what the probe calls itself by now, have their own', () => {
  const assignment = assignmentOf('https://shop.example/a');
  const plan = planOf(assignment, probe);
  expect(planOf(assignment, probe)).toBe(plan);
  expect(planOf({ ...assignment, target: 'https://shop.example/b' }, probe).first.url.pathname).toBe('/b');
  const renamed = planOf(assignment, { ...probe, name: 'eu-2' });
  expect(renamed.bytes.toString()).toContain('probe=eu-2');
  expect(planOf(assignment, probe).bytes.toString()).toContain('probe=eu-1');
});

test('what was opened with secrets is not held', () => {
  const opened = { ...assignmentOf('https://shop.example/', { config: { bearer_token: 'not-for-memory' } }), sealed: 'box' };
  expect(planOf(opened, probe)).not.toBe(planOf(opened, probe));
});
