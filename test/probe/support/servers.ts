import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { Minted } from '../../support/certificates.ts';
import { serveRaw } from './observations.ts';

/** Servers below http that follow a script, on real sockets. */

/** One step: wait for these bytes of ours, then write those. */
export type Step = {
  readonly wants?: string | Buffer;
  readonly says?: string | Buffer;
  /** Begins TLS as a server, after what it says. */
  readonly secures?: Minted;
  readonly ends?: 'close' | 'reset';
};

type Scripted = {
  /** `host:port`. */
  readonly target: string;
  readonly port: number;
  /** All that was ever heard, of each connection. */
  readonly heard: Buffer[];
  readonly connections: () => number;
};

const bytes = (text: string | Buffer): Buffer =>
  typeof text === 'string' ? Buffer.from(text, 'latin1') : text;

/** Each connection goes through the script from its beginning. */
export const serveScript = async (script: readonly Step[]): Promise<Scripted> => {
  const heard: Buffer[] = [];
  const follow = (socket: Socket, steps: readonly Step[], place: number): void => {
    let pending = Buffer.alloc(0);
    let left = steps;
    const goOn = (): void => {
      const [step, ...rest] = left;
      if (!step) return;
      const wants = bytes(step.wants ?? '');
      const at = pending.indexOf(wants);
      if (at < 0) return;
      pending = pending.subarray(at + wants.length);
      left = rest;
      const done = (): void => {
        if (step.ends === 'close') socket.end();
        if (step.ends === 'reset') socket.resetAndDestroy();
        if (step.secures) {
          socket.off('data', take);
          const { chain: cert, key } = step.secures;
          const secure = new TLSSocket(socket, {
            isServer: true,
            secureContext: createSecureContext({ cert, key }),
          });
          secure.on('error', () => undefined);
          follow(secure, rest, place);
        } else goOn();
      };
      if (step.says === undefined) done();
      else socket.write(bytes(step.says), done);
    };
    const take = (part: Buffer): void => {
      heard[place] = Buffer.concat([heard[place] ?? Buffer.alloc(0), part]);
      pending = Buffer.concat([pending, part]);
      goOn();
    };
    socket.on('data', take);
    goOn();
  };
  const { port, connections } = await serveRaw((socket) => {
    heard.push(Buffer.alloc(0));
    follow(socket, script, heard.length - 1);
  });
  return { target: `127.0.0.1:${port}`, port, heard, connections };
};
