import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAnnouncementReader } from '../../../probe/presence/announcements.ts';
import { createCorrectedClock } from '../../../probe/presence/clock.ts';
import { createPresence, type PresenceDependencies, post } from '../../../probe/presence/signal.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { subjects } from '../../../shared/bus/subjects.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { portOf } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import {
  type BusOfProbe,
  createBusOfProbe,
  respondSigned,
  signingKeys,
  silentLog,
} from '../support/surroundings.ts';

describe('a call with a body', () => {
  const root = mintAuthority('Test Root');
  const ends: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const end of ends) await end();
  });

  type Answer = (request: IncomingMessage, response: ServerResponse) => void;

  const echo: Answer = async (request, response) =>
    void response.writeHead(201).end(Buffer.concat(await request.toArray()));

  /** A server that shows this certificate. */
  const serve = async (
    { certificate: cert, key }: { readonly certificate: string; readonly key: string },
    answer: Answer = echo,
  ): Promise<URL> => {
    const server = createServer({ cert, key }, answer);
    const port = await portOf(server);
    ends.push(() => new Promise((resolve) => server.close(resolve)));
    return new URL(`https://127.0.0.1:${port}/x`);
  };

  const known = mint({ names: ['127.0.0.1'], issuer: root });
  const options = {
    headers: { 'x-of-ours': 'yes' },
    body: Buffer.from('ünïcode'),
    signal: AbortSignal.timeout(30_000),
    authorities: root.certificate,
  };

  test('goes to a server with a valid certificate, and returns its answer', async () => {
    expect(await post(await serve(known), options)).toEqual({ status: 201, text: 'ünïcode' });
  });

  test.each([
    [
      'is of an unknown authority',
      mint({ names: ['127.0.0.1'], issuer: mintAuthority('Unknown Root') }),
    ],
    ['signed itself', mint({ names: ['127.0.0.1'] })],
    ['is for another name', mint({ names: ['antipode.example'], issuer: root })],
    ['has expired', mint({ names: ['127.0.0.1'], issuer: root, to: new Date(Date.now() - 1_000) })],
  ])('says nothing to a server whose certificate %s', async (_, certificate) => {
    let heard = 0;
    const address = await serve(certificate, (request, response) => {
      heard += 1;
      echo(request, response);
    });
    await expect(post(address, options)).rejects.toThrow();
    expect(heard).toBe(0);
  });

  test('fails when the answer ends in the midst of it, or is too long', async () => {
    const cut = await serve(known, (_, response) => {
      response.writeHead(200, { 'content-length': 10 }).write('half', () => response.destroy());
    });
    await expect(post(cut, options)).rejects.toThrow();
    const endless = await serve(known, (_, response) => void response.end('x'.repeat(300_000)));
    await expect(post(endless, options)).rejects.toThrow('too large');
  });

  test('is given up at its time limit', async () => {
    const silent = await serve(known, () => undefined);
    await expect(post(silent, { ...options, signal: AbortSignal.timeout(300) })).rejects.toThrow();
  });
});

describe('sign of life', () => {
  let bench: BusOfProbe;
  beforeAll(async () => {
    bench = await createBusOfProbe();
  });
  afterAll(() => bench.close());

  test('a coordinator that does not read what this probe says is quoted in its log, once', async () => {
    const why = 'This coordinator reads version 7 of the wire: upgrade it first.';
    let asked = 0;
    const answering = bench.coordinator.subscribe(subjects.allPresence, (message) => {
      asked += 1;
      respondSigned(message, JSON.stringify({ refused: why }));
    });
    const errors: unknown[] = [];
    const log = Object.assign(Object.create(silentLog), {
      error: (...said: unknown[]) => void errors.push(said),
    });
    const replies: unknown[] = [];
    const dependencies: PresenceDependencies = {
      describe: async () => ({
        probe: bench.probe.id,
        generation: newId(),
        session: newId(),
        up_ms: 0,
        version: '1.0.0',
        seal_key: '',
        allowed_cidrs: [],
        ear: null,
        spool: { waiting: 0, dropped: 0, bytes: 0 },
        assignments: { count: 0, digest: '', roster_epoch: 0 },
        load: { in_flight: 0, late_ms: 0 },
        self_test: { ok: true, detail: '' },
      }),
      handedOver: () => true,
      isWanting: () => false,
      read: createAnnouncementReader({
        trust: () => signingKeys,
        now: systemClock.now,
        log: silentLog,
      }).read,
      onReply: (reply) => void replies.push(reply),
    };
    const presence = createPresence({
      key: bench.key,
      host: systemClock,
      clock: createCorrectedClock(systemClock),
      parts: dependencies,
      log,
    });
    presence.start(await bench.connect());
    await eventually(() => asked >= 3);
    await presence.stop();
    answering.stop();
    expect(errors).toEqual([[{ why }, "the coordinator does not process this probe's messages"]]);
    expect(replies).toEqual([]);
  });
});
