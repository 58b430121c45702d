import { assistantScopes } from './oauth-resource.ts';

/** What only signing in with an identity needs, which nobody does here: a client that sends it all the same is not refused for it. */
const unheard = [
  'nonce',
  'max_age',
  'claims',
  'claims_locales',
  'acr_values',
  'id_token_hint',
  'ui_locales',
  'login_hint',
  'response_mode',
  'request',
  'request_uri',
];

/**
 * What a client asks for, as we understand it. Clients ask for more or less than there is, or for nothing; then it is all that there is, and the person
 * narrows it. To change something includes to look.
 */
export const understood = (query: string): string => {
  const asked = new URLSearchParams(query);
  const wanted = new Set((asked.get('scope') ?? '').split(' '));
  const known = assistantScopes.filter((scope) => wanted.has(scope) || wanted.has('write'));
  asked.set('scope', (known.length === 0 ? assistantScopes : known).join(' '));
  for (const name of unheard) asked.delete(name);
  // People are always asked; whoever wants that nobody is asked is told that this cannot be.
  if (asked.get('prompt') !== 'none') asked.delete('prompt');
  return asked.toString();
};
