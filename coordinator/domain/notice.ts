/** What the operator is told, one notice for an event, with what is left to do about it; the runbook says more. */
const noticeRemedies = {
  probe_lost: 'Start the probe again with the same data folder, or end it for good with "probe revoke".',
  bus_silent: 'Look at the bus (nats-server) and the way to it; nobody is taken for lost meanwhile.',
  probe_quarantined: "Look at the probe's network: resolver, firewall, IPv6. It returns by itself after clean checks.",
  continent_doubted:
    'Look where the probe stands. If not where it says: "probe revoke", and invite it anew for its continent. If there: "probe trust". Until then it confirms nothing.',
  probe_twice:
    'Stop one of the two processes. If nobody started a second one, the credentials have leaked: "probe revoke", and create the probe anew.',
  continent_alone: 'Bring probes of another continent back; until then incidents stay unconfirmed.',
  nobody_can_check:
    'Bring back a probe that may, or change `continents`, `probe` or the target of these monitors; until then they are not checked.',
  results_dropped: 'Bring the probe back to the bus, or give it more room (PROBE_SPOOL_MB). What it dropped is gone.',
  time_zones_old: 'Give the coordinators newer time zones, with or without a new release: "Time zones are old" in the runbook says how.',
  clock_differs: 'Set the clock of that machine, or of the database (NTP). Until they agree it dates by the database.',
} as const;

export type NoticeKind = keyof typeof noticeRemedies;

const remedies: Readonly<Record<string, string>> = noticeRemedies;

/** A newer coordinator may have written kinds that this one does not know. */
export const remedyOf = (kind: string): string =>
  (Object.hasOwn(remedies, kind) ? remedies[kind] : undefined) ??
  'This version does not know this kind of notice; see the runbook of a newer one.';
