import type { Continent } from '../base/continents.ts';
import type { Permissions, UserLimits } from './bus-nkeys.ts';
import { probeConsumers, streams } from './bus-streams.ts';
import { inboxOf, subjects } from './bus-subjects.ts';

type ProbeUser = { readonly probe: string; readonly continent: Continent; readonly organisation: string | null };

/** Where a probe's own words go: nobody answers there but coordinators, who look whom they answer. */
const spoken = (probe: string): readonly string[] => [subjects.presence(probe), subjects.receiverKeys(probe)];

/**
 * What a probe publishes that the bus's server answers: results, pings, questions for the next message. The server answers on whatever subject a
 * request names, which no permission restricts, so that each of these is a way to publish anywhere.
 */
export const answeredSubjects = ({ probe, continent, organisation }: ProbeUser): readonly string[] => {
  const durables = [probeConsumers.roster(probe), probeConsumers.assignments(probe, ''), probeConsumers.private(probe)].map(
    ({ name }) => name,
  );
  const pingKeys = probeConsumers.pingKeys(probe, organisation).name;
  return [
    subjects.resultsOfProbe(continent, probe),
    subjects.pingsTakenIn(continent),
    subjects.lastPingsOf(organisation),
    `$JS.API.DIRECT.GET.${streams.lastPings.name}.${subjects.lastPingsOf(organisation)}`,
    `$JS.API.CONSUMER.MSG.NEXT.${streams.pingKeys.name}.${pingKeys}`,
    `$JS.ACK.${streams.pingKeys.name}.${pingKeys}.>`,
    ...durables.flatMap((name) => [`$JS.API.CONSUMER.MSG.NEXT.ASSIGN.${name}`, `$JS.ACK.ASSIGN.${name}.>`]),
  ];
};

/**
 * What a probe may do on the bus: say its own results, presence and pings, pull its own assignments, and hear its own rechecks, receipts and
 * inbox. One of an organisation publishes what the server would answer to its relay (probes-relay.ts), which looks where the answer goes.
 * `isDirect`: as one of the version before did, which knows no relay.
 */
export const probePermissions = (user: ProbeUser, isDirect = user.organisation === null): Permissions => ({
  publish: { allow: [...spoken(user.probe), ...(isDirect ? answeredSubjects(user) : [`${subjects.relay(user.probe)}.>`])] },
  subscribe: { allow: [subjects.look(user.probe), subjects.receipt(user.probe), `${inboxOf(user.probe)}.>`] },
});

/** The subject on which the relay of this probe takes what is meant for another one. */
export const relayedSubject = (probe: string, subject: string): string =>
  spoken(probe).includes(subject) ? subject : `${subjects.relay(probe)}.${subject}`;

/** Between the clusters of a supercluster an answer's subject has the way back in front. */
const gatewayPrefix = /^_GR_\.[^.]+\.[^.]+\./;

/** Whether an answer on this subject reaches that probe and no one else. */
export const isAnswerableTo = (probe: string, reply: string): boolean => reply.replace(gatewayPrefix, '').startsWith(`${inboxOf(probe)}.`);

/** Whether a permission covers a subject: `*` stands for one token, `>` for all that follow. */
export const covers = (permission: string, subject: string): boolean => {
  const [allowed, tokens] = [permission.split('.'), subject.split('.')];
  const rest = allowed.at(-1) === '>' ? allowed.length - 1 : undefined;
  if (rest === undefined ? allowed.length !== tokens.length : tokens.length <= rest) return false;
  return allowed.slice(0, rest).every((token, place) => token === '*' || token === tokens[place]);
};

/** One message of a probe is at most this long; a batch of results is cut to fit. */
const mostProbePayloadBytes = 512 * 1024;

export const probeLimits: UserLimits = { subscriptions: 32, payloadBytes: mostProbePayloadBytes };
