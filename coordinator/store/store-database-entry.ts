/** Why a database could not be entered, in words for the person who gave its address. Never the password. */
import { ConfigurationFault } from '../../shared/base/env.ts';
import { codeOf } from '../../shared/base/errors.ts';
import { isPassing } from './store-database.ts';

type Place = { readonly at: string; readonly user: string; readonly database: string };

const placeOf = (url: string): Place => {
  if (!URL.canParse(url)) return { at: 'that address', user: 'the user', database: 'of that name' };
  const { host, hostname, port, username, pathname } = new URL(url);
  return { at: port === '' ? `${host}:5432` : host, user: decodeURIComponent(username) || hostname, database: pathname.slice(1) };
};

const unreachable = ['ECONNREFUSED', 'CONNECT_TIMEOUT', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNRESET', 'EPIPE', 'ENOENT'];
const nameless = ['ENOTFOUND', 'EAI_AGAIN'];
const lost = ['CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'CONNECTION_SILENT'];

/**
 * Whether waiting may help: nobody answers yet, or who answers is starting, full, or about to take over. A password, a name of a database or a
 * certificate that is wrong stays so.
 */
export const mayCome = (error: unknown): boolean => {
  const code = codeOf(error);
  return [...unreachable, ...nameless, ...lost].includes(code) || (/^[0-9A-Z]{5}$/.test(code) && isPassing(error));
};

/** undefined when the error is not about getting in. */
export const whyNoEntry = (error: unknown, url: string): string | undefined => {
  const { at, user, database } = placeOf(url);
  const code = codeOf(error);
  const said = error instanceof Error ? error.message : String(error);
  if (unreachable.includes(code)) return `nothing answers at ${at} (${code}): check host and port, and that a Postgres runs there`;
  if (lost.includes(code))
    return `what answers at ${at} closed the connection or fell silent (${said}): look whether a Postgres runs there`;
  if (nameless.includes(code)) return `the host ${at.replace(/:\d+$/, '')} is not known: check its name`;
  if (code.startsWith('28')) return `the Postgres at ${at} does not let ${user} in (${said}): check user and password`;
  if (code === '3D000') return `the Postgres at ${at} has no database ${database}: create it, or name another`;
  if (code === '42501') return `the Postgres at ${at} does not let ${user} make tables (${said}): use a user who owns the database`;
  if (mayCome(error)) return `the Postgres at ${at} cannot be used right now (${said})`;
  return undefined;
};

/** What to throw in the place of an error of the first use of a database. */
export const entryFault = (error: unknown, url: string): unknown => {
  const why = whyNoEntry(error, url);
  return why === undefined ? error : new ConfigurationFault([`DATABASE_URL: ${why}`]);
};
