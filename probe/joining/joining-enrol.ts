import { isIP } from 'node:net';
import { z } from 'zod';
import { isUnknownAuthority } from '../../shared/base/authorities.ts';
import { version } from '../../shared/base/own-version.ts';
import { type EnrolmentAnswer, enrolmentAnswer, enrolmentPath, enrolmentProof } from '../../shared/bus/bus-enrolment.ts';
import type { Key } from '../../shared/bus/bus-nkeys.ts';
import { type Posted, post } from '../presence/presence-post.ts';
import { unknownAuthority } from './joining-checklist.ts';

/** Why a host did not become a probe, in words, with the exit code that says so to a script. */
export class JoinFault extends Error {
  readonly exit: number;

  constructor(exit: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'JoinFault';
    this.exit = exit;
  }
}

/** The line cannot be understood; the coordinator refused; it could not be reached. */
export const exits = { misused: 2, refused: 20, unreachable: 21 } as const;

const patienceMs = 20_000;

const refusal = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

/** Where the coordinator is. A join token never goes over a wire in the clear. @throws JoinFault. */
export const coordinatorAt = (text: string): URL => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new JoinFault(exits.misused, `"${text}" is no address of a coordinator; give one such as https://antipode.example`);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol === 'http:' && !isLoopback(host))
    throw new JoinFault(
      exits.misused,
      `${url.origin} would carry the token in the clear: give its https:// address (http:// is for this host itself)`,
    );
  return url;
};

const reasonOf = (error: unknown): string => {
  if (isUnknownAuthority(error)) return unknownAuthority;
  return error instanceof Error ? error.message || error.name : String(error);
};

export type Heard = { readonly answer: EnrolmentAnswer; readonly sentAt: number; readonly receivedAt: number };

/**
 * Asks to be the probe that the token is for. Asked again with the same key it is told the same. `authorities`: who may have signed the coordinator's
 * certificate besides those that this machine trusts. @throws JoinFault.
 */
export const enrol = async (at: URL, token: string, key: Key, authorities?: string): Promise<Heard> => {
  const url = new URL(`${at.pathname.replace(/\/$/, '')}${enrolmentPath}`, at);
  const sentAt = Date.now();
  let answered: Posted;
  try {
    // It follows no redirect: whoever redirects would get the token.
    answered = await post(url, {
      headers: { 'content-type': 'application/json', 'user-agent': `antipode-probe/${version}` },
      body: Buffer.from(JSON.stringify({ token, key: key.id, proof: enrolmentProof(key, token) })),
      signal: AbortSignal.timeout(patienceMs),
      authorities,
    });
  } catch (cause) {
    throw new JoinFault(exits.unreachable, `${url.origin} cannot be reached: ${reasonOf(cause)}. Nothing is spent; try again.`, { cause });
  }
  let body: unknown;
  try {
    body = JSON.parse(answered.text);
  } catch {
    body = undefined; // A page of somebody else's; what it is worth is said below.
  }
  const refused = refusal.safeParse(body);
  if (refused.success)
    throw new JoinFault(exits.refused, `${url.origin} refused: ${refused.data.error.message} (${refused.data.error.code})`);
  const answer = enrolmentAnswer.safeParse(body);
  if (!answer.success)
    throw new JoinFault(
      exits.unreachable,
      `${url.origin} answered ${answered.status}, and not as a coordinator does. Is this the service's own address?`,
    );
  return { answer: answer.data, sentAt, receivedAt: Date.now() };
};
