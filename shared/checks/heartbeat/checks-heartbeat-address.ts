import { isId } from '../../base/ids.ts';

/** What a call of the heartbeat address says, before anything is known of its token. */
export type PingCall = {
  readonly token: string;
  readonly kind: 'success' | 'start' | 'fail' | 'log';
  readonly exit_code: number | null;
  readonly rid: string | null;
};

export type PingCallFault = 'no_such_address' | 'rid_malformed';

/** At most this much of a body is kept with the ping; the rest is read and dropped. */
export const keptBodyBytes = 10_000;

/** One slash at the end is what many write behind every address, and means nothing. */
const grammar = /^\/beat\/([A-Za-z0-9_-]{16,64})(?:\/(start|fail|log|[0-9]{1,3}))?\/?$/;

/** A request through a proxy names the whole address, and every server has to take that (RFC 9112). */
const place = /^https?:\/\/[^/?]*/i;

/**
 * Reads `/ping/<token>[/start|/fail|/log|/<0-255>]` with an optional `?rid=<uuid>`; other parameters are ignored, because
 * address shorteners and job runners add their own.
 */
export const parsePingCall = (address: string): PingCall | PingCallFault => {
  const local = address.replace(place, '');
  const mark = local.indexOf('?');
  const path = mark < 0 ? local : local.slice(0, mark);
  const [, token, word] = grammar.exec(path) ?? [];
  if (token === undefined) return 'no_such_address';
  const given = mark < 0 ? null : new URLSearchParams(local.slice(mark + 1)).get('rid');
  const rid = given === null || given === '' ? null : given.toLowerCase();
  if (rid !== null && !isId(rid)) return 'rid_malformed';
  if (word === undefined) return { token, kind: 'success', exit_code: null, rid };
  if (word === 'start' || word === 'fail' || word === 'log') return { token, kind: word, exit_code: null, rid };
  const code = Number(word);
  if (code > 255) return 'no_such_address';
  return { token, kind: code === 0 ? 'success' : 'fail', exit_code: code, rid };
};
