import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../shared/base/errors.ts';
import type { Log } from '../../shared/base/log.ts';
import { type Attempts, hostOf } from '../gate/attempts.ts';
import { type Consents, createConsents } from './consents.ts';
import {
  type createAssistantSecrets,
  createProvider,
  type OauthRecords,
  type Provider,
  paths,
  type ReadDocument,
  resourceMetadataRoutes,
  understood,
} from './oauth.ts';

export type { AskedConsent, Consents } from './consents.ts';

export type OauthDependencies = {
  readonly baseUrl: () => string;
  readonly records: OauthRecords;
  readonly secrets: ReturnType<typeof createAssistantSecrets>;
  readonly readDocument: ReadDocument;
  /**
   * Limits per hour how often one address may register clients, and have documents of theirs
   * fetched.
   */
  readonly attempts: Attempts;
  readonly log: Pick<Log, 'warn' | 'error'>;
};

const registrationsAnHour = 20;
const fetchesAnHour = 60;
const signInsAnHour = 240;
const maxStateCharacters = 2_048;

/**
 * Where assistants sign in. The library answers; our code comes before it: BASE_URL says who we
 * are, never a request, and one place interprets what a client asks for.
 */
export function oauthRoutes(app: FastifyInstance, dependencies: OauthDependencies): Consents {
  const { baseUrl, records, secrets, readDocument, attempts, log } = dependencies;
  const addresses = new WeakMap<object, string>();
  let made: { readonly for: string; readonly provider: Promise<Provider> } | undefined;

  /** False when it was done too often. */
  const isCounted = async (what: string, limit: number): Promise<boolean> => {
    try {
      await attempts.count([{ what, most: limit }]);
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.code === 'too_many_attempts') return false;
      throw error;
    }
  };

  const mayFetch = async (request: object): Promise<boolean> => {
    const address = addresses.get(request);
    return (
      address === undefined || isCounted(`assistant documents ${hostOf(address)}`, fetchesAnHour)
    );
  };

  const provider = (): Promise<Provider> => {
    const base = baseUrl();
    if (made?.for !== base) {
      const creating = createProvider({
        baseUrl: base,
        records,
        secrets,
        readDocument,
        mayFetch,
        failedAt,
      });
      creating.then(
        (created) => {
          created.on('server_error', (_ctx, error) =>
            log.error({ err: error }, 'the sign-in of an assistant failed'),
          );
        },
        () => {
          made = undefined;
        },
      );
      made = { for: base, provider: creating };
    }
    return made.provider;
  };

  /** The parts of a request from which the library derives our address. */
  const asOurs = (request: IncomingMessage): void => {
    const { host, protocol } = new URL(baseUrl());
    request.headers.host = host;
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    delete request.headers['x-forwarded-host'];
  };

  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const library = await provider();
    addresses.set(request.raw, request.ip);
    asOurs(request.raw);
    reply.hijack();
    reply.raw.setHeader('x-content-type-options', 'nosniff');
    reply.raw.setHeader('x-frame-options', 'DENY');
    reply.raw.setHeader(
      'content-security-policy',
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    );
    reply.raw.setHeader('referrer-policy', 'no-referrer');
    if (reply.raw.getHeader('cache-control') === undefined)
      reply.raw.setHeader('cache-control', 'no-store');
    await library.callback()(request.raw, reply.raw);
    return reply;
  };

  resourceMetadataRoutes(app, baseUrl);
  app.register(async (door) => {
    // The library reads bodies itself.
    door.removeAllContentTypeParsers();
    door.addContentTypeParser('*', (_request, _payload, done) => done(null));

    door.get(paths.authorization, async (request, reply) => {
      const [path = '', ...query] = (request.raw.url ?? '').split('?');
      // No program sends it intentionally, and the database does not accept such text.
      if (query.join('?').includes('%00')) return reply.redirect(failedAt('invalid_request'), 303);
      // Every request of an anonymous caller is stored for an hour with everything in it.
      if ((new URLSearchParams(query.join('?')).get('state') ?? '').length > maxStateCharacters)
        return reply.redirect(failedAt('invalid_request'), 303);
      if (!(await isCounted(`assistant sign-ins ${hostOf(request.ip)}`, signInsAnHour)))
        return reply.redirect(failedAt('too_many'), 303);
      request.raw.url = `${path}?${understood(query.join('?'))}`;
      return handle(request, reply);
    });
    door.get(`${paths.authorization}/:uid`, handle);
    door.post(paths.registration, async (request, reply) => {
      try {
        await attempts.count([
          { what: `assistant registrations ${hostOf(request.ip)}`, most: registrationsAnHour },
        ]);
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'too_many_attempts') throw error;
        return reply
          .code(429)
          .headers({ 'cache-control': 'no-store', 'retry-after': '3600' })
          .send({ error: 'temporarily_unavailable', error_description: error.message });
      }
      return handle(request, reply);
    });
    for (const path of [paths.token, paths.revocation]) {
      door.post(path, handle);
      door.options(path, handle);
    }
    for (const path of [
      paths.jwks,
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
    ]) {
      door.get(path, handle);
      door.options(path, handle);
    }
  });
  return createConsents(provider);
}

function failedAt(code: string): string {
  return `/connect/failed?why=${encodeURIComponent(code)}`;
}
