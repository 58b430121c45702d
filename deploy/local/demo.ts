/**
 * Targets that fail on demand, for a first look: three small services on one port, and a page with
 * a button for each way to fail. With `ANTIPODE_DEMO=1` they run beside the service and are
 * monitored.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';

export const demoTargets = ['Shop', 'API', 'Sign-in'] as const;
type Target = (typeof demoTargets)[number];

const ways = {
  fine: 'Fine',
  error: 'Status 503',
  slow: 'Slow',
  silent: 'No answer',
  cut: 'Connection cut',
} as const;
type Way = keyof typeof ways;

export function demoPath(target: Target): string {
  return `/${target.toLowerCase()}`;
}

/** Settles when it listens. */
export async function serveDemo(host: string, port: number): Promise<void> {
  const now = new Map<Target, Way>(demoTargets.map((target) => [target, 'fine']));
  const { createServer } = await import('node:http');
  const server = createServer((request, response) => answer(now, request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
}

function answer(now: Map<Target, Way>, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://demo');
  const target = demoTargets.find((each) => pathname === demoPath(each));
  if (target === undefined) {
    if (pathname === '/') response.setHeader('content-type', 'text/html').end(page(now));
    else response.writeHead(404).end('There is no such service here.\n');
    return;
  }
  if (request.method === 'POST') {
    const way = z.enum(wayNames).safeParse(searchParams.get('way'));
    if (!way.success) response.writeHead(400).end(`way is one of ${wayNames.join(', ')}.\n`);
    else {
      now.set(target, way.data);
      response.writeHead(303, { location: '/' }).end();
    }
    return;
  }
  behave(now.get(target) ?? 'fine', target, request, response);
}

const wayNames = ['fine', 'error', 'slow', 'silent', 'cut'] as const satisfies readonly Way[];
const slowMs = 4_000;

function behave(
  way: Way,
  target: Target,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const isUp = () => response.end(`${target} is up.\n`);
  if (way === 'fine') isUp();
  else if (way === 'error') response.writeHead(503).end(`${target} is being repaired.\n`);
  else if (way === 'slow') setTimeout(isUp, slowMs);
  else if (way === 'cut') request.socket.destroy();
}

function page(now: ReadonlyMap<Target, Way>): string {
  const rows = demoTargets.map((target) => {
    const buttons = wayNames.map((way) => {
      const is = now.get(target) === way;
      return `<button formaction="${demoPath(target)}?way=${way}" aria-pressed="${is}" class="${way}">${ways[way]}</button>`;
    });
    return `<tr><th scope="row">${target}</th><td><form method="post">${buttons.join(' ')}</form></td></tr>`;
  });
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Services to break</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem }
th { text-align: left; padding-right: 1.5rem; white-space: nowrap }
td { padding: .5rem 0 }
button { font: inherit; padding: .4rem .8rem; margin: .1rem; border: 1px solid GrayText; border-radius: .3rem; background: Canvas; color: CanvasText }
button[aria-pressed='true'] { background: #b42318; border-color: #b42318; color: #fff }
button.fine[aria-pressed='true'] { background: #17693c; border-color: #17693c }
</style>
<h1>Services to break</h1>
<p>Antipode checks these every ten seconds. Choose how one behaves, and watch the dashboard.</p>
<table>${rows.join('\n')}</table>
</html>
`;
}
