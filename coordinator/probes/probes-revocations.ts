import { z } from 'zod';
import { jsonOf } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { type Key, readJwt, withRevocations } from '../../shared/bus/nkeys.ts';

/**
 * Tells the server which users are void: it drops their connections at once and lets none of them in again. The list is kept in the
 * account's JWT, which the server stores; it only grows, so that what another database revoked stays revoked.
 */
type Parts = { readonly system: Bus; readonly account: string; readonly operator: Key };

const answer = z.looseObject({
  data: z.looseObject({ code: z.number() }).optional(),
  error: z.looseObject({ description: z.string().optional() }).optional(),
});

/** User → milliseconds since the epoch: `revoked` for good, `endedBefore`: whose credentials of before that moment are void, and later ones not. */
type Voided = { readonly revoked: ReadonlyMap<string, number>; readonly endedBefore: ReadonlyMap<string, number> };

/** @throws when the server does not take it. */
export const pushRevocations = async (
  { system, account, operator }: Parts,
  { revoked, endedBefore }: Voided,
  now: number,
): Promise<void> => {
  const jwt = new TextDecoder().decode((await system.request(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`, '')).data);
  const before = readJwt(jwt).nats.revocations ?? {};
  const seconds = (ms: number): number => Math.ceil(ms / 1_000);
  const wanted = [
    ...[...endedBefore].map(([user, at]) => [user, at, at] as const),
    ...[...revoked].map(([user, at]) => [user, at, Math.max(at, now)] as const),
  ];
  const missing = wanted.filter(([user, at]) => (before[user] ?? 0) < seconds(at));
  if (missing.length === 0) return;
  const next = { ...before, ...Object.fromEntries(missing.map(([user, , until]) => [user, seconds(until)])) };
  const reply = await system.request('$SYS.REQ.CLAIMS.UPDATE', withRevocations(jwt, next, operator, now), { timeoutMs: 5_000 });
  const read = answer.parse(jsonOf(reply.data));
  // A refusal comes as an answer, too.
  if (read.data?.code !== 200) throw new Error(`the bus did not take the revocations: ${read.error?.description ?? 'no reason given'}`);
};
