/** For test files: a server that plays the API of Kubernetes from what was recorded. */

import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { stringify } from 'yaml';
import { portOf } from './connections.ts';

/** An answer whole, or the lines of a watch and how it goes on after them. */
export type Played =
  | { readonly status?: number; readonly body: unknown }
  | { readonly lines: readonly unknown[]; readonly after: 'end' | 'cut' | 'hold' };

export type Player = {
  readonly url: string;
  /** Paths with their queries, in the order in which they came. */
  readonly asked: readonly string[];
  /** Sends an event to all watches that are held open. */
  readonly send: (event: unknown) => void;
  readonly close: () => Promise<void>;
};

/** What the API server says of a kind that it does not know. */
export const unknownKind: Played = { status: 404, body: '404 page not found\n' };

export const list = (items: readonly unknown[], version = '10', onward?: string): Played => ({
  body: { kind: 'List', metadata: { resourceVersion: version, continue: onward }, items },
});

export const createPlayer = async (
  play: (path: string, query: URLSearchParams) => Played,
): Promise<Player> => {
  const asked: string[] = [];
  const held = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://player');
    asked.push(request.url ?? '');
    const played = play(pathname, searchParams);
    if ('body' in played) {
      response.writeHead(played.status ?? 200);
      response.end(typeof played.body === 'string' ? played.body : JSON.stringify(played.body));
      return;
    }
    response.writeHead(200);
    response.flushHeaders();
    for (const line of played.lines) response.write(`${JSON.stringify(line)}\n`);
    if (played.after === 'end') response.end();
    // In the middle of a line.
    else if (played.after === 'cut') response.write('{"type":"ADD', () => response.destroy());
    else {
      held.add(response);
      response.on('close', () => held.delete(response));
    }
  });
  const port = await portOf(server);
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    send: (event) => {
      for (const response of held) response.write(`${JSON.stringify(event)}\n`);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

/** A kubeconfig with one context. */
export const writeKubeconfig = (
  file: string,
  cluster: Readonly<Record<string, unknown>>,
  user: Readonly<Record<string, unknown>> = {},
): string => {
  writeFileSync(
    file,
    stringify({
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      clusters: [{ name: 'test', cluster }],
      users: [{ name: 'test', user }],
    }),
  );
  return file;
};
