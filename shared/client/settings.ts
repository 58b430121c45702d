import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { codeOf } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';

/**
 * The service's address and the caller's token. The token is never printed, and never taken from
 * the command line, where other users see it.
 */
export type Settings = { readonly url: string; readonly token: string };

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The settings cannot be used. `lacks` says what is wrong: a caller can distinguish a missing token
 * from a wrong call.
 */
export class SettingsFault extends Error {
  readonly lacks: 'token' | 'url' | 'file';

  constructor(lacks: SettingsFault['lacks'], message: string) {
    super(message);
    this.lacks = lacks;
  }
}

export function settingsFile(environment: Environment): string {
  return (
    environment.ANTIPODE_SETTINGS ||
    join(environment.XDG_CONFIG_HOME || join(homedir(), '.config'), 'antipode', 'settings.json')
  );
}

/**
 * The address of the service without a trailing slash, also when given the address of its API;
 * refused when it is no http or https address.
 */
export function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new SettingsFault(
      'url',
      'The address of the service (ANTIPODE_URL) is not one like https://antipode.example.',
    );
  }
  if (url.username || url.password)
    throw new SettingsFault(
      'url',
      'The address of the service (ANTIPODE_URL) must not hold a user name or password.',
    );
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
}

export function checkedToken(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new SettingsFault('token', 'The token has characters that no token has. Copy it again.');
  return text;
}

type Source = {
  readonly path: string | undefined;
  readonly url?: string | undefined;
  readonly token?: string | undefined;
};

/**
 * The environment first, then the settings file, then the other files, each value separately. A
 * token is sent only to the address of its own file.
 */
export function readSettings(
  environment: Environment,
  furtherFiles: readonly string[] = [],
): Settings {
  const own = settingsFile(environment);
  const fromEnvironment = {
    path: undefined,
    url: environment.ANTIPODE_URL || undefined,
    token: environment.ANTIPODE_TOKEN || undefined,
  };
  const files = [own, ...furtherFiles].map((path, nth) => ({
    path,
    ...readFile(path, nth === 0 && Boolean(environment.ANTIPODE_SETTINGS)),
  }));
  const sources: readonly Source[] = [fromEnvironment, ...files];
  const url = sources.find((source) => source.url)?.url;
  const holder = sources.find((source) => source.token);
  if (!url) {
    throw new SettingsFault(
      'url',
      `Where is the service? antipode login writes it down; or set ANTIPODE_URL, or "url" in ${own} (mode 600).`,
    );
  }
  if (!holder?.token) {
    throw new SettingsFault(
      'token',
      `Who is calling? antipode login writes it down; or set ANTIPODE_TOKEN, or "token" in ${own} (mode 600).`,
    );
  }
  const place = checkedUrl(url);
  if (holder.path !== undefined && holder.url && !isSamePlace(checkedUrl(holder.url), place)) {
    throw new SettingsFault(
      'token',
      `The token in ${holder.path} is for ${checkedUrl(holder.url)}, not for ${place}. Set ANTIPODE_TOKEN too.`,
    );
  }
  return { url: place, token: checkedToken(holder.token) };
}

/**
 * The settings file is `{"url": …, "token": …}`, readable by its owner only: anyone else who can
 * read the token can use it.
 */
function readFile(path: string, asked: boolean): Partial<Settings> {
  let text: string;
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0) {
      throw new SettingsFault(
        'file',
        `Others may read ${path}, which holds a token. Restrict it: chmod 600 ${path}`,
      );
    }
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof SettingsFault) throw error;
    if (codeOf(error) === 'ENOENT' && !asked) return {};
    throw new SettingsFault(
      'file',
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  try {
    const parsed: unknown = JSON.parse(text);
    if (!isRecord(parsed)) throw new SyntaxError('not an object');
    const value = (name: string): string | undefined => {
      const found = parsed[name];
      return typeof found === 'string' ? found : undefined;
    };
    const [url, token] = [value('url') ?? value('base_url'), value('token') ?? value('api_token')];
    return { ...(url !== undefined && { url }), ...(token !== undefined && { token }) };
  } catch {
    // The parser's own message would quote the file, and with it the token.
    throw new SettingsFault('file', `${path} is not a JSON object with "url" and "token".`);
  }
}

const loopback = /^(?:localhost|127\.0\.0\.1|\[::1\])$/;

/**
 * Whether the token of one address may be sent to the other: all names of this machine count as
 * one.
 */
function isSamePlace(one: string, other: string): boolean {
  const [
    { protocol, hostname, port },
    { protocol: otherProtocol, hostname: otherName, port: otherPort },
  ] = [new URL(one), new URL(other)];
  const isSameHost =
    hostname === otherName || (loopback.test(hostname) && loopback.test(otherName));
  return protocol === otherProtocol && isSameHost && port === otherPort;
}

/** Replaces the settings file atomically; only its owner can read it. */
export function writeSettings(path: string, { url, token }: Settings): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const partial = `${path}.${process.pid}`;
  writeFileSync(partial, `${JSON.stringify({ url, token }, null, 2)}\n`, { mode: 0o600 });
  renameSync(partial, path);
}
