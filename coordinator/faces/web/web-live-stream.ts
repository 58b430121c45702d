import type { FastifyReply } from 'fastify';

/** Tells when something changed in an organisation that its pages show: from now on, and at once what changed since the moment that a page was made. */
export type ToldChanges = {
  readonly moment: () => string;
  readonly onChange: (organisation: string, listener: () => void, since?: string) => () => void;
};

/** Pages that are being looked at, each with one stream over which it hears that something changed; what, it asks for itself. */
export type LivePages = {
  /** `since`: when the page was made, or what a stream that broke off last said. */
  readonly open: (organisation: string, reply: FastifyReply, since?: string) => void;
  readonly close: () => void;
};

/** So many tabs of one organisation are told; a page beyond them is refreshed by hand. */
const mostStreams = 200;
/** Proxies cut off what is silent for long, and pages take it for lost (`asset-live.ts`). */
const signOfLifeMs = 10_000;
/** Then the browser comes again, and shows anew who it is. */
const longestMs = 15 * 60_000;
const comeAgainMs = 3_000;

export const createLivePages = ({ moment, onChange }: ToldChanges): LivePages => {
  const streams = new Map<string, Set<() => void>>();

  const open: LivePages['open'] = (organisation, reply, since) => {
    const own = streams.get(organisation) ?? new Set();
    if (own.size >= mostStreams) {
      // 204 tells the browser not to come again.
      void reply.code(204).send();
      return;
    }
    streams.set(organisation, own);
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
    });
    // The browser sends the last id along when it comes again: what it missed meanwhile is told then.
    raw.write(`retry: ${comeAgainMs}\nid: ${moment()}\n\n`);
    const tell = (): boolean => raw.write(`id: ${moment()}\nevent: changed\ndata: 1\n\n`);
    const stop = onChange(organisation, tell, since);
    const signs = setInterval(() => raw.write(`id: ${moment()}\nevent: alive\ndata: 1\n\n`), signOfLifeMs);
    const end = (): void => {
      clearInterval(signs);
      clearTimeout(limit);
      stop();
      own.delete(end);
      if (own.size === 0) streams.delete(organisation);
      raw.end();
    };
    const limit = setTimeout(end, longestMs);
    own.add(end);
    raw.on('close', end);
    raw.on('error', end);
  };

  return {
    open,
    close: () => {
      for (const own of [...streams.values()]) for (const end of [...own]) end();
    },
  };
};
