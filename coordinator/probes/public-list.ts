import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  type DirectoryProof,
  directoryOf,
  directoryPath,
  isDirectoryProof,
  thumbprintOf,
} from '../../shared/base/http-signatures.ts';
import type { Clock } from '../../shared/base/time.ts';
import { countAddress, type RestDependencies, type TokenCaller } from '../api/caller.ts';
import type { ProbeRow } from './queries.ts';

/**
 * Who asks, for the firewalls of targets: the public probes with their addresses, and the keys that
 * their requests are signed with. Anyone may read it, and it says nothing of private probes.
 */
type PublicLists = {
  readonly json: PublicDocument;
  readonly text: PublicDocument;
  readonly directory: PublicDocument;
};

type PublicDocument = {
  readonly type: string;
  readonly body: string;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
};

export function publicListsOf(
  rows: readonly ProbeRow[],
  baseUrl: string,
  now: number,
): PublicLists {
  const authority = authorityOf(baseUrl);
  const probes = rows
    .filter(
      ({ organisation_id, revoked_at, last_seen_at }) =>
        organisation_id === null && revoked_at === null && last_seen_at !== null,
    )
    .map((row) => ({ row, proof: proofOf(row, authority, now) }))
    .toSorted((a, b) => (a.row.name < b.row.name ? -1 : 1));
  const listed = {
    key_directory: URL.parse(directoryPath, baseUrl)?.href ?? null,
    probes: probes.map(({ row: { name, continent, addresses }, proof }) => ({
      name,
      continent,
      addresses,
      key_id: proof === undefined ? null : thumbprintOf(proof.x),
    })),
  };
  const addresses = [...new Set(probes.flatMap(({ row }) => row.addresses))].toSorted();
  const keys = directoryOf(probes.flatMap(({ proof }) => proof ?? []));
  return {
    json: documentOf('application/json; charset=utf-8', `${JSON.stringify(listed, null, 2)}\n`),
    text: documentOf(
      'text/plain; charset=utf-8',
      addresses.map((address) => `${address}\n`).join(''),
    ),
    directory: documentOf(
      'application/http-message-signatures-directory+json',
      keys.text,
      keys.headers,
    ),
  };
}

function authorityOf(baseUrl: string): string | undefined {
  return URL.parse(baseUrl)?.host;
}

/** Its key, if the key itself says that it belongs here. */
function proofOf(
  { request_key: proof }: ProbeRow,
  authority: string | undefined,
  now: number,
): DirectoryProof | undefined {
  return proof &&
    proof.authority === authority &&
    proof.expires * 1_000 > now &&
    isDirectoryProof(proof)
    ? proof
    : undefined;
}

function documentOf(
  type: string,
  body: string,
  headers: PublicDocument['headers'] = {},
): PublicDocument {
  return {
    type,
    body,
    etag: `"${hash('sha256', [body, ...Object.values(headers)].join('\n'), 'base64url')}"`,
    headers,
  };
}

type Dependencies = Pick<RestDependencies<TokenCaller>, 'limiter' | 'baseUrl'> & {
  readonly clock: Pick<Clock, 'now'>;
  /** All probes, the same array until they change; undefined while the coordinator starts. */
  readonly probes: () => readonly ProbeRow[] | undefined;
};

/**
 * A verifier that keeps them for this long learns of a new probe in time, and forgets a key that is
 * gone.
 */
const keptForS = 300;

export function publicListRoutes(app: FastifyInstance, dependencies: Dependencies): void {
  const { baseUrl, clock, probes } = dependencies;
  let made: { readonly of: readonly ProbeRow[]; readonly lists: PublicLists } | undefined;
  const listsNow = (): PublicLists | undefined => {
    const rows = probes();
    if (rows === undefined) return undefined;
    // Made once for each reading of the probes, which also drops proofs that have run out.
    if (made?.of !== rows) made = { of: rows, lists: publicListsOf(rows, baseUrl(), clock.now()) };
    return made.lists;
  };
  const answer =
    (which: keyof PublicLists) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      await countAddress(dependencies, request.ip, reply);
      const document = listsNow()?.[which];
      if (document === undefined)
        return reply.code(503).headers({ 'retry-after': '2', 'cache-control': 'no-store' }).send();
      reply.headers({
        ...document.headers,
        etag: document.etag,
        'cache-control': `public, max-age=${keptForS}`,
        'access-control-allow-origin': '*',
        'x-content-type-options': 'nosniff',
      });
      // A compressing proxy marks the tag as weak.
      if (request.headers['if-none-match']?.includes(document.etag)) return reply.code(304).send();
      // As bytes: to a text the server would add a charset, which the type of a directory has none of.
      return reply.type(document.type).send(Buffer.from(document.body));
    };
  app.get('/probes.json', { exposeHeadRoute: true }, answer('json'));
  app.get('/probes.txt', { exposeHeadRoute: true }, answer('text'));
  app.get(directoryPath, { exposeHeadRoute: true }, answer('directory'));
}
