import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { fullBucket, gather } from '../domain/telling/telling-bucket.ts';
import { areOwnersToldNow, isLastResort, lastResortMs } from '../domain/telling/telling-channel.ts';
import type { Sql } from '../store/store-database.ts';
import {
  failingChannels,
  noticesOfPrivateProbes,
  noticesTold,
  ownersOf,
  ownersTold,
  untakenDowns,
  writeLastResorts,
  writeResortBuckets,
} from '../store/store-last-resorts.ts';
import { type NewMail, postMails } from '../store/store-mails.ts';
import { inTransaction } from '../store/store-sql-transactions.ts';

/**
 * The last resort (rule 38): a "down" that no channel took in time is mailed to all owners, and they hear once a day of a channel that does not deliver.
 * What is wrong with a private probe is mailed to its owners (rule 39). The mails go the way of all mails, which is none of the channels'. Where mail is not set up it is written down that nobody could be mailed.
 */
export type Rescue = { readonly tick: () => Promise<void> };

const most = 500;
const lastsMs = 60_000;
const probeAgainMs = 3_600_000;

type Parts = { readonly sql: Sql; readonly clock: Clock; readonly log: Log; readonly hasMail: boolean };

export const createRescue = ({ sql, clock, log, hasMail }: Parts): Rescue => {
  const resort = (now: number): Promise<number> =>
    inTransaction(sql, async (transaction) => {
      const found = await untakenDowns(transaction, now - lastResortMs, most);
      const untaken = found.filter(({ first_told_at }) => isLastResort({ first_told_at: first_told_at.getTime(), taken: false }, now));
      const byOrganisation = [...Map.groupBy(untaken, ({ organisation_id }) => organisation_id)].flatMap(([organisation, downs]) => {
        const gathered = gather({ ...fullBucket, fullAt: downs[0]?.full_at.getTime() ?? 0 }, { now, more: true });
        // What may not leave at once waits for the next look, and goes together.
        return gathered.is === 'leaves' ? [{ organisation, downs, fullAt: gathered.bucket.fullAt }] : [];
      });
      if (byOrganisation.length === 0) return 0;
      const owners = hasMail
        ? await ownersOf(
            transaction,
            byOrganisation.map(({ organisation }) => organisation),
          )
        : new Map<string, readonly string[]>();
      const at = new Date(now);
      const mailed = (organisation: string) => owners.get(organisation) ?? [];
      await writeLastResorts(
        transaction,
        byOrganisation.flatMap(({ organisation, downs }) =>
          downs.map(({ incident }) => ({ incident, organisation, mailed: mailed(organisation) })),
        ),
        now,
      );
      await postMails(
        transaction,
        byOrganisation.flatMap(({ organisation, downs }) =>
          mailed(organisation).map(
            (recipient): NewMail => ({
              kind: 'last-resort',
              recipient,
              about: {
                incident: downs[0]?.incident ?? '',
                names: downs.slice(0, 20).map(({ monitor_name }) => monitor_name),
                count: downs.length,
              },
              at,
            }),
          ),
        ),
      );
      await writeResortBuckets(transaction, byOrganisation);
      return untaken.length;
    });

  const tellOwners = (now: number): Promise<number> =>
    inTransaction(sql, async (transaction) => {
      const failing = (await failingChannels(transaction, most)).filter(({ failing_since, refused_at, owners_told_at }) =>
        areOwnersToldNow(
          {
            failing_since: failing_since?.getTime() ?? null,
            refused_at: refused_at?.getTime() ?? null,
            owners_told_at: owners_told_at?.getTime() ?? null,
          },
          now,
        ),
      );
      if (failing.length === 0) return 0;
      const owners = await ownersOf(transaction, [...new Set(failing.map(({ organisation_id }) => organisation_id))]);
      await postMails(
        transaction,
        failing.flatMap(({ id, organisation_id, name, failure }) =>
          (owners.get(organisation_id) ?? []).map(
            (recipient): NewMail => ({
              kind: 'not-delivering',
              recipient,
              about: { channel: id, name, failure: failure ?? '' },
              at: new Date(now),
            }),
          ),
        ),
      );
      await ownersTold(
        transaction,
        failing.map(({ id }) => id),
        now,
      );
      return failing.length;
    });

  /** A probe that restarts is no matter; one that comes and goes is one an hour. */
  const tellOfProbes = (now: number): Promise<number> =>
    inTransaction(sql, async (transaction) => {
      const notices = await noticesOfPrivateProbes(transaction, { beganBefore: now - lastsMs, since: now - probeAgainMs }, most);
      if (notices.length === 0) return 0;
      const owners = await ownersOf(transaction, [...new Set(notices.map(({ organisation_id }) => organisation_id))]);
      await postMails(
        transaction,
        notices.flatMap(({ organisation_id, message }) =>
          (owners.get(organisation_id) ?? []).map(
            (recipient): NewMail => ({ kind: 'private-probe', recipient, about: { message }, at: new Date(now) }),
          ),
        ),
      );
      await noticesTold(
        transaction,
        notices.map(({ id }) => id),
        now,
      );
      return notices.length;
    });

  return {
    tick: async () => {
      const now = clock.now();
      const incidents = await resort(now);
      if (incidents > 0) log.warn({ incidents }, 'nobody took a "down" in time; the owners are mailed');
      if (!hasMail) return;
      const notices = await tellOfProbes(now);
      if (notices > 0) log.info({ notices }, 'something is wrong with private probes; their owners are mailed');
      const channels = await tellOwners(now);
      if (channels > 0) log.warn({ channels }, 'channels do not deliver; their owners are mailed');
    },
  };
};
