import { type RestrictedMonitor, uncheckableSentence, whyUncheckable } from '../domain/uncheckable-monitors.ts';
import type { Sql } from '../store/store-database.ts';
import { endNotice, openNotice, openNotices } from '../store/store-notices.ts';
import { restrictedMonitors } from '../store/store-restricted-monitors.ts';
import type { Directory } from './probes-directory.ts';

/**
 * Shows which monitors nobody can check any more (rule 5). One coordinator looks, the owner of the first partition.
 *
 * Modes: `unsure` (after a start, or a change of what probes there are) → looked → `none uncheckable` (until probes change again) or `some
 * uncheckable` (looked for again each time, for monitors are changed too) → …
 */
export type Uncheckable = { readonly tick: () => Promise<void> };

type Parts = { readonly sql: Sql; readonly directory: Directory; readonly isLeader: () => boolean };

const kind = 'nobody_can_check';
const subject = 'monitors';

export const createUncheckable = ({ sql, directory, isLeader }: Parts): Uncheckable => {
  let lookedAt = '';
  let some = true;

  const look = async (checkers: Parameters<typeof whyUncheckable>[1]): Promise<void> => {
    const uncheckable: { name: string; why: string }[] = [];
    const judge = (monitor: RestrictedMonitor): void => {
      const why = whyUncheckable(monitor, checkers);
      if (why !== undefined) uncheckable.push({ name: monitor.name, why });
    };
    for await (const page of restrictedMonitors(sql)) for (const monitor of page) judge(monitor);
    some = uncheckable.length > 0;
    if (some) await openNotice(sql, kind, subject, uncheckableSentence(uncheckable));
    else if ((await openNotices(sql, kind)).length > 0) await endNotice(sql, kind, subject);
  };

  return {
    tick: async () => {
      if (!isLeader()) {
        lookedAt = '';
        return;
      }
      const checkers = directory
        .all()
        .filter(({ revoked_at }) => revoked_at === null)
        .map(({ id, organisation_id, continent, allowed_cidrs }) => ({ id, organisation: organisation_id, continent, allowed_cidrs }));
      const now = JSON.stringify(checkers);
      if (now === lookedAt && !some) return;
      await look(checkers);
      lookedAt = now;
    },
  };
};
