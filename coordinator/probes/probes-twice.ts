import type { Log } from '../../shared/base/log.ts';
import type { PresenceMessage } from '../../shared/bus/messages.ts';
import { hearSession, noSessions, type Sessions } from '../domain/sessions-of-probes.ts';
import type { ProbeRow } from '../store/store-probes.ts';

/** Two processes that speak as one probe: noticed by their presence, whatever the version of the server, and the older one is told to end. */
export type Twins = {
  /** Whether this presence is of a process that a later one has displaced, and whether it is to be told so. */
  readonly hear: (probe: ProbeRow, message: PresenceMessage) => { readonly isOlder: boolean; readonly ends: boolean };
};

type Parts = { readonly log: Log; readonly onTwice: (probe: ProbeRow) => void };

export const createTwins = ({ log, onTwice }: Parts): Twins => {
  const sessionsOf = new Map<string, Sessions>();
  return {
    hear: (probe, { session, up_ms }) => {
      // A probe of an older version does not say which process it is.
      if (session === undefined || up_ms === undefined) return { isOlder: false, ends: false };
      const { sessions, isOlder, ends } = hearSession(sessionsOf.get(probe.id) ?? noSessions, { id: session, up_ms }, performance.now());
      sessionsOf.set(probe.id, sessions);
      if (isOlder) {
        log.warn({ probe: probe.id, name: probe.name, session, ends }, 'a process speaks as a probe although a later one does, too');
        onTwice(probe);
      }
      return { isOlder, ends };
    },
  };
};
