/** For test files: a client that keeps to no rules, spoken word by word. */
import { createHash } from 'node:crypto';
import { memberOf } from '../../shared/base/json.ts';
import { askToken, type Browser, consent } from './assistant-client.ts';
import type { TestWeb } from './web.ts';

export const redirect = 'http://127.0.0.1:33418/callback';
export const verifier = 'a-verifier-of-more-than-forty-three-characters-0123456789';
const challenge = createHash('sha256').update(verifier).digest('base64url');

type Texts = Readonly<Record<string, string>>;

/** Of a web that is there by the time of the tests. */
export const anonymousAt = (web: () => TestWeb, browser: () => Browser) => {
  const register = async (metadata: object = {}) => {
    const answer = await fetch(`${web().url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'A client', redirect_uris: [redirect], ...metadata }),
    });
    const body: unknown = await answer.json();
    return { status: answer.status, body, id: String(memberOf(body, 'client_id')), error: memberOf(body, 'error') };
  };
  const addressFor = (client_id: string, more: Texts = {}): URL => {
    const asked = { client_id, response_type: 'code', redirect_uri: redirect, code_challenge: challenge, code_challenge_method: 'S256' };
    const all = { ...asked, state: 's', resource: `${web().url}/mcp`, scope: 'read write', ...more };
    return new URL(`${web().url}/oauth/auth?${new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ''))}`);
  };
  const all = () => ({ organisation_id: web().house.organisation, scope: 'read_write' });
  return {
    ...{ register, addressFor, all },
    codeOf: async (client: string, more: Texts = {}): Promise<string> =>
      (await consent(browser(), addressFor(client, more), all())).searchParams.get('code') ?? '',
    exchange: (client_id: string, code: string, more: Texts = {}) =>
      askToken(web().url, { grant_type: 'authorization_code', client_id, code, redirect_uri: redirect, code_verifier: verifier, ...more }),
    refresh: (client_id: string, refresh_token: string, more: Texts = {}) =>
      askToken(web().url, { grant_type: 'refresh_token', client_id, refresh_token, ...more }),
    isIn: async (token: string): Promise<boolean> => (await web().connections.callerOf(token)) !== undefined,
  };
};
