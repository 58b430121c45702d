/** For test files: an assistant as a stranger's program is one, with the SDK's client, and the browser in which its person says yes. */
import { auth, type OAuthClientProvider } from '@modelcontextprotocol/client';
import { memberOf } from '../../shared/base/json.ts';
import type { Person } from './people.ts';
import type { TestWeb } from './web.ts';

type Client = Parameters<NonNullable<OAuthClientProvider['saveClientInformation']>>[0];
export type Tokens = Parameters<OAuthClientProvider['saveTokens']>[0];

export type Assistant = {
  readonly provider: OAuthClientProvider;
  /** Begins: where it sends its person. */
  readonly begin: () => Promise<URL>;
  /** Ends, with where the browser was led. */
  readonly end: (returned: URL) => Promise<Tokens>;
  tokens: Tokens | undefined;
  client: Client | undefined;
};

type Options = { readonly redirect?: string; readonly name?: string; readonly documentUrl?: string; readonly scope?: string };

export const assistantOf = (url: string, options: Options = {}): Assistant => {
  const { redirect = 'http://127.0.0.1:33418/callback', name = 'Test Assistant', documentUrl, scope } = options;
  let verifier = '';
  let sentTo: URL | undefined;
  const provider: OAuthClientProvider = {
    get redirectUrl() {
      return redirect;
    },
    ...(documentUrl === undefined ? {} : { clientMetadataUrl: documentUrl }),
    get clientMetadata() {
      return {
        client_name: name,
        redirect_uris: [redirect],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      };
    },
    state: () => 'a-state',
    clientInformation: () => assistant.client,
    saveClientInformation: (client) => {
      assistant.client = client;
    },
    tokens: () => assistant.tokens,
    saveTokens: (tokens) => {
      assistant.tokens = tokens;
    },
    redirectToAuthorization: (to) => {
      sentTo = to;
    },
    saveCodeVerifier: (made) => {
      verifier = made;
    },
    codeVerifier: () => verifier,
  };
  const serverUrl = `${url}/mcp`;
  const assistant: Assistant = {
    ...{ provider, tokens: undefined, client: undefined },
    begin: async () => {
      await auth(provider, { serverUrl, ...(scope === undefined ? {} : { scope }) });
      if (!sentTo) throw new Error('the assistant sends its person nowhere');
      return sentTo;
    },
    end: async (returned) => {
      const [code, iss] = [returned.searchParams.get('code'), returned.searchParams.get('iss')];
      if (code === null) throw new Error(`there is no code in ${returned}`);
      await auth(provider, { serverUrl, authorizationCode: code, ...(iss === null ? {} : { iss }) });
      if (!assistant.tokens) throw new Error('the assistant was given no token');
      return assistant.tokens;
    },
  };
  return assistant;
};

/** What a browser keeps of the cookies that it is given. */
export const createBrowser = (web: Pick<TestWeb, 'url' | 'cookieOf'>, person?: Person) => {
  const jar = new Map<string, { readonly value: string; readonly path: string }>();
  const given: string[] = [];
  const keep = (headers: Headers): void => {
    for (const line of headers.getSetCookie()) {
      given.push(line);
      const [pair = '', ...attributes] = line.split(';').map((each) => each.trim());
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      const path = attributes.find((each) => /^path=/i.test(each))?.slice(5) ?? '/';
      const isOver = attributes.some((each) => /^expires=Thu, 01 Jan 1970/i.test(each) || /^max-age=0$/i.test(each));
      if (isOver) jar.delete(`${name} ${path}`);
      else jar.set(`${name} ${path}`, { value, path });
    }
  };
  const cookiesFor = async (path: string): Promise<string> => {
    const own = [...jar].filter(([, kept]) => path.startsWith(kept.path)).map(([key, { value }]) => `${key.split(' ')[0]}=${value}`);
    return [...(person ? [await web.cookieOf(person)] : []), ...own].join('; ');
  };
  const ask = async (to: string | URL, init: RequestInit = {}, at = web.url) => {
    const url = new URL(to, at);
    const headers = { accept: 'text/html', cookie: await cookiesFor(url.pathname), ...init.headers };
    const answer = await fetch(url, { redirect: 'manual', ...init, headers });
    keep(answer.headers);
    return { status: answer.status, headers: answer.headers, text: await answer.text(), location: answer.headers.get('location') ?? '' };
  };
  return {
    /** Every Set-Cookie that came. */
    given,
    get: (to: string | URL, at?: string) => ask(to, {}, at),
    post: (to: string | URL, form: Readonly<Record<string, string>>, at?: string) =>
      ask(to, { method: 'POST', body: new URLSearchParams(form), headers: { 'sec-fetch-site': 'same-origin' } }, at),
  };
};
export type Browser = ReturnType<typeof createBrowser>;

/** Where a page leads on by itself. */
export const ledTo = ({ headers }: { readonly headers: Headers }): string => /^0; url=(.*)$/.exec(headers.get('refresh') ?? '')?.[1] ?? '';

/** What is asked at the token endpoint. */
export const askToken = async (url: string, form: Readonly<Record<string, string>>) => {
  const answer = await fetch(`${url}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
  const body: unknown = await answer.json();
  const said = (name: string): string => {
    const value = memberOf(body, name);
    return typeof value === 'string' ? value : '';
  };
  return {
    status: answer.status,
    error: said('error'),
    access: said('access_token'),
    refresh: said('refresh_token'),
    scope: said('scope'),
  };
};

/** From the address that an assistant sends its person to, by the consent page, to where the browser is led in the end. */
export const consent = async (browser: Browser, to: URL, form: Readonly<Record<string, string>>): Promise<URL> => {
  const began = await browser.get(to);
  const page = await browser.get(began.location);
  if (page.status !== 200) throw new Error(`the consent page answers ${page.status}: ${page.location}`);
  const said = await browser.post(began.location, { act: 'allow', ...form });
  const returned = await browser.get(ledTo(said));
  return new URL(returned.location);
};
