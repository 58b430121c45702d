import type { FastifyInstance } from 'fastify';
import { resourceOf } from '../../access/access-assistant-connections.ts';

/** What an assistant may be granted; the second includes the first. */
export const assistantScopes = ['read', 'write'] as const;

const metadataPath = '/.well-known/oauth-protected-resource';

/**
 * The value of WWW-Authenticate for a call of an assistant that is refused: where it is told how to sign in, and what to ask for. Everything at once; the
 * person narrows it.
 */
export const challengeOf = (baseUrl: string, error?: 'invalid_token'): string => {
  const said = error === undefined ? [] : [`error="${error}"`];
  return `Bearer ${[...said, `resource_metadata="${baseUrl}${metadataPath}/mcp"`, `scope="${assistantScopes.join(' ')}"`].join(', ')}`;
};

/** Says which server of ours signs assistants in (RFC 9728), where clients look for it: at the path of the resource, and at the root. */
export const resourceMetadataRoutes = (app: FastifyInstance, baseUrl: () => string): void => {
  for (const path of [metadataPath, `${metadataPath}/mcp`])
    app.get(path, { exposeHeadRoute: true }, async (_request, reply) =>
      reply.headers({ 'cache-control': 'no-store', 'access-control-allow-origin': '*', 'x-content-type-options': 'nosniff' }).send({
        resource: resourceOf(baseUrl()),
        authorization_servers: [baseUrl()],
        scopes_supported: assistantScopes,
        bearer_methods_supported: ['header'],
        resource_name: 'Antipode',
      }),
    );
};
