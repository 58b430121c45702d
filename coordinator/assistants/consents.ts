import { cookieOf } from '../web/cookies.ts';
import {
  assistantScopes,
  consentCookie,
  nameShown,
  type Provider,
  type RedirectTarget,
  redirectTargetOf,
} from './oauth.ts';

/** The program that asks for access, for the consent page. */
export type AskedConsent = {
  readonly client_id: string;
  /** The name that it gives itself, which is not verified. */
  readonly client: string;
  /** From the redirect URI, which identifies the client. */
  readonly way: RedirectTarget;
  readonly wants: 'read' | 'read_write';
};

/**
 * A browser's consent request: the id in its address, and the cookie that says that it began here.
 */
type ConsentOf = { readonly id: string; readonly cookies: string | undefined };

type Granted = {
  readonly connection: string;
  readonly user: string;
  readonly scope: 'read' | 'read_write';
};

/**
 * What the consent page needs. Each is undefined when there is no request, it expired, or another
 * browser began it.
 */
export type Consents = {
  readonly asked: (of: ConsentOf) => Promise<AskedConsent | undefined>;
  /** Both return where the browser goes on. */
  readonly allow: (of: ConsentOf, granted: Granted) => Promise<string | undefined>;
  readonly refuse: (of: ConsentOf) => Promise<string | undefined>;
};

export function createConsents(provider: () => Promise<Provider>): Consents {
  /** Knowing the address is not enough: what is allowed here goes to the browser that began. */
  const find = async ({ id, cookies }: ConsentOf) => {
    if (!/^[\w-]{20,50}$/.test(id) || cookieOf(cookies, consentCookie) !== id) return undefined;
    const { Interaction } = await provider();
    const found = await Interaction.find(id);
    return found && found.result === undefined ? found : undefined;
  };
  type Found = NonNullable<Awaited<ReturnType<typeof find>>>;

  const answer = async (found: Found, result: NonNullable<Found['result']>): Promise<string> => {
    found.result = result;
    await found.persist();
    return new URL(found.returnTo).pathname;
  };

  return {
    asked: async (of) => {
      const found = await find(of);
      const client = found && (await (await provider()).Client.find(read(found.params.client_id)));
      const way = redirectTargetOf(found?.params.redirect_uri);
      if (!found || !client || !way) return undefined;
      const wants = read(found.params.scope).split(' ').includes('write') ? 'read_write' : 'read';
      return { client_id: client.clientId, client: nameShown(client.clientName), way, wants };
    },
    allow: async (of, { connection, user, scope }) => {
      const found = await find(of);
      if (!found) return undefined;
      const { Grant } = await provider();
      const grant = new Grant({ accountId: user, clientId: read(found.params.client_id) });
      grant.jti = connection;
      const [granted, kept] = scope === 'read' ? [['read'], ['write']] : [assistantScopes, []];
      const resource = read(found.params.resource);
      grant.addOIDCScope(granted.join(' '));
      grant.addResourceScope(resource, granted.join(' '));
      // What was requested and not granted is recorded as refused; otherwise the user would be
      // asked again.
      if (kept.length > 0) {
        grant.rejectOIDCScope(kept.join(' '));
        grant.rejectResourceScope(resource, kept.join(' '));
      }
      await grant.save();
      return answer(found, {
        login: { accountId: user, remember: false },
        consent: { grantId: connection },
      });
    },
    refuse: async (of) => {
      const found = await find(of);
      return (
        found && answer(found, { error: 'access_denied', error_description: 'the person said no' })
      );
    },
  };
}

function read(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
