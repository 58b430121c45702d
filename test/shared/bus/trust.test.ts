import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { afterEach, describe, expect, test } from 'vitest';
import { createLog, type Log } from '../../../shared/base/log.ts';
import { type Bus, type BusOptions, connectBus } from '../../../shared/bus/nats.ts';
import {
  createKey,
  formatCredentials,
  isKeyId,
  issueCredentials,
  keyFromSeed,
  mintUser,
  parseCredentials,
  readJwt,
  verify,
  withRevocations,
} from '../../../shared/bus/nkeys.ts';
import { type OwnBus, type OwnBusOptions, startOwnBus } from '../../support/buses.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { createTcpProxy } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import {
  createAccount,
  hasBinaries,
  pushAccount,
  type TestAccount,
} from '../../support/services.ts';

/**
 * `tls://` is TLS or nothing: whoever stands between a probe and its bus could feed it what to
 * check.
 */
describe('tls', () => {
  const authority = mintAuthority('an authority of our own');
  const server = mint({ names: ['127.0.0.1', 'localhost'], issuer: authority });
  const ca = authority.certificate;

  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  const bus = async (options: OwnBusOptions = {}): Promise<OwnBus> => {
    const started = await startOwnBus(options);
    ends.push(started.stop);
    return started;
  };

  /** What was logged, as text. */
  const listen = (): { readonly log: Log; readonly lines: () => string } => {
    let lines = '';
    const log = createLog(
      { name: 'test', level: 'info' },
      {
        write: (line) => {
          lines += line;
        },
      },
    );
    return { log, lines: () => lines };
  };

  /** Dials until told to stop; whether it ever came in, and what was logged meanwhile. */
  const dial = (of: OwnBus, more: Partial<BusOptions>) => {
    const { log, lines } = listen();
    const stopping = new AbortController();
    const credentials = of.nats.identity.coordinatorCredentials;
    let came: Bus | undefined;
    const dialling = connectBus({
      url: of.nats.url,
      credentials,
      name: 'test',
      log,
      signal: stopping.signal,
      ...more,
    }).then(
      (made) => {
        came = made;
      },
      () => undefined,
    );
    const stop = async (): Promise<void> => {
      stopping.abort();
      await dialling;
      await came?.close();
    };
    ends.push(stop);
    return { came: () => came, lines, dialling, stop };
  };

  const reach = async (of: OwnBus, more: Partial<BusOptions>): Promise<Bus> => {
    const { came, dialling } = dial(of, more);
    await dialling;
    const made = came();
    if (made === undefined) throw new Error('it was not let in');
    return made;
  };

  /** A relay that greets in the clear while it strips TLS; what the client said through it is kept. */
  const tamper = async (of: OwnBus) => {
    let isStripping = true;
    let said = '';
    const relay = await createTcpProxy(of.nats.url, {
      overhear: (data) => {
        said += data.toString('latin1');
      },
      rewrite: (data) => (isStripping ? Buffer.from(greeting) : data),
    });
    ends.push(relay.close);
    const strip = (now: boolean): void => {
      isStripping = now;
    };
    return { relay, said: () => said, strip };
  };
  const greeting =
    'INFO {"proto":1,"version":"2.12.6","max_payload":1048576,"tls_available":1}\r\n';

  describe.runIf(hasBinaries())('a bus at tls://', () => {
    test('is entered with the configured authority, and works', async () => {
      const of = await bus({ tls: { shows: server } });
      const entered = await reach(of, { ca });
      const listening = entered.subscribe('question', (message) => void message.respond('yes'));
      expect((await entered.request('question', '')).data.toString()).toBe('yes');
      listening.stop();
    });

    test('is entered with an authority besides those that this machine trusts', async () => {
      const of = await bus({ tls: { shows: server } });
      const entered = await reach(of, {
        url: of.nats.url.replace('nats:', 'tls:'),
        authorities: ca,
      });
      expect(entered.isConnected()).toBe(true);
    });

    test('is not entered where the server has no TLS, and the error says so', async () => {
      const of = await bus();
      const { came, lines } = dial(of, { url: of.nats.url.replace('nats:', 'tls:') });
      await eventually(async () => lines().includes('handshake_first'));
      expect(came()).toBeUndefined();
    });

    test('is not entered where its certificate is not trusted, or for another name', async () => {
      const of = await bus({ tls: { shows: server } });
      const stranger = dial(of, { ca: mintAuthority('somebody else').certificate });
      await eventually(async () => /certificate|signature|issuer/.test(stranger.lines()));
      const other = await bus({
        tls: { shows: mint({ names: ['other.example'], issuer: authority }) },
      });
      const mistaken = dial(other, { ca });
      await eventually(async () => mistaken.lines().includes('other.example'));
      expect([stranger.came(), mistaken.came()]).toEqual([undefined, undefined]);
    });

    test('receives nothing in the clear through a relay that greets in its place', async () => {
      const of = await bus({ tls: { shows: server } });
      const { relay, said } = await tamper(of);
      const { came, lines } = dial(of, { url: relay.through('tls://bus'), ca });
      await eventually(async () => relay.calls() > 2 && lines().includes('handshake_first'));
      expect(came()).toBeUndefined();
      expect(said()).not.toContain('CONNECT');
    });

    test('receives nothing in the clear from a connection that was there before such a relay, either', async () => {
      const of = await bus({ tls: { shows: server } });
      const { relay, said, strip } = await tamper(of);
      strip(false);
      const entered = await reach(of, { url: relay.through('tls://bus'), ca });
      strip(true);
      relay.reset();
      await eventually(async () => !entered.isConnected());
      const tried = relay.calls();
      await eventually(async () => relay.calls() > tried + 1);
      expect(said()).not.toContain('CONNECT');
      strip(false);
      await eventually(async () => entered.isConnected());
    });

    test('is silent to whoever does not begin with TLS, and the error says what that may mean', async () => {
      const of = await bus({ tls: { shows: server } });
      const { came, lines } = dial(of, { url: of.nats.url.replace('tls:', 'nats:') });
      await eventually(async () => lines().includes('then use tls://'));
      expect(came()).toBeUndefined();
    });
  });
});

describe('nkeys', () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const now = Date.UTC(2026, 10, 21, 12, 0, 0, 900);

  describe('a key', () => {
    test.each(['operator', 'account', 'user'] as const)(
      'of an %s is restored from its seed',
      (kind) => {
        const key = createKey(kind);
        const again = keyFromSeed(key.seed, kind);
        expect(again.id).toBe(key.id);
        expect(again.kind).toBe(kind);
        expect(verify(key.id, again.sign(bytes('batch')), bytes('batch'))).toBe(true);
      },
    );

    test('is written as NATS writes it', () => {
      expect(createKey('operator').id).toMatch(/^O[A-Z2-7]{55}$/);
      expect(createKey('account').id).toMatch(/^A[A-Z2-7]{55}$/);
      expect(createKey('user').id).toMatch(/^U[A-Z2-7]{55}$/);
      expect(createKey('user').seed).toMatch(/^SU[A-Z2-7]{56}$/);
    });

    test('of the wrong kind is refused by name', () => {
      expect(() => keyFromSeed(createKey('user').seed, 'account')).toThrow(
        'the seed is of kind user, account is needed',
      );
    });

    test('with one mistyped letter is refused', () => {
      const { id, seed } = createKey('account');
      const mistyped = (text: string): string =>
        `${text.slice(0, 20)}${text[20] === 'A' ? 'B' : 'A'}${text.slice(21)}`;
      expect(() => keyFromSeed(mistyped(seed))).toThrow('checksum');
      expect(isKeyId(mistyped(id))).toBe(false);
    });
  });

  describe('a signature', () => {
    const key = createKey('user');
    const signed = key.sign(bytes('batch 1'));

    test('holds for exactly the bytes that were signed', () => {
      expect(verify(key.id, signed, bytes('batch 1'))).toBe(true);
      expect(verify(key.id, signed, bytes('batch 2'))).toBe(false);
    });

    test('is valid for no other key', () => {
      expect(verify(createKey('user').id, signed, bytes('batch 1'))).toBe(false);
    });

    test('of nonsense is false, not an exception', () => {
      expect(verify('nobody', signed, bytes('batch 1'))).toBe(false);
      expect(verify(key.id, new Uint8Array(3), bytes('batch 1'))).toBe(false);
    });
  });

  describe('a JWT', () => {
    const account = createKey('account');

    test('says who, from whom and when, in whole seconds', () => {
      const user = createKey('user');
      const claims = readJwt(
        mintUser({ name: 'probe', user: user.id, account, expiresAt: now + 60_000 }, now),
      );
      expect(claims).toMatchObject({ name: 'probe', sub: user.id, iss: account.id });
      expect(claims.iat).toBe(Math.floor(now / 1000));
      expect(claims.exp).toBe(Math.floor((now + 60_000) / 1000));
    });

    test('whose text was changed is refused', () => {
      const [head, , signature] = mintUser(
        { name: 'probe', user: createKey('user').id, account },
        now,
      ).split('.');
      const [, body] = mintUser({ name: 'other', user: createKey('user').id, account }, now).split(
        '.',
      );
      expect(() => readJwt(`${head}.${body}.${signature}`)).toThrow('not signed by its issuer');
    });

    test('and its seed are read from a credentials file', () => {
      const { id, credentials } = issueCredentials({ name: 'probe', account }, now);
      const { jwt, seed } = parseCredentials(credentials);
      expect(readJwt(jwt).sub).toBe(id);
      expect(keyFromSeed(seed, 'user').id).toBe(id);
      expect(parseCredentials(formatCredentials({ jwt, seed }))).toEqual({ jwt, seed });
      expect(() => parseCredentials('nothing of the kind')).toThrow(
        'the block NATS USER JWT is missing',
      );
    });

    test('of an account keeps its limits when it gets revocations', async () => {
      const operator = createKey('operator');
      const made = await createAccount();
      const revoked = readJwt(withRevocations(made.accountJwt, { UX: 5 }, operator, now));
      expect(revoked.nats).toEqual({ ...readJwt(made.accountJwt).nats, revocations: { UX: 5 } });
      expect(revoked.iss).toBe(operator.id);
    });
  });

  describe('a real nats-server', () => {
    const open: NatsConnection[] = [];
    const join = async (account: TestAccount, credentials: string): Promise<NatsConnection> => {
      const authenticator = credsAuthenticator(bytes(credentials));
      const bus = await connect({
        servers: account.url,
        authenticator,
        reconnect: false,
        inboxPrefix: '_INBOX_p1',
      });
      open.push(bus);
      return bus;
    };
    const probeOf = (account: TestAccount) =>
      issueCredentials(
        {
          name: 'p1',
          account: keyFromSeed(account.accountSeed, 'account'),
          permissions: {
            publish: { allow: ['result.p1'] },
            subscribe: { allow: ['_INBOX_p1.>', 'look.p1'] },
          },
        },
        Date.now(),
      );
    afterEach(async () => {
      await Promise.all(open.splice(0).map((bus) => bus.close()));
    });

    test('lets a user do what its permissions allow, and nothing else', async () => {
      const account = await createAccount();
      const coordinator = await join(account, account.coordinatorCredentials);
      const results = coordinator.subscribe('result.>');
      await coordinator.flush();
      const probe = await join(account, probeOf(account).credentials);
      const refusals = probe.status()[Symbol.asyncIterator]();
      probe.publish('result.p2', 'forged');
      expect((await refusals.next()).value).toMatchObject({
        type: 'error',
        error: { operation: 'publish', subject: 'result.p2' },
      });
      probe.publish('result.p1', 'own');
      const first = await results[Symbol.asyncIterator]().next();
      expect(first.value).toMatchObject({ subject: 'result.p1' });
    });

    test('refuses a user that another account signed', async () => {
      const account = await createAccount();
      const { credentials } = issueCredentials(
        { name: 'stranger', account: createKey('account') },
        Date.now(),
      );
      await expect(join(account, credentials)).rejects.toThrow(/authorization/i);
    });

    test('drops a revoked user at once and no other', async () => {
      const account = await createAccount();
      const coordinator = await join(account, account.coordinatorCredentials);
      const revoked = probeOf(account);
      const probe = await join(account, revoked.credentials);
      const revocations = { [revoked.id]: Math.floor(Date.now() / 1000) };
      const operator = keyFromSeed(account.operatorSeed, 'operator');
      await pushAccount(
        account.url,
        account.systemCredentials,
        withRevocations(account.accountJwt, revocations, operator, Date.now()),
      );
      expect(String(await probe.closed())).toMatch(/revoked|authorization/i);
      await expect(join(account, revoked.credentials)).rejects.toThrow(/authorization/i);
      await coordinator.flush();
      await expect(join(account, probeOf(account).credentials)).resolves.toBeDefined();
    });

    test('keeps accounts apart', async () => {
      const [here, there] = await Promise.all([createAccount(), createAccount()]);
      const listener = await join(there, there.coordinatorCredentials);
      const heard = listener.subscribe('>');
      await listener.flush();
      const speaker = await join(here, here.coordinatorCredentials);
      speaker.publish('beat.x', 'for nobody');
      await speaker.flush();
      listener.publish('own', '');
      expect((await heard[Symbol.asyncIterator]().next()).value).toMatchObject({ subject: 'own' });
    });
  });
});
