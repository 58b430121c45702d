import type { CauseRow } from '../result.ts';

/** Codes with which a server may close (RFC 6455 and its registry), in plain words. */
const closeWords: Readonly<Record<string, string>> = {
  1000: 'normal',
  1001: 'going away',
  1002: 'protocol error',
  1003: 'it does not take such messages',
  1007: 'invalid text',
  1008: 'policy violation',
  1009: 'message too big',
  1010: 'it wants an extension',
  1011: 'internal error',
  1012: 'restart',
  1013: 'try again later',
  1014: 'bad gateway',
};

/**
 * Every cause of a websocket check beyond those of a connection and of an HTTP response. Params hold
 * numbers, and texts of the monitor's own config or of lists of ours.
 */
export const websocketCauses = {
  upgrade_refused: {
    layer: 'http',
    sentence: ({ status }) =>
      Number(status) >= 300 && Number(status) < 400
        ? `The server redirects the WebSocket, and no redirect is followed (status ${status})`
        : `The server refused the WebSocket (status ${status})`,
  },
  websocket_not_spoken: {
    layer: 'http',
    sentence: ({ status }) =>
      `The server does not speak WebSocket at this address${status === undefined ? '' : ` (status ${status})`}`,
  },
  subprotocol_wrong: {
    layer: 'http',
    sentence: ({ wanted }) =>
      wanted === undefined
        ? 'The server chose a subprotocol, and none was asked for'
        : `The server did not choose the subprotocol ${wanted}`,
  },
  websocket_closed: {
    layer: 'http',
    sentence: ({ code }) => `The server closed the WebSocket before it answered${closeText(code)}`,
  },
  websocket_invalid: {
    layer: 'http',
    sentence: ({ fault }) => `The server breaks the WebSocket protocol (${fault})`,
  },
  message_too_large: {
    layer: 'http',
    sentence: () => 'A message of the server is larger than 64 KiB',
  },
  message_lacks: {
    layer: 'assertion',
    sentence: ({ text, truncated }) =>
      `No message contains "${text}"${truncated === 1 ? ' in the first 1 MiB, more was not read' : ''}`,
  },
} satisfies Record<string, CauseRow>;

function closeText(code: string | number | undefined): string {
  // What the library says where the close has no code.
  if (code === undefined || code === 1005) return '';
  const words = closeWords[String(code)];
  return ` (code ${code}${words === undefined ? '' : `, ${words}`})`;
}

export type WebsocketCause = keyof typeof websocketCauses;
