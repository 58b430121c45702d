/** For test files: people who come in, by the gate and the sessions behind it. */

import type { AnonymousCaller, Person } from '../../coordinator/gate/caller.ts';
import { createSignInLink, enter } from '../../coordinator/people/contract.ts';
import { createAccountSecrets } from '../../coordinator/people/secrets.ts';
import { createSessions, type Sessions, type SignedIn } from '../../coordinator/people/sessions.ts';
import { InvalidInput, type Operation, type OutputOf, rawInput } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { createLog } from '../../shared/base/log.ts';
import type { GateBench } from './gate.ts';
import { testSecretKey } from './people.ts';

export const intake: AnonymousCaller = {
  address: '192.0.2.1',
  device: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
};

/** The code of the refusal, `faults` for an input that is not of the form, `taken` when it succeeded. */
export const codeOfRefusal = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return 'taken';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    if (error instanceof InvalidInput) return 'faults';
    throw error;
  }
};

export type SignUpPolicy = {
  readonly sessions: Sessions;
  readonly visit: <Op extends Operation>(operation: Op, input: object, from?: AnonymousCaller) => Promise<OutputOf<Op>>;
  readonly act: <Op extends Operation>(operation: Op, person: Person, input?: object) => Promise<OutputOf<Op>>;
  /** The session's text of somebody who came by a link. */
  readonly comeIn: (email: string, from?: AnonymousCaller) => Promise<string>;
  readonly who: (cookie: string, from?: AnonymousCaller) => Promise<SignedIn | undefined>;
  /** The same, of somebody who must be there. */
  readonly signedIn: (cookie: string) => Promise<SignedIn>;
};

export const signUpPolicyOf = (bench: GateBench): SignUpPolicy => {
  const clock = { now: () => bench.now };
  let made: Sessions | undefined;
  const sessions = (): Sessions => {
    made ??= createSessions({
      ...{ sql: bench.sql, clock, log: createLog({ name: 't', level: 'silent' }) },
      accountSecrets: createAccountSecrets(bench.sql, { secretKey: testSecretKey }),
    });
    return made;
  };
  // The gate's handlers are typed by their operations; a table of unlike operations cannot say so.
  const visit: SignUpPolicy['visit'] = async <Op extends Operation>(operation: Op, input: object, from = intake) =>
    (await bench.gate.executeForVisitor(operation, from, rawInput(operation, input))).body as OutputOf<Op>;
  const who: SignUpPolicy['who'] = (cookie, from = intake) => sessions().authenticate({ ...from, cookie });
  return {
    get sessions() {
      return sessions();
    },
    visit,
    act: async <Op extends Operation>(operation: Op, person: Person, input: object = {}) =>
      (await bench.gate.executeForPerson(operation, person, rawInput(operation, input))).body as OutputOf<Op>,
    comeIn: async (email, from = intake) => {
      const link = createSignInLink;
      const { body } = await bench.gate.executeForInstallation(link, rawInput(link, { email }));
      const { address } = body as OutputOf<typeof link>;
      return (await visit(enter, { secret: address.split('/').at(-1) }, from)).session;
    },
    who,
    signedIn: async (cookie) => {
      const found = await who(cookie);
      if (!found) throw new Error('nobody is signed in by this cookie');
      return found;
    },
  };
};
