import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { codeOf } from '../base/error-code.ts';
import { isRecord } from '../base/record.ts';

/** Where the service is and who is calling. The token is never printed, and never taken from the command line, where other users see it. */
export type Settings = { readonly url: string; readonly token: string };

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings cannot be used. `lacks` says what is wrong, so that a caller can tell a missing token from a wrong call. */
export class SettingsFault extends Error {
  readonly lacks: 'token' | 'url' | 'file';

  constructor(lacks: SettingsFault['lacks'], message: string) {
    super(message);
    this.lacks = lacks;
  }
}

const settingsFile = (environment: Environment): string =>
  environment.ANTIPODE_SETTINGS || join(environment.XDG_CONFIG_HOME || join(homedir(), '.config'), 'antipode', 'settings.json');

/** The settings file is `{"url": …, "token": …}`, readable by its owner only: whoever else can read the token can use it. */
const readFile = (path: string, asked: boolean): Partial<Settings> => {
  let text: string;
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0) {
      throw new SettingsFault('file', `Others may read ${path}, which holds a token. Make it yours alone: chmod 600 ${path}`);
    }
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof SettingsFault) throw error;
    if (codeOf(error) === 'ENOENT' && !asked) return {};
    throw new SettingsFault('file', `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
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
};

/** The address of the service without a trailing slash, also when that of its API is given; refused when it is no http or https address. */
const checkedUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new SettingsFault('url', `ANTIPODE_URL is not an address like https://antipode.example`);
  }
  if (url.username || url.password) throw new SettingsFault('url', 'ANTIPODE_URL must not hold a user name or password.');
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
};

/** The environment first, then the settings file, each value on its own. */
export const readSettings = (environment: Environment, furtherFiles: readonly string[] = []): Settings => {
  const own = readFile(settingsFile(environment), Boolean(environment.ANTIPODE_SETTINGS));
  const fromFile = furtherFiles.reduce<Partial<Settings>>((known, path) => Object.assign(readFile(path, false), known), own);
  const url = environment.ANTIPODE_URL || fromFile.url;
  const token = environment.ANTIPODE_TOKEN || fromFile.token;
  if (!url) {
    throw new SettingsFault('url', `Where is the service? Set ANTIPODE_URL, or "url" in ${settingsFile(environment)} (mode 600).`);
  }
  if (!token) {
    throw new SettingsFault('token', `Who is calling? Set ANTIPODE_TOKEN, or "token" in ${settingsFile(environment)} (mode 600).`);
  }
  if (!/^[\x21-\x7e]+$/.test(token)) throw new SettingsFault('token', 'The token has characters that no token has. Copy it again.');
  return { url: checkedUrl(url), token };
};
