import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checklist, type Line } from '../../../probe/joining/checklist.ts';
import { createKey, formatCredentials } from '../../../shared/bus/nkeys.ts';
import { freePort } from '../../support/services.ts';

test('a host from which nothing is reached hears of each thing what to do, each with an exit code of its own', async () => {
  const nobody = `127.0.0.1:${await freePort()}`;
  const { seed } = createKey('user');
  const lines: Line[] = [];
  for await (const line of checklist({
    clockOffset: 60_000,
    entrance: { url: `nats://${nobody}`, credentials: formatCredentials({ jwt: 'x.y.z', seed }) },
    ...{ anchors: [nobody], folder: join(tmpdir(), crypto.randomUUID()), spoolMb: 1 },
  }))
    lines.push(line);
  expect(lines.map(({ what, exit }) => [what, exit])).toEqual([
    ['node', 0],
    ['clock', 10],
    ['dns', 11],
    ['addresses', 12],
    ['bus', 13],
    ['anchors', 14],
    ['disk', 15],
  ]);
  const ill = new Map(lines.filter(({ well }) => !well).map(({ what, words }) => [what, words]));
  expect(ill.get('clock')).toContain('60.0 s behind');
  expect(ill.get('bus')).toContain('Open the way to that host and port');
  expect(ill.get('anchors')).toContain(`${nobody}: ECONNREFUSED`);
  expect(ill.get('disk')).toContain('cannot be written to');
});
