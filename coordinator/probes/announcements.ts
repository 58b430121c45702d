import type { Log } from '../../shared/base/log.ts';
import {
  type Announce,
  announcementKeys,
  createAnnounce,
  judgeAnnouncement,
  type RefusedAnnouncement,
} from '../../shared/bus/announcement.ts';
import type { Message } from '../../shared/bus/nats.ts';

/** Signing and verifying announcements of coordinators. */
export type Announcements = {
  readonly announce: Announce;
  /** The public keys whose announcements count. */
  readonly trust: () => readonly string[];
  /**
   * The revision of another coordinator's announcement; undefined when it is refused, which is
   * counted.
   */
  readonly read: (
    message: Pick<Message, 'data' | 'header'>,
    subject: string,
  ) => { readonly revision: number } | undefined;
  readonly refuse: (subject: string, why: RefusedAnnouncement) => void;
};

type Dependencies = {
  readonly clock: { readonly now: () => number };
  readonly log: Log;
  readonly secretKeys: readonly string[];
  readonly onRefused: (why: RefusedAnnouncement) => void;
};

export function createAnnouncements(dependencies: Dependencies): Announcements {
  const { clock, log, onRefused } = dependencies;
  const keys = announcementKeys(dependencies.secretKeys);
  const ids = keys.map(({ id }) => id);

  const refuse = (subject: string, why: RefusedAnnouncement): void => {
    log.warn({ subject, why }, 'refused an announcement on the bus: not signed by a coordinator');
    onRefused(why);
  };
  return {
    announce: createAnnounce(keys, clock.now),
    trust: () => ids,
    read: (message, subject) => {
      const verdict = judgeAnnouncement(ids, message, subject);
      if (verdict.is === 'accepted') return { revision: verdict.revision };
      refuse(subject, verdict.why);
      return undefined;
    },
    refuse,
  };
}
