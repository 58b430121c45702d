import type { IncomingMessage } from 'node:http';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { thumbprintOf } from '../../shared/base/http-signatures.ts';
import { eventually } from '../support/eventually.ts';
import { createNetwork } from '../support/network.ts';
import { verifiedDirectory, verifiedRequest } from '../support/signatures.ts';

/** Who asks: public probes sign their requests, and the coordinator tells anyone who they are. */

const network = await createNetwork({ baseUrl: 'https://antipode.example' });
afterAll(network.close);

/** The lists count against the rate of an address. */
const atEase = [30_000, 1_000] as const;

const path = '/.well-known/http-message-signatures-directory';
const directoryShape = z.object({ keys: z.array(z.object({ x: z.string(), kid: z.string() })) });

test('a public probe is known by its signature, a private one says nothing, and an installation can be silent', async () => {
  const coordinator = await network.startCoordinator();
  const environment = { PROBE_ADDRESSES: '198.41.0.4' };
  await network.addProbe('Europe', 'Frankfurt', { environment });
  const hidden = await network.makeProbe('Asia', 'Hidden', network.organisation);
  await network.startProbe(hidden, { environment: { PROBE_ADDRESSES: '199.9.14.201' } });
  const target = await network.startTarget();
  const requests: IncomingMessage[] = [];
  target.answer({
    is: 'by',
    answer: (request, response) => {
      requests.push(request);
      response.end();
    },
  });
  const has = (name: string, isSigned: boolean) =>
    requests.findLast(
      ({ headers }) =>
        headers['user-agent']?.includes(`probe=${name};`) &&
        (headers.signature !== undefined) === isSigned,
    );
  await network.addMonitor({ target: target.url(), config: { continents: ['Europe'] } });
  await network.addMonitor({ target: target.url(), config: { probe: hidden.id } });

  const directory = await eventually(
    async () => {
      const answer = await fetch(`${coordinator.url}${path}`);
      const { keys } = directoryShape.parse(await answer.json());
      return keys[0] && { headers: answer.headers, key: keys[0], count: keys.length };
    },
    ...atEase,
  );
  expect(directory).toMatchObject({ count: 1, key: { kid: thumbprintOf(directory.key.x) } });
  const { x } = directory.key;
  await verifiedDirectory(directory.headers, `https://antipode.example${path}`, {
    x,
    label: 'sig1',
  });

  const signed = await eventually(() => has('Frankfurt', true));
  expect(signed.headers['signature-agent']).toBe('"https://antipode.example"');
  await verifiedRequest(signed, `http://127.0.0.1:${target.port}`, x);

  const list = await eventually(
    async () => {
      const text = await (await fetch(`${coordinator.url}/probes.json`)).text();
      return text.includes('198.41.0.4') ? text : '';
    },
    ...atEase,
  );
  expect(JSON.parse(list)).toMatchObject({
    probes: [{ name: 'Frankfurt', continent: 'Europe', addresses: ['198.41.0.4'] }],
  });
  expect(list).not.toMatch(/Hidden|199\.9/);
  await eventually(() => has('Hidden', false));
  expect(has('Hidden', true)).toBeUndefined();

  await coordinator.close();
  const silent = await network.startCoordinatorProcess({ IDENTIFY_PROBES: 'false' });
  for (const gone of [path, '/probes.json', '/probes.txt'])
    expect((await fetch(`${silent.url}${gone}`)).status).toBe(404);
  await eventually(() => has('Frankfurt', false), 60_000);
});
