import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll } from 'vitest';
import { type Answer, type RawTarget, startRawTarget, startTarget, type Target, type TargetOptions } from '../../support/targets.ts';

/** Targets that are closed when the test file that opened them is done. */
const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

export const serve = async (options: TargetOptions = {}): Promise<Target> => {
  const target = await startTarget(options);
  closing.push(target.close);
  return target;
};

export const serveRaw = async (onSocket: (socket: Socket) => void): Promise<RawTarget> => {
  const target = await startRawTarget(onSocket);
  closing.push(target.close);
  return target;
};

type Said = { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

export const answerBy = (answer: (request: IncomingMessage) => Said): Answer => ({
  is: 'by',
  answer: (request, response) => {
    const { status = 200, headers = {}, body = '' } = answer(request);
    response.writeHead(status, headers).end(body);
  },
});
