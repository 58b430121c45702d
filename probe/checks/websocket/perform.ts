import {
  type WebsocketSettings,
  websocketSettings,
  websocketUrl,
} from '../../../shared/checks/websocket/config.ts';
import { type Open, openSocket } from '../connection/connect.ts';
import { reachWithHandshake } from '../connection/handshake.ts';
import { createNotes } from '../connection/notes.ts';
import type { ConnectionDependencies, Endpoint } from '../connection/reach.ts';
import { authorityOf, isSignedByOwner, userAgent } from '../https/perform.ts';
import type { Check, CheckContext } from '../types.ts';
import { converse } from './exchange.ts';
import { type Conversation, judgeWebsocket, type WebsocketObservation } from './verdict.ts';

/** HTTP/1.1 alone: over nothing else WebSocket is in use. */
const alpn = Buffer.from('\u0008http/1.1', 'latin1');

/** Performs the check: a connection, its upgrade and messages, then the pure verdict. */
export function createWebsocketCheck(dependencies: ConnectionDependencies): Check {
  const note = createNotes(dependencies);
  const { trust } = dependencies;
  return async (context) => {
    const { assignment, started_at, deadline, evidence_wanted } = context;
    const url = websocketUrl(assignment.target);
    if (!url) throw new Error('The target of a websocket check is not an address');
    url.hash = '';
    const settings = websocketSettings(assignment.config);
    // Loaded for the first check: most probes need the memory of it for nothing.
    const { WebSocket } = await import('ws');
    const began = performance.now();
    deadline.listenInSteps();
    const isSecure = url.protocol === 'wss:';
    const endpoint: Endpoint = {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port || (isSecure ? 443 : 80)),
      ip_family: settings.ip_family,
    };
    const host = endpoint.host.replace(/\.$/, '');
    const verify = settings.verify_tls;
    const opening =
      (isHybrid: boolean): Open =>
      (address, port, through) =>
        openSocket(
          address,
          port,
          isSecure ? { host, verify, isHybrid, alpn } : null,
          trust,
          through,
        );
    const certified = { host, verify, trust };
    const { reached, socket, tls, tls_ms, failure } = await reachWithHandshake(
      endpoint,
      opening,
      certified,
      context,
      dependencies,
    );
    const { at, first_byte_ms, ...seen }: Conversation =
      socket === null || failure
        ? { ...nothingSaid, at: performance.now(), failure }
        : await converse(
            WebSocket,
            socket,
            { url, headers: headersOf(url, settings, context), settings },
            deadline,
          );
    const observation: WebsocketObservation = {
      ...seen,
      at: started_at,
      url: url.href,
      limit_ms: assignment.timeout_ms,
      reached: reached.seen,
      tls,
      phases: { ...reached.phases, tls: tls_ms, first_byte: first_byte_ms, total: at - began },
    };
    const verdict = judgeWebsocket(settings, observation, evidence_wanted);
    return note(verdict, context, endpoint, reached.seen, [tls]);
  };
}

const nothingSaid = {
  first_byte_ms: null,
  beginning: new Uint8Array(),
  response: null,
  first: null,
  messages: 0,
  close: null,
} as const;

/** Who asks, and what the owner adds. */
function headersOf(
  url: URL,
  { headers }: WebsocketSettings,
  { probe, clock }: CheckContext,
): Readonly<Record<string, string>> {
  const own = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
  const sent = { 'User-Agent': userAgent(probe), ...Object.fromEntries(headers) };
  if (!probe.sign || isSignedByOwner(own)) return sent;
  const authority = authorityOf(url, own.get('host'));
  const isSecure = url.protocol === 'wss:';
  const lines = probe.sign({ authority, method: 'GET', isSecure }, clock.now()).toString('latin1');
  const signature = lines.matchAll(/^([\w-]+): (.*)\r$/gm);
  return { ...sent, ...Object.fromEntries([...signature].map(([, name, value]) => [name, value])) };
}
