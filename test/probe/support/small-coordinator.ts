import { randomUUID } from 'node:crypto';
import type { Continent } from '../../../shared/base/continents.ts';
import { isSignedBy } from '../../../shared/bus/identity.ts';
import { type PresenceMessage, presenceMessage } from '../../../shared/bus/messages.ts';
import { subjects } from '../../../shared/bus/subjects.ts';
import type { Assignment, RosterProbe } from '../../../shared/checks/assignment.ts';
import { type NetworkKey, sealKeyTo } from '../../../shared/checks/sealed-secrets.ts';
import type { BusOfProbe } from './bus-of-probe.ts';
import { startTaker, type Taker } from './result-taker.ts';

/** The coordinators' side of the wire for one probe: answers presences, publishes assignments and rosters, asks for looks, commits results. */
export type SmallCoordinator = {
  readonly taker: Taker;
  readonly presences: PresenceMessage[];
  /** Presences whose signature was not the probe's. */
  readonly unsigned: () => number;
  isAway: boolean;
  anchors: string[];
  /** By how much its clock is ahead of ours. */
  ahead: number;
  readonly keys: NetworkKey[];
  readonly assign: (assignment: Assignment) => Promise<void>;
  readonly unassign: (monitor: string) => Promise<void>;
  readonly publishRoster: (...probes: RosterProbe[]) => Promise<void>;
  readonly look: (assignment: Assignment, askedAt?: number) => string;
  readonly stop: () => Promise<void>;
};

export const rosterProbe = (wire: BusOfProbe, more: Partial<RosterProbe> = {}): RosterProbe => ({
  ...wire.probe,
  healthy: true,
  quarantined: false,
  allowed_cidrs: ['127.0.0.0/8', '::1/128'],
  ...more,
});

export const startSmallCoordinator = (wire: BusOfProbe): SmallCoordinator => {
  const { coordinator: bus, probe, key } = wire;
  const taker = startTaker(bus, probe.id, key.id);
  const presences: PresenceMessage[] = [];
  let unsigned = 0;
  let epoch = 0;
  const small = { isAway: false, anchors: [] as string[], ahead: 0, keys: [] as NetworkKey[] };
  const presence = bus.subscribe(subjects.allPresence, (message) => {
    if (small.isAway) return;
    if (!isSignedBy([key.id], message)) unsigned += 1;
    const said = presenceMessage.parse(JSON.parse(Buffer.from(message.data).toString()));
    presences.push(said);
    const now = Date.now() + small.ahead;
    message.respond(
      JSON.stringify({
        v: 1,
        now,
        heard_at: now,
        base_url: 'https://antipode.example',
        anchors: small.anchors,
        roster_epoch: epoch,
        committed: taker.committed(),
        seal_keys: Object.fromEntries(small.keys.map((one) => [one.id, sealKeyTo(said.seal_key, one)])),
      }),
    );
  });
  const placeOf = (assignment: Pick<Assignment, 'monitor'>, continent: Continent): string =>
    probe.organisation === null
      ? subjects.assignment(continent, assignment.monitor)
      : subjects.privateAssignment(probe.id, assignment.monitor);
  return Object.assign(small, {
    taker,
    presences,
    unsigned: () => unsigned,
    assign: async (assignment: Assignment) => {
      await bus.store(placeOf(assignment, probe.continent), JSON.stringify({ v: 1, ...assignment }));
    },
    unassign: async (monitor: string) => {
      await bus.store(placeOf({ monitor }, probe.continent), '');
    },
    publishRoster: async (...probes: RosterProbe[]) => {
      epoch += 1;
      await bus.store(subjects.roster, JSON.stringify({ v: 1, epoch, probes }));
    },
    look: (assignment: Assignment, askedAt = Date.now()) => {
      const look = randomUUID();
      bus.publish(subjects.look(probe.id), JSON.stringify({ v: 1, look, asked_at: askedAt, assignment: { v: 1, ...assignment } }));
      return look;
    },
    stop: async () => {
      presence.stop();
      await taker.stop();
    },
  });
};
