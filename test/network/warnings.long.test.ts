import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { newId } from '../../shared/base/crypto.ts';
import { mint } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { openReceiver, type Receiver } from '../support/receivers.ts';

/**
 * From a target with a certificate that ends and slow answers to one message, real in every part:
 * two continents see it, and nobody calls it down.
 */
describe('rule 44: a site that works, whose certificate ends in 5 days and that answers in 3 s', () => {
  const day = 86_400_000;
  let network: Network;
  let receiver: Receiver;
  let api: string;

  beforeAll(async () => {
    network = await createNetwork();
    receiver = await openReceiver();
    const { url } = await network.startCoordinator({
      warningTimes: { quietMs: 70_000, mostMs: 240_000 },
    });
    api = url;
    await network.addProbes('Asia', 'Europe');
  });
  afterAll(async () => {
    await network.close();
    await receiver.close();
  });

  const ask = async (path: string) => {
    const response = await fetch(`${api}${path}`, {
      headers: { authorization: `Bearer ${network.house.owner.readWrite}` },
    });
    const body: unknown = await response.json();
    return body;
  };
  const warningsShape = z.object({
    status: z.string(),
    warnings: z.array(z.object({ code: z.string(), text: z.string() })),
    uptime: z.object({ down_seconds: z.number() }),
  });

  test('is never down, has two warnings, and both are in one message', {
    timeout: 300_000,
  }, async () => {
    const target = await network.startTarget({
      certificate: mint({
        names: ['localhost'],
        from: new Date(Date.now() - 85 * day),
        to: new Date(Date.now() + 5.5 * day),
      }),
    });
    target.answer({
      is: 'by',
      answer: (_, response) => void setTimeout(() => response.end('slow'), 3_000),
    });
    const config = JSON.stringify({
      url: receiver.url,
      secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    });
    await network.sql`insert into channels (id, organisation_id, kind, name, config, verified_at)
      values (${newId()}, ${network.organisation}, 'webhook', 'Chat', ${config}::text::jsonb, now())`;
    const monitor = await network.addMonitor({
      target: target.url(),
      interval_s: 10,
      name: 'Shop',
      config: { verify_tls: false, max_response_ms: 2_000, warn: { response_ms: 1_000 } },
    });
    await eventually(async () => receiver.got.length > 0, 240_000);
    const { status, warnings, uptime } = warningsShape.parse(
      await ask(`/api/v1/monitors/${monitor}/status`),
    );
    expect({ status, down: uptime.down_seconds }).toEqual({ status: 'up', down: 0 });
    expect(warnings.map(({ code }) => code).toSorted()).toEqual(['certificate_expires', 'slow']);
    expect(await network.sql`select id from incidents`).toEqual([]);
    const messages = receiver.got.map(({ body }) => JSON.parse(body.toString()));
    expect(messages).toMatchObject([
      {
        type: 'warning.started',
        data: {
          incidents: [],
          warnings: [{ text: expect.stringContaining('certificate expires in 5 days') }],
        },
      },
    ]);
    expect(messages[0].data.warnings[0].text).toContain('longer than 1 s');
    const [certificate] = await network.sql<
      { ends_at: number }[]
    >`select ends_at from certificates`;
    expect(certificate?.ends_at).toBeGreaterThan(Date.now() + 5 * day);
  });
});
