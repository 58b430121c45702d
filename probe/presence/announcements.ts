import type { Log } from '../../shared/base/log.ts';
import {
  isOutdated,
  judgeAnnouncement,
  type RefusedAnnouncement,
} from '../../shared/bus/announcement.ts';
import type { Message } from '../../shared/bus/nats.ts';

/**
 * Verifies what coordinators announce. It refuses and counts what no coordinator signed, and what
 * is older than what the probe holds.
 */
export type Announcements = {
  /** The revision; undefined when the message is refused. */
  readonly read: (
    message: Pick<Message, 'data' | 'header'>,
    subject: string,
  ) => { readonly revision: number } | undefined;
  /**
   * The same for messages to this probe alone on this subject; a message older than the newest is
   * also refused. The message may show another subject: the server keeps the stream's own subject
   * for what it delivers of a stream, wherever it delivers it.
   */
  readonly readNow: (message: Pick<Message, 'data' | 'header'>, subject: string) => boolean;
  /** Whether the probe holds something newer than this revision; counts the refusal. */
  readonly isOutdated: (subject: string, revision: number, held: number | undefined) => boolean;
  readonly refuse: (subject: string, why: RefusedAnnouncement) => void;
  readonly refused: () => number;
};

/** Limits refusals in the log per minute: a flood must not fill the disk. */
const maxLogged = 20;
const loggedEachMs = 60_000;

export function createAnnouncementReader(options: {
  /** The keys of the coordinators. */
  readonly trust: () => readonly string[];
  readonly now: () => number;
  readonly log: Log;
}): Announcements {
  const { trust, now, log } = options;
  const newest = new Map<string, number>();
  let refused = 0;
  let logged = 0;
  let loggingSince = performance.now();

  const refuse = (subject: string, why: RefusedAnnouncement): void => {
    refused += 1;
    if (performance.now() - loggingSince > loggedEachMs)
      [loggingSince, logged] = [performance.now(), 0];
    logged += 1;
    if (logged <= maxLogged)
      log.warn(
        { subject, why, refused },
        'refused an announcement on the bus: not signed by a coordinator now',
      );
  };
  const read: Announcements['read'] = (message, subject) => {
    const verdict = judgeAnnouncement(trust(), message, subject);
    if (verdict.is === 'accepted') return { revision: verdict.revision };
    refuse(subject, verdict.why);
    return undefined;
  };
  const isOld: Announcements['isOutdated'] = (subject, revision, held) => {
    if (held === undefined || !isOutdated(revision, held, now())) return false;
    refuse(subject, 'outdated');
    return true;
  };
  return {
    read,
    readNow: (message, subject) => {
      const announced = read(message, subject);
      if (!announced) return false;
      const { revision } = announced;
      const held = newest.get(subject);
      if (isOld(subject, revision, held)) return false;
      newest.set(subject, Math.max(revision, held !== undefined && held <= now() ? held : 0));
      return true;
    },
    isOutdated: isOld,
    refuse,
    refused: () => refused,
  };
}
