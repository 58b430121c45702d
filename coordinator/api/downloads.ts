import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { bundleDownload, type DownloadName, downloadNames } from './bundles.ts';

type Download = { readonly text: string; readonly etag: string };

/** `prepare`: makes them one after the other, so that no stranger's request has to. */
export type Downloads = { readonly prepare: () => Promise<void> };

/**
 * Serves the command-line client, the local assistant server and the probe. A release has them as
 * files; from a checkout they are bundled in the background, because a start has more urgent work.
 */
export function downloadRoutes(
  app: FastifyInstance,
  options: { readonly onFailure: (error: unknown) => void; readonly cacheFolder?: string },
): Downloads {
  const load = async (name: DownloadName): Promise<Download> => {
    const text = await bundleDownload(name, options.cacheFolder);
    return { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` };
  };
  const begun = new Map<DownloadName, Promise<Download>>();
  const download = (name: DownloadName): Promise<Download> => {
    const running = begun.get(name);
    if (running) return running;
    const started = load(name);
    begun.set(name, started);
    started.catch((error: unknown) => {
      // A failed attempt is dropped, so that the next request tries again.
      begun.delete(name);
      options.onFailure(error);
    });
    return started;
  };

  // In the format of `sha256sum -c`.
  app.get('/downloads/SHA256SUMS', { exposeHeadRoute: true }, async (_request, reply) => {
    const lines = await Promise.all(
      downloadNames.map(
        async (name) =>
          `${createHash('sha256')
            .update((await download(name)).text)
            .digest('hex')}  ${name}\n`,
      ),
    );
    return reply
      .headers({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
      .type('text/plain; charset=utf-8')
      .send(lines.join(''));
  });

  for (const name of downloadNames) {
    // A HEAD request works too, for clients that only check for a newer version.
    app.get(`/downloads/${name}`, { exposeHeadRoute: true }, async (request, reply) => {
      const { text, etag } = await download(name);
      reply.headers({ etag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
      // A compressing proxy marks the tag as weak.
      if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send();
      return reply
        .type('text/javascript; charset=utf-8')
        .header('content-disposition', `attachment; filename="${name}"`)
        .send(text);
    });
  }

  return {
    prepare: async () => {
      // A failure was told, and whoever asks for it tries again.
      for (const name of downloadNames) await download(name).catch(() => undefined);
    },
  };
}
