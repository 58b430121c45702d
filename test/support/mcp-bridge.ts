import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * Carries JSON-RPC between HTTP, which the conformance suite speaks, and a server on standard input and output, which ours is: one
 * process for each session. It carries; it answers nothing itself.
 */
export type McpBridge = { readonly url: string; readonly close: () => Promise<void> };

type Session = { readonly child: ChildProcessWithoutNullStreams; readonly waiting: Map<string, (line: string) => void> };

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
};

export const createMcpBridge = async (command: readonly [string, ...string[]], environment: NodeJS.ProcessEnv): Promise<McpBridge> => {
  const sessions = new Map<string, Session>();

  const begin = (): string => {
    const [program, ...given] = command;
    const child = spawn(program, given, { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
    const waiting: Session['waiting'] = new Map();
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message: unknown = JSON.parse(line);
      const id = typeof message === 'object' && message !== null ? JSON.stringify(Reflect.get(message, 'id')) : '';
      waiting.get(id)?.(line);
      waiting.delete(id);
    });
    child.stderr.resume();
    const session = randomUUID();
    sessions.set(session, { child, waiting });
    return session;
  };

  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    const text = await bodyOf(request);
    const message: unknown = JSON.parse(text);
    const id: unknown = typeof message === 'object' && message !== null ? Reflect.get(message, 'id') : undefined;
    const name = String(request.headers['mcp-session-id'] ?? begin());
    const session = sessions.get(name);
    if (!session) {
      response.writeHead(404).end();
      return;
    }
    const answered = id === undefined ? undefined : new Promise<string>((resolve) => session.waiting.set(JSON.stringify(id), resolve));
    session.child.stdin.write(`${JSON.stringify(message)}\n`);
    if (!answered) {
      response.writeHead(202).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': name }).end(await answered);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      await Promise.all(
        [...sessions.values()].map(
          ({ child }) => new Promise<void>((resolve) => (child.exitCode === null ? child.once('exit', () => resolve()).kill() : resolve())),
        ),
      );
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
