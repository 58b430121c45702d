import type { NoticeKind } from '../domain/notice.ts';
import type { Sql } from '../store/store-database.ts';
import { endNotice, openNotice, openNotices } from '../store/store-notices.ts';

/**
 * A notice about what is only ever seen to happen, and never seen to end: it is open from the first time on, and ends when it has not been seen
 * for a while. Every coordinator sees; the one that leads writes.
 *
 * Modes of a subject: quiet → seen → `open` → (not seen for `quietMs`, while we could have seen it) → quiet.
 */
export type LastingNotice = {
  readonly seen: (subject: string, message: string) => void;
  /** Writes down what has changed; for the leader alone. */
  readonly tick: () => Promise<void>;
};

type Parts = {
  readonly sql: Sql;
  readonly kind: NoticeKind;
  readonly quietMs: number;
  /** Whether there is anything left to tell of this subject. */
  readonly matters: (subject: string) => boolean;
};

export const createLastingNotice = ({ sql, kind, quietMs, matters }: Parts): LastingNotice => {
  const since = performance.now();
  const last = new Map<string, { readonly at: number; readonly message: string }>();
  return {
    seen: (subject, message) => void last.set(subject, { at: performance.now(), message }),
    tick: async () => {
      const quietBefore = performance.now() - quietMs;
      for (const [subject, { at, message }] of last) {
        if (at < quietBefore) last.delete(subject);
        else if (matters(subject)) await openNotice(sql, kind, subject, message);
      }
      // What was seen before our time may go on: only after as long a silence it is over.
      if (since > quietBefore) return;
      for (const { subject } of await openNotices(sql, kind)) if (!last.has(subject)) await endNotice(sql, kind, subject);
    },
  };
};
