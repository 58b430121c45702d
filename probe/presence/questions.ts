import { signatureOf } from '../../shared/bus/identity.ts';
import { jsonOf, registrationReply } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import type { Key } from '../../shared/bus/nkeys.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { DomainDependencies } from '../checks/domain/perform.ts';
import type { Announcements } from './announcements.ts';

/** Asks the coordinators about a domain; the leader answers, and nobody else. */
export function createRegistryQuestions(options: {
  readonly probe: string;
  readonly key: Key;
  readonly bus: () => Bus | undefined;
  readonly announcements: Pick<Announcements, 'read'>;
}): DomainDependencies['ask'] {
  return async (domain, timeoutMs) => {
    const { probe, key, bus, announcements } = options;
    const through = bus();
    if (!through?.isConnected()) throw new Error('not connected to the bus');
    const subject = subjects.presence(probe);
    const body = Buffer.from(JSON.stringify({ v: 1, probe, domain }));
    const answer = await through.request(subject, body, {
      timeoutMs,
      headers: signatureOf(key, body),
    });
    if (!announcements.read(answer, subject))
      throw new Error('the answer was signed by no coordinator');
    const reply = registrationReply.parse(jsonOf(answer.data));
    if (reply.domain !== domain) throw new Error('the answer is about another domain');
    return reply.registration;
  };
}
