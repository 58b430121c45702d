import type { Continent } from '../base/continents.ts';
import type { Permissions, UserLimits } from './bus-nkeys.ts';
import { probeConsumers, streams } from './bus-streams.ts';
import { inboxOf, subjects } from './bus-subjects.ts';

/**
 * What a probe may do on the bus: say its own results, presence and pings, pull its own assignments, and hear its own looks, receipts and
 * inbox. Whoever steals its credentials can do no more.
 */
export const probePermissions = (probe: string, continent: Continent, organisation: string | null = null): Permissions => {
  const durables = [probeConsumers.roster(probe), probeConsumers.assignments(probe, ''), probeConsumers.private(probe)].map(
    ({ name }) => name,
  );
  const pingKeys = probeConsumers.pingKeys(probe, organisation).name;
  return {
    publish: {
      allow: [
        subjects.resultsOfProbe(continent, probe),
        subjects.presence(probe),
        subjects.pingsTakenIn(continent),
        subjects.lastPingsOf(organisation),
        subjects.receiverKeys(probe),
        `$JS.API.DIRECT.GET.${streams.lastPings.name}.${subjects.lastPingsOf(organisation)}`,
        `$JS.API.CONSUMER.MSG.NEXT.${streams.pingKeys.name}.${pingKeys}`,
        `$JS.ACK.${streams.pingKeys.name}.${pingKeys}.>`,
        ...durables.flatMap((name) => [`$JS.API.CONSUMER.MSG.NEXT.ASSIGN.${name}`, `$JS.ACK.ASSIGN.${name}.>`]),
      ],
    },
    subscribe: { allow: [subjects.look(probe), subjects.receipt(probe), `${inboxOf(probe)}.>`] },
  };
};

/** One message of a probe is at most this long; a batch of results is cut to fit. */
const mostProbePayloadBytes = 512 * 1024;

export const probeLimits: UserLimits = { subscriptions: 32, payloadBytes: mostProbePayloadBytes };
