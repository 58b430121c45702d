/** Where alerts arrive: webhooks of an organisation, one that is well and one that is not, and all that each of them ever got. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { insertChannel } from '../../../coordinator/notifications/queries.ts';
import { channelSecretsOf, createSecretsAtRest } from '../../../coordinator/secrets/at-rest.ts';
import { newId } from '../../../shared/base/crypto.ts';
import type { Chance } from '../../simulation/chance.ts';
import type { Network } from '../../support/network.ts';
import { testSecretKey } from '../../support/people.ts';

/** `covers`: the places that it is told of; null: all. */
export type Channel = { readonly name: string; readonly covers: readonly string[] | null; readonly delay_s: number };

/** One request; `taken`: it was answered 204, to the end. */
export type Got = {
  readonly channel: string;
  /** The same with each attempt. */
  readonly id: string;
  readonly at: number;
  readonly body: string;
  readonly items: readonly { readonly incident: string; readonly event: string }[];
  taken: boolean;
};

export type Receivers = {
  readonly channels: readonly Channel[];
  readonly got: readonly Got[];
  /** From now on each takes what it gets. */
  readonly heal: () => void;
  readonly close: () => Promise<void>;
};

const bodyShape = z.object({ data: z.object({ incidents: z.array(z.object({ id: z.string(), event: z.string() })) }) });

/** What a receiver that is not well does with a request. */
const troubles = ['refuse', 'hang up', 'hang up late'] as const;

export const startReceivers = async (chance: Chance, network: Network, monitors: ReadonlyMap<string, string>): Promise<Receivers> => {
  const got: Got[] = [];
  let isHealed = false;
  let changesAt = Date.now() + 20_000;
  let trouble: (typeof troubles)[number] | undefined;
  /** Well for a minute or more, and then not for some seconds: so few attempts fail that none has to wait for minutes. */
  const troubleNow = (): typeof trouble => {
    if (isHealed) return undefined;
    if (Date.now() >= changesAt) {
      trouble = trouble === undefined ? chance.pick(troubles) : undefined;
      changesAt = Date.now() + 1_000 * (trouble === undefined ? chance.between(60, 90) : chance.between(2, 5));
    }
    return trouble;
  };

  const answer = (one: Got, response: ServerResponse): void => {
    const now = one.channel === 'troubled' ? troubleNow() : undefined;
    if (now === 'refuse') return void response.writeHead(503).end();
    if (now === 'hang up') return void response.destroy();
    // Half of an answer is none.
    if (now === 'hang up late') return void response.writeHead(204, { 'content-length': '7' }).write('', () => response.destroy());
    response.writeHead(204).end(() => {
      one.taken = true;
    });
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const { data } = bodyShape.parse(JSON.parse(body));
      const one: Got = {
        ...{ channel: (request.url ?? '').slice(1), id: String(request.headers['webhook-id']), at: Date.now(), body, taken: false },
        items: data.incidents.map(({ id, event }) => ({ incident: id, event: event.split('.')[1] ?? '' })),
      };
      got.push(one);
      answer(one, response);
    });
    request.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // Listening on a port, it has an address that is no pipe.
  const { port } = server.address() as AddressInfo;

  const places = [...monitors.keys()];
  const chosen = [...places.filter((place) => place.startsWith('/seldom/')).slice(0, 2), ...places.slice(0, 8)];
  const channels: readonly Channel[] = [
    { name: 'well', covers: null, delay_s: 0 },
    { name: 'troubled', covers: null, delay_s: 0 },
    { name: 'chosen', covers: chosen, delay_s: 0 },
    { name: 'later', covers: null, delay_s: 10 },
  ];
  const atRest = createSecretsAtRest(testSecretKey);
  for (const { name, covers, delay_s } of channels) {
    const id = newId();
    const secret = JSON.stringify({ secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` });
    const own = (covers ?? []).flatMap((place) => monitors.get(place) ?? []);
    await network.sql.begin(async (transaction) => {
      await insertChannel(transaction, {
        ...{ id, organisation: network.organisation, user: null, host: null, kind: 'webhook', name },
        config: { url: `http://127.0.0.1:${port}/${name}` },
        secrets: await atRest.seal(transaction, secret, channelSecretsOf(id)),
        ...{ enabled: true, covers: covers === null ? 'all' : 'chosen', monitors: own, groups: [] },
        ...{ delay_s, reminder_s: null, hours: null, verified_at: new Date() },
      });
    });
  }
  return {
    channels,
    got,
    heal: () => {
      isHealed = true;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};
