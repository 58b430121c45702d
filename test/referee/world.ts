import type { IncomingMessage, ServerResponse } from 'node:http';
import dnsPacket from 'dns-packet';
import { mint, mintAuthority } from '../support/certificates.ts';
import { createTcpProxy, type TcpProxy } from '../support/connections.ts';
import { makePlaces, type Places } from '../support/hosts.ts';
import { answerTo, startResolver } from '../support/name-servers.ts';
import { startRawTarget, startTarget } from '../support/targets.ts';
import type { Fault, Scenario } from './scenarios.ts';

/**
 * The targets, and three places that look at them from 30, 100 and 250 ms away. Each place is a
 * network namespace with a name server and a relay of its own before every target, which holds each
 * byte back for half of that time: not every kernel has netem. So a handshake of TCP takes no time
 * here; all that is said after it does.
 */

export const roundTripsMs = [30, 100, 250] as const;

/** What a subject is told of a target. */
export type Watched = { readonly name: string } & (
  | { readonly by: 'http'; readonly url: string }
  | {
      readonly by: 'dns';
      readonly host: string;
      readonly server: string;
      readonly expected: string;
    }
);

export type WorldTarget = {
  readonly watched: Watched;
  readonly fail: (fault: Fault) => Promise<void>;
  readonly heal: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export type World = {
  readonly here: string;
  readonly places: Places['places'];
  /** The authority of every right certificate, as PEM. */
  readonly authority: string;
  /** One that is well. `nth`: which place a fault of one place is for, in turn. */
  readonly addTarget: (name: string, by: Scenario['by'], nth: number) => Promise<WorldTarget>;
  readonly close: () => Promise<void>;
};

const zone = 'referee.example';
const rightAddress = '192.0.2.10';
const wrongAddress = '192.0.2.66';
const day = 86_400_000;

export async function createWorld(): Promise<World> {
  const made = await makePlaces(roundTripsMs.length);
  const ends: (() => unknown)[] = [made.close];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  const authority = mintAuthority('Referee');
  const names = new Map<string, Fault | undefined>();
  const certificateFor = (host: string, more: Parameters<typeof mint>[0] = {}) =>
    mint({ names: [host], issuer: authority, ...more });
  const expired = { from: new Date(Date.now() - 90 * day), to: new Date(Date.now() - day) };

  try {
    const unanswering = await startRawTarget((socket) => void socket.resume());
    ends.push(unanswering.close);
    for (const address of [made.here, ...made.places.map(({ way }) => way)]) {
      const resolver = await startResolver(
        ({ query, name }) => nameAnswer(query, name, address, names),
        { host: address, port: 53 },
      );
      ends.push(resolver.close);
    }
    let port = 20_000;

    const addTarget: World['addTarget'] = async (name, by, nth) => {
      const host = `${name}.${zone}`;
      if (by === 'dns') {
        names.set(host, undefined);
        return {
          watched: { name, by, host, server: made.here, expected: rightAddress },
          fail: async (fault) => void names.set(host, fault),
          heal: async () => void names.set(host, undefined),
          close: async () => void names.delete(host),
        };
      }
      port += 1;
      const own = port;
      const right = by === 'https' ? { certificate: certificateFor(host) } : {};
      let target = await startTarget(right);
      let oneFails = false;
      const relays: TcpProxy[] = [];
      const listen = async (): Promise<void> => {
        for (const [place, { way }] of made.places.entries()) {
          const isLost = (): boolean =>
            oneFails && place === nth % made.places.length && Math.random() < 0.3;
          const delayMs = (roundTripsMs[place] ?? 0) / 2;
          relays.push(
            await createTcpProxy(() => (isLost() ? unanswering : target).url(), {
              host: way,
              port: own,
              delayMs,
            }),
          );
        }
      };
      const hangUp = async (): Promise<void> => {
        for (const relay of relays.splice(0)) await relay.close();
      };
      const replace = async (options: Parameters<typeof startTarget>[0]): Promise<void> => {
        const old = target;
        target = await startTarget(options);
        await old.close();
      };
      await listen();
      let undo = async (): Promise<void> => undefined;
      const fail = async (fault: Fault): Promise<() => Promise<void>> => {
        const one = relays[nth % relays.length];
        if (fault === 'refuses') {
          await hangUp();
          return listen;
        }
        if (fault === 'shows-another-name' || fault === 'shows-expired') {
          const certificate =
            fault === 'shows-expired'
              ? certificateFor(host, expired)
              : certificateFor(`elsewhere.${zone}`);
          await replace({ certificate });
          return () => replace(right);
        }
        if (fault === 'is-cut-off-from-one-place') {
          one?.silence();
          return async () => one?.heal();
        }
        if (fault === 'is-lossy-from-one-place') {
          oneFails = true;
          return async () => {
            oneFails = false;
          };
        }
        target.answer({ is: 'by', answer: (...asked) => misbehave(fault, ...asked) });
        return async () => target.answer({ is: 'status', status: 200, body: 'well' });
      };
      return {
        watched: { name, by: 'http', url: `${by}://${host}:${own}/` },
        fail: async (fault) => {
          undo = await fail(fault);
        },
        heal: () => undo(),
        close: async () => {
          await hangUp();
          await target.close();
        },
      };
    };
    return {
      here: made.here,
      places: made.places,
      authority: authority.certificate,
      addTarget,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Every name of the zone is at the way of who asks; those that are watched are where they say. */
function nameAnswer(
  query: Buffer,
  asked: string,
  way: string,
  names: ReadonlyMap<string, Fault | undefined>,
): Buffer {
  const name = asked.toLowerCase();
  const isAddress = dnsPacket.decode(query).questions?.[0]?.type === 'A';
  if (!name.endsWith(`.${zone}`) || names.get(name) === 'has-no-name')
    return answerTo(query, { rcode: 3 });
  const watched = names.get(name) === 'has-a-wrong-name' ? wrongAddress : rightAddress;
  const data = names.has(name) ? watched : way;
  return answerTo(query, { answers: isAddress ? [{ type: 'A', name: asked, ttl: 1, data }] : [] });
}

function misbehave(fault: Fault, request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  const say = (status: number, headers: Readonly<Record<string, string>> = {}): void =>
    void response.writeHead(status, headers).end(String(status));
  switch (fault) {
    case 'unavailable':
      say(503);
      break;
    case 'is-silent':
      break;
    case 'drips-headers': {
      socket.write('HTTP/1.1 200 OK\r\nX-Slow: ');
      const timer = setInterval(() => socket.write('x'), 500);
      socket.once('close', () => clearInterval(timer));
      break;
    }
    case 'breaks-off':
      response.writeHead(200, { 'content-length': 2_000 });
      response.write('the beginning', () => socket.end());
      break;
    case 'redirects-for-ever':
      say(302, { location: '/again' });
      break;
    case 'refuses-head':
      say(request.method === 'HEAD' ? 405 : 200);
      break;
    case 'fails-three-of-ten':
      say(Math.random() < 0.3 ? 503 : 200);
      break;
    default:
      throw new Error(`no answer does this: ${fault}`);
  }
}
