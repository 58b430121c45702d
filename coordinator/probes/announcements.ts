import type { Log } from '../../shared/base/log.ts';
import {
  type Announce,
  type AnnouncementTrust,
  announcementKeys,
  createAnnounce,
  judgeAnnouncement,
  type RefusedAnnouncement,
} from '../../shared/bus/announcement.ts';
import type { PresenceMessage } from '../../shared/bus/messages.ts';
import type { Message } from '../../shared/bus/nats.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Sql } from '../database/connect.ts';
import { readSigning, requireSigned, someoneSignsNothing } from './queries.ts';

/**
 * Signing and verifying announcements of coordinators. Every coordinator signs; REQUIRE_SIGNED
 * decides whether unsigned ones are refused.
 *
 * Modes of `auto`: `accepting` (the previous version may still run somewhere) → `required` (for
 * good), once every coordinator signs and every probe that is heard can verify. A private probe
 * delays that for two weeks at most; an installation without probes begins `required`.
 */
export type Announcements = {
  readonly announce: Announce;
  readonly trust: () => AnnouncementTrust;
  /**
   * The revision of another coordinator's announcement; undefined when it is refused, which is
   * counted.
   */
  readonly read: (
    message: Pick<Message, 'data' | 'header'>,
    subject: string,
  ) => { readonly revision: number | undefined } | undefined;
  readonly refuse: (subject: string, why: RefusedAnnouncement) => void;
  readonly refresh: () => Promise<void>;
  /** For the leader: requires signatures as soon as everyone can. */
  readonly settle: (network: PresenceKnowledge) => Promise<void>;
};

type Presence = { readonly message: Pick<PresenceMessage, 'can'> };
type PresenceKnowledge = {
  readonly roster: () => Roster;
  readonly presentOf: (probe: string) => Presence | undefined;
};

export type RequireSigned = 'auto' | 'true' | 'false';

/** How long old private probes may delay it. */
export const offeredForMs = 14 * 86_400_000;

/** Whether signatures are required. @throws when the database does not answer. */
export const areSignaturesRequired = async (
  sql: Parameters<typeof readSigning>[0],
  setting: RequireSigned,
): Promise<boolean> =>
  setting === 'auto' ? (await readSigning(sql)).signed_since !== null : setting === 'true';

type Dependencies = {
  readonly sql: Sql;
  readonly clock: { readonly now: () => number };
  readonly log: Log;
  readonly secretKeys: readonly string[];
  readonly setting: RequireSigned;
  readonly aliveMs: number;
  readonly onRefused: (why: RefusedAnnouncement) => void;
};

/**
 * Whether every probe that is heard can verify; private ones count only while `waitsForPrivate`.
 */
export const canEveryoneVerify = (
  roster: Roster,
  presentOf: (probe: string) => Presence | undefined,
  waitsForPrivate: boolean,
): boolean => {
  const heard = roster.probes.filter(
    ({ healthy, organisation }) => healthy && (organisation === null || waitsForPrivate),
  );
  return (
    heard.length > 0 &&
    heard.every(({ id }) => presentOf(id)?.message.can?.includes('verify') === true)
  );
};

export const createAnnouncements = async (dependencies: Dependencies): Promise<Announcements> => {
  const { sql, clock, log, setting, aliveMs, onRefused } = dependencies;
  const keys = announcementKeys(dependencies.secretKeys);
  const ids = keys.map(({ id }) => id);
  let required = await areSignaturesRequired(sql, setting);

  const refuse = (subject: string, why: RefusedAnnouncement): void => {
    log.warn({ subject, why }, 'refused an announcement on the bus: not signed by a coordinator');
    onRefused(why);
  };
  const refresh = async (): Promise<void> => {
    required = await areSignaturesRequired(sql, setting);
  };
  return {
    announce: createAnnounce(keys, clock.now),
    trust: () => ({ keys: ids, required }),
    read: (message, subject) => {
      const verdict = judgeAnnouncement({ keys: ids, required }, message, subject);
      if (verdict.is === 'accepted') return { revision: verdict.revision };
      refuse(subject, verdict.why);
      return undefined;
    },
    refuse,
    refresh,
    settle: async ({ roster, presentOf }) => {
      await refresh();
      if (!required && setting === 'auto') {
        const { signing_offered_at } = await readSigning(sql);
        const waitsForPrivate = clock.now() - signing_offered_at.getTime() < offeredForMs;
        if (
          !canEveryoneVerify(roster(), presentOf, waitsForPrivate) ||
          (await someoneSignsNothing(sql, aliveMs))
        )
          return;
        await requireSigned(sql);
        required = true;
        log.info(
          'every coordinator signs and every probe verifies: refusing unsigned messages from now on',
        );
      }
    },
  };
};
