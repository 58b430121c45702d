import type { FastifyRequest } from 'fastify';

/** Which page, and which part of it. */
export type Params = { readonly slug: string; readonly of?: string };
export type Here = FastifyRequest<{ Params: Params }>;

export const hostOf = (host: string | undefined): string => (host ?? '').toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');

/** `shop` and `shop.json` are of the same page. */
export const slugOf = (request: Here): string => request.params.slug.replace(/\.json$/, '');
