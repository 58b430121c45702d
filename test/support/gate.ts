import { afterAll, beforeAll, beforeEach, vi } from 'vitest';
import { createMailer } from '../../coordinator/account-mail/mail-sending.ts';
import { createMailSender } from '../../coordinator/account-mail/sender.ts';
import { connect, type Sql } from '../../coordinator/database/connect.ts';
import { Session } from '../../coordinator/database/session.ts';
import type { Sending } from '../../coordinator/deliveries/sending.ts';
import { createOperations } from '../../coordinator/dependencies.ts';
import type {
  AnonymousCaller,
  Caller,
  Person as CallingPerson,
  SignedIn,
} from '../../coordinator/gate/caller.ts';
import type { Gate } from '../../coordinator/gate/execute.ts';
import { noTestRuns } from '../../coordinator/monitors/test-run.ts';
import { handlers } from '../../coordinator/operations.ts';
import type { SignUpPolicy } from '../../coordinator/organisations/model.ts';
import { noTextRecords, type TextRecords } from '../../coordinator/outbound/documents.ts';
import {
  createSignInLink,
  enter,
  finishSignUp,
  signUp,
} from '../../coordinator/people/contract.ts';
import { createSessions, type Sessions } from '../../coordinator/people/sessions.ts';
import { createProbeIdentities } from '../../coordinator/probes/identities.ts';
import type { ProvidersPart } from '../../coordinator/providers/lookup.ts';
import type { Results, UnsealedHours } from '../../coordinator/results/reading.ts';
import { createAccountSecrets } from '../../coordinator/secrets/account-secrets.ts';
import { createSecretsAtRest, type SecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import { createTokens } from '../../coordinator/tokens/authenticate.ts';
import {
  InvalidInput,
  type Operation,
  type OutputOf,
  rawInput,
} from '../../shared/api/operation.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { createLog } from '../../shared/base/log.ts';
import { createKey } from '../../shared/bus/nkeys.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { testChannels } from './channels.ts';
import { testResults } from './checks.ts';
import {
  createTestOrganisation,
  type Person,
  type TestOrganisation,
  testSecretKey,
} from './people.ts';
import { type Mailbox, openMailbox } from './receivers.ts';
import { createDatabase, type TestDatabase } from './services.ts';

/**
 * For test files: the gate with everything behind it, on a database of its own, with a clock that
 * is moved by hand.
 */

export type GateBench = {
  readonly sql: Sql;
  readonly gate: Gate;
  readonly secrets: SecretsAtRest;
  readonly database: TestDatabase;
  readonly results: Results;
  /** The clock of the gate; it stands still unless it is moved. */
  now: number;
  /** Calls an operation with flat arguments. */
  readonly call: <Op extends Operation>(
    operation: Op,
    who: Person | Caller,
    input?: object,
  ) => Promise<OutputOf<Op>>;
  /** As call(), with the status of an answer that has one of its own. */
  readonly answer: (
    operation: Operation,
    who: Person | Caller,
    input?: object,
  ) => Promise<{ status?: number; body?: unknown }>;
  /**
   * The code of the refusal, `faults` for an input that is not of the form, `taken` when it
   * succeeded.
   */
  readonly refusal: (operation: Operation, who: Person | Caller, input?: object) => Promise<string>;
  /** A public probe, or a private one of a house; `allow`: what its host lets it reach. */
  readonly addProbe: (
    continent: Continent,
    of?: { readonly house?: TestOrganisation; readonly allow?: readonly string[] },
  ) => Promise<string>;
};

const callerOf = (who: Person | Caller): Caller => ('caller' in who ? who.caller : who);

const createGateBench = async (
  door?: SignUpPolicy,
  textRecords: TextRecords = noTextRecords,
  unsealed?: UnsealedHours,
  providers?: () => ProvidersPart,
): Promise<GateBench & { readonly close: () => Promise<void> }> => {
  const database = await createDatabase();
  const sql = connect(database.url, { name: 'gate bench', connections: 12 });
  const log = createLog({ name: 'gate bench', level: 'silent' });
  const secrets = createSecretsAtRest(testSecretKey);
  const state = { now: Date.now() };
  const clock = { now: () => state.now };
  const results = testResults(unsealed);
  const tokens = createTokens({ sql, secretKey: testSecretKey, clock, log });
  const probes = createProbeIdentities({
    account: createKey('account'),
    clock,
    natsUrl: () => 'nats://127.0.0.1:4222',
    secretKeys: [testSecretKey],
  });
  const gate = createOperations({
    handlers,
    sql,
    clock,
    results,
    secrets,
    probes,
    identifiesProbes: true,
    partitionOf,
    secretKey: testSecretKey,
    trials: noTestRuns,
    channels: testChannels(sql, testSecretKey, clock),
    mintToken: tokens.mint,
    ...(door === undefined ? {} : { door }),
    textRecords,
    ...(providers === undefined ? {} : { providers: providers() }),
    baseUrl: () => 'https://antipode.test',
  });
  const answer: GateBench['answer'] = (operation, who, input = {}) =>
    gate.execute(operation, callerOf(who), rawInput(operation, input));
  const number = { next: 0 };
  return {
    sql,
    gate,
    secrets,
    database,
    results,
    get now() {
      return state.now;
    },
    set now(value) {
      state.now = value;
    },
    answer,
    call: async <Op extends Operation>(operation: Op, who: Person | Caller, input?: object) =>
      // The gate's handlers are typed by their operations; a table of unlike operations cannot say
      // so.
      (await answer(operation, who, input)).body as OutputOf<Op>,
    refusal: async (operation, who, input) => {
      try {
        await answer(operation, who, input);
        return 'taken';
      } catch (error) {
        if (error instanceof Refusal) return error.code;
        if (error instanceof InvalidInput) return 'faults';
        throw error;
      }
    },
    addProbe: async (continent, { house, allow = [] } = {}) => {
      number.next += 1;
      const organisation = house?.organisation ?? null;
      const { id } = await sql.begin((transaction) =>
        probes.createProbe(transaction, { name: `probe ${number.next}`, continent, organisation }),
      );
      await sql`update probes set allowed_cidrs = ${allow} where id = ${id}`;
      return id;
    },
    close: async () => {
      await tokens.close();
      await sql.end();
      await database.drop();
    },
  };
};

/** A bench for all tests of a file, made before them and taken down after them. */
export const gateBench = (
  door?: SignUpPolicy,
  textRecords?: TextRecords,
  unsealed?: UnsealedHours,
  providers?: () => ProvidersPart,
): GateBench => {
  let made: Awaited<ReturnType<typeof createGateBench>> | undefined;
  beforeAll(async () => {
    made = await createGateBench(door, textRecords, unsealed, providers);
  });
  afterAll(() => made?.close());
  const bench = (): GateBench => {
    if (!made) throw new Error('the bench is there in tests and beforeAll only');
    return made;
  };
  return {
    get sql() {
      return bench().sql;
    },
    get gate() {
      return bench().gate;
    },
    get secrets() {
      return bench().secrets;
    },
    get database() {
      return bench().database;
    },
    get results() {
      return bench().results;
    },
    get now() {
      return bench().now;
    },
    set now(value) {
      bench().now = value;
    },
    call: (operation, who, input) => bench().call(operation, who, input),
    answer: (operation, who, input) => bench().answer(operation, who, input),
    refusal: (operation, who, input) => bench().refusal(operation, who, input),
    addProbe: (continent, of) => bench().addProbe(continent, of),
  };
};

/** For test files: people who come in, by the gate and the sessions behind it. */

export const intake: AnonymousCaller = {
  address: '192.0.2.1',
  device: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
};

/**
 * The code of the refusal, `faults` for an input that is not of the form, `taken` when it
 * succeeded.
 */
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

type SignUpBench = {
  readonly sessions: Sessions;
  readonly visit: <Op extends Operation>(
    operation: Op,
    input: object,
    from?: AnonymousCaller,
  ) => Promise<OutputOf<Op>>;
  readonly act: <Op extends Operation>(
    operation: Op,
    person: CallingPerson,
    input?: object,
  ) => Promise<OutputOf<Op>>;
  /** The session's text of somebody who came by a link. */
  readonly comeIn: (email: string, from?: AnonymousCaller) => Promise<string>;
  readonly who: (cookie: string, from?: AnonymousCaller) => Promise<SignedIn | undefined>;
  /** The same, of somebody who must be there. */
  readonly signedIn: (cookie: string) => Promise<SignedIn>;
};

export const signUpPolicyOf = (bench: GateBench): SignUpBench => {
  const clock = { now: () => bench.now };
  let made: Sessions | undefined;
  const sessions = (): Sessions => {
    made ??= createSessions({
      sql: bench.sql,
      clock,
      log: createLog({ name: 't', level: 'silent' }),
      accountSecrets: createAccountSecrets(bench.sql, { secretKey: testSecretKey }),
    });
    return made;
  };
  // The gate's handlers are typed by their operations; a table of unlike operations cannot say so.
  const visit: SignUpBench['visit'] = async <Op extends Operation>(
    operation: Op,
    input: object,
    from = intake,
  ) =>
    (await bench.gate.executeForVisitor(operation, from, rawInput(operation, input)))
      .body as OutputOf<Op>;
  const who: SignUpBench['who'] = (cookie, from = intake) =>
    sessions().authenticate({ ...from, cookie });
  return {
    get sessions() {
      return sessions();
    },
    visit,
    act: async <Op extends Operation>(operation: Op, person: CallingPerson, input: object = {}) =>
      (await bench.gate.executeForPerson(operation, person, rawInput(operation, input)))
        .body as OutputOf<Op>,
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

/** An installation with mail where anybody may sign up, and people who do; for all tests of a file. */
export const signUpByMail = () => {
  const bench = gateBench({ signUp: 'open', signUpPlan: 'team', mail: true });
  const door = signUpPolicyOf(bench);
  const password = 'correct horse';
  let made: { house: TestOrganisation; mailbox: Mailbox; mailer: Sending };
  beforeAll(async () => {
    const mailbox = await openMailbox();
    const sender = createMailSender({
      url: mailbox.url,
      from: 'Antipode <antipode@antipode.test>',
    });
    const mailer = createMailer({
      place: newId(),
      sql: bench.sql,
      clock: { now: () => bench.now },
      log: createLog({ name: 't', level: 'silent' }),
      sender,
      accountSecrets: createAccountSecrets(bench.sql, { secretKey: testSecretKey }),
      baseUrl: () => 'https://antipode.test',
    });
    made = { house: await createTestOrganisation(bench.sql, { name: 'Shop' }), mailbox, mailer };
    return async () => {
      sender.close();
      await mailbox.close();
    };
  });
  // What was counted for the one host of these tests is over.
  beforeEach(() => {
    bench.now += 16 * 60_000;
  });
  const fresh = (): string => `ada-${newId()}@shop.example`;
  /** Sends what waits; the newest mail to an address. */
  const mailTo = async (email: string) => {
    await made.mailer.tick();
    return made.mailbox.received.filter(({ to }) => to.includes(email)).at(-1);
  };
  const secretIn = (text: string | undefined, path: string): string =>
    new RegExp(`https://antipode\\.test/${path}/([\\w-]{43})\\s`).exec(text ?? '')?.[1] ?? '';
  const application = (email: string) => ({
    email,
    password,
    name: 'Ada',
    organisation: 'Engines',
    time_zone: 'Europe/London',
  });
  return {
    ...{ bench, door, password, fresh, mailTo, secretIn, application },
    get house() {
      return made.house;
    },
    get mailbox() {
      return made.mailbox;
    },
    get mailer() {
      return made.mailer;
    },
    newcomer: async (): Promise<{ email: string; session: string }> => {
      const email = fresh();
      await door.visit(signUp, application(email));
      const { session } = await door.visit(finishSignUp, {
        secret: secretIn((await mailTo(email))?.text, 'finish'),
        password,
      });
      return { email, session };
    },
  };
};

/** How many statements `work` takes. */
export const statementsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const run = vi.spyOn(Session.prototype, 'run');
  await work();
  // What requests cost is settled on its own, at any time.
  const own = run.mock.calls.filter(([text]) => !text.includes('rate_windows'));
  run.mockRestore();
  return own.length;
};
