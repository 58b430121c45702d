import pLimit from 'p-limit';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import { refreshTokenOf, type SecretsAtRest } from '../secrets/at-rest.ts';
import { keepOnlyWay, type Provider, type ProvidersPart, providersOf } from './lookup.ts';
import { endProviderAccess, followAndRecord, isServing } from './membership.ts';
import { vouchedFrom } from './model.ts';
import { ProviderFault, type Said } from './protocol.ts';
import { type DueIdentity, takeDueIdentities, writeRefreshToken } from './queries.ts';

/** With the tick before it and the longest answer after it, a removal is known within a minute. */
const againMs = 40_000;
const atOnce = 8;
/** What providers are asked by all of us in one tick at most. */
const mostATick = 400;
/** So many in a row mean that the provider is out: the others wait for the next time. */
const outAfter = 5;

/**
 * Asks providers, on the leader, whether those who signed in are still there, and which groups they
 * have. A provider that does not answer removes nobody.
 */
export function createProviderWatch({
  sql,
  clock,
  log,
  secrets,
  providers,
  isLeader,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly secrets: SecretsAtRest;
  readonly providers: ProvidersPart;
  readonly isLeader: () => boolean;
}): { readonly tick: () => Promise<void> } {
  const ask = async (provider: Provider, due: DueIdentity): Promise<boolean> => {
    const { id, subject, refresh_token } = due;
    const about = refreshTokenOf(id);
    try {
      const said = await providers.protocol.refresh(provider.client, {
        refreshToken: await secrets.open(sql, refresh_token, about),
        subject,
        groupsClaim: provider.groupsClaim,
      });
      await inTransaction(sql, async (transaction) => {
        const token = said.refreshToken ?? '';
        const box = await secrets.seal(transaction, token, about);
        await writeRefreshToken(transaction, id, box, clock.now());
        await follow(transaction, provider, due, said, clock.now());
      });
      return true;
    } catch (error) {
      if (!(error instanceof ProviderFault)) throw error;
      if (error.is !== 'ended') {
        log.warn({ err: error, provider: provider.name }, 'a provider did not renew a sign-in');
        return false;
      }
      await inTransaction(sql, (transaction) =>
        endProviderAccess(transaction, provider, due.user_id, clock.now()),
      );
      log.info({ provider: provider.name, identity: id }, 'a provider ended a sign-in');
      return true;
    }
  };

  let isOnlyWayKept = false;
  return {
    tick: async () => {
      if (!isLeader()) return;
      const at = clock.now();
      // What the settings say stays the same while it runs.
      if (!isOnlyWayKept) await keepOnlyWay({ sql, with: { providers, secrets } });
      isOnlyWayKept = true;
      const due = await takeDueIdentities(sql, { at, before: at - againMs, limit: mostATick });
      if (due.length === 0) return;
      const ids = [...new Set(due.map(({ provider_id }) => provider_id))];
      const known = await providersOf({ sql, with: { providers, secrets } }, ids);
      const failures = new Map<string, number>();
      const turn = pLimit(atOnce);
      const asked = due.map((identity) =>
        turn(async () => {
          const provider = known.get(identity.provider_id);
          if (provider === undefined) return;
          const failed = failures.get(provider.id) ?? 0;
          if (failed >= outAfter) return;
          const isAnswered = await ask(provider, identity);
          failures.set(provider.id, isAnswered ? 0 : (failures.get(provider.id) ?? 0) + 1);
        }),
      );
      for (const one of await Promise.allSettled(asked))
        if (one.status === 'rejected')
          log.warn({ err: one.reason }, 'could not ask a provider about a sign-in');
    },
  };
}

async function follow(
  sql: Queryable,
  provider: Provider,
  { user_id: user, subject }: DueIdentity,
  { token, info }: Said,
  at: number,
): Promise<void> {
  const vouched = vouchedFrom({ sub: subject, ...token }, info, provider.groupsClaim);
  if (vouched instanceof Error || !isServing(provider)) return;
  await followAndRecord(sql, provider, { user, groups: vouched.groups }, at);
}
