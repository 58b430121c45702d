import { expect, test } from 'vitest';
import { exits } from '../../../shared/client/http.ts';
import { createCommand } from '../../support/cli.ts';
import { freePort } from '../../support/services.ts';

const probe = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';

test('asks before a probe is ended for good, and ends none where nobody can be asked, unless told yes', async () => {
  // Nobody is there: what is asked of the service fails.
  const { run } = createCommand({ url: `http://127.0.0.1:${await freePort()}`, token: 'svc_x' });
  const line = ['probes', 'end', probe];
  const refused = await run(line, { terminal: true, answer: 'n' });
  expect(refused).toMatchObject({ code: exits.usage, out: '', err: 'Nothing was ended.\n' });
  expect(refused.asked).toEqual([expect.stringMatching(new RegExp(`^End the probe ${probe} for good\\? .* cannot come back`))]);
  expect(await run(line)).toMatchObject({ code: exits.usage, err: expect.stringMatching(/^Nothing was ended: .*--yes/) });
  for (const told of [await run(line, { terminal: true, answer: 'y' }), await run([...line, '--yes'])]) {
    expect(told.err).not.toContain('Nothing was ended');
    expect(told.code).not.toBe(exits.usage);
  }
});
