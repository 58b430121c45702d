import type { Log } from '../../../shared/base/log.ts';
import type { Clock } from '../../../shared/base/time.ts';
import type { Sql } from '../../database/connect.ts';
import type { TextRecords } from '../../outbound/documents.ts';
import { proofRecordName, proofRecordText } from '../model.ts';
import { domainsToProve, writeDomainCheck } from '../queries.ts';

/**
 * Domains of status pages are proved again each week: an expired domain may belong to someone else
 * by now.
 *
 * Modes of a domain: `proven` (its record was found within 30 days) → `let go` (its page is no
 * longer shown there, and others may prove it).
 */
const day = 86_400_000;
const againAfterMs = 7 * day;
/** A record that is missing for a while does not take a page offline. */
const letGoAfterMs = 30 * day;
const atOnce = 50;

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly textRecords: TextRecords;
  readonly isLeader: () => boolean;
};

export const createDomainProofs = ({ sql, clock, log, textRecords, isLeader }: Dependencies): { readonly tick: () => Promise<void> } => ({
  tick: async () => {
    if (!isLeader()) return;
    const now = clock.now();
    for (const { id, domain, domain_token, seen_at, checked_at } of await domainsToProve(sql, new Date(now - againAfterMs), atOnce)) {
      const isFound = (await textRecords(proofRecordName(domain))).includes(proofRecordText(domain_token));
      // After a time without checks the month begins now: one failed lookup does not take a page
      // offline.
      const isFirst = checked_at === null || now - checked_at.getTime() > 2 * againAfterMs;
      const isOver = !isFound && !isFirst && now - seen_at.getTime() > letGoAfterMs;
      await writeDomainCheck(sql, id, { domain, at: new Date(now), isSeen: isFound || isFirst, isOver });
      if (isOver) log.warn({ page: id, domain }, 'removed the domain of a status page: not verified for a month');
    }
  },
});
