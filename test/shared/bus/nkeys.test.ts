import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { afterEach, describe, expect, test } from 'vitest';
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
import { createAccount, pushAccount, type TestAccount } from '../../support/services.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const now = Date.UTC(2026, 10, 21, 12, 0, 0, 900);

describe('a key', () => {
  test.each(['operator', 'account', 'user'] as const)('of an %s comes back whole from its seed', (kind) => {
    const key = createKey(kind);
    const again = keyFromSeed(key.seed, kind);
    expect(again.id).toBe(key.id);
    expect(again.kind).toBe(kind);
    expect(verify(key.id, again.sign(bytes('batch')), bytes('batch'))).toBe(true);
  });

  test('is spelled as NATS spells it', () => {
    expect(createKey('operator').id).toMatch(/^O[A-Z2-7]{55}$/);
    expect(createKey('account').id).toMatch(/^A[A-Z2-7]{55}$/);
    expect(createKey('user').id).toMatch(/^U[A-Z2-7]{55}$/);
    expect(createKey('user').seed).toMatch(/^SU[A-Z2-7]{56}$/);
  });

  test('of the wrong kind is refused by name', () => {
    expect(() => keyFromSeed(createKey('user').seed, 'account')).toThrow('the seed is of kind user, account is needed');
  });

  test('with one mistyped letter is refused', () => {
    const { id, seed } = createKey('account');
    const mistyped = (text: string): string => `${text.slice(0, 20)}${text[20] === 'A' ? 'B' : 'A'}${text.slice(21)}`;
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

  test('holds for nobody else', () => {
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
    const claims = readJwt(mintUser({ name: 'probe', user: user.id, account, expiresAt: now + 60_000 }, now));
    expect(claims).toMatchObject({ name: 'probe', sub: user.id, iss: account.id });
    expect(claims.iat).toBe(Math.floor(now / 1000));
    expect(claims.exp).toBe(Math.floor((now + 60_000) / 1000));
  });

  test('whose text was changed is refused', () => {
    const [head, , signature] = mintUser({ name: 'probe', user: createKey('user').id, account }, now).split('.');
    const [, body] = mintUser({ name: 'other', user: createKey('user').id, account }, now).split('.');
    expect(() => readJwt(`${head}.${body}.${signature}`)).toThrow('not signed by its issuer');
  });

  test('and its seed come back from a credentials file', () => {
    const { id, credentials } = issueCredentials({ name: 'probe', account }, now);
    const { jwt, seed } = parseCredentials(credentials);
    expect(readJwt(jwt).sub).toBe(id);
    expect(keyFromSeed(seed, 'user').id).toBe(id);
    expect(parseCredentials(formatCredentials({ jwt, seed }))).toEqual({ jwt, seed });
    expect(() => parseCredentials('nothing of the kind')).toThrow('the block NATS USER JWT is missing');
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
    const bus = await connect({ servers: account.url, authenticator, reconnect: false, inboxPrefix: '_INBOX_p1' });
    open.push(bus);
    return bus;
  };
  const probeOf = (account: TestAccount) =>
    issueCredentials(
      {
        name: 'p1',
        account: keyFromSeed(account.accountSeed, 'account'),
        permissions: { publish: { allow: ['result.p1'] }, subscribe: { allow: ['_INBOX_p1.>', 'look.p1'] } },
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
    expect((await refusals.next()).value).toMatchObject({ type: 'error', error: { operation: 'publish', subject: 'result.p2' } });
    probe.publish('result.p1', 'own');
    const first = await results[Symbol.asyncIterator]().next();
    expect(first.value).toMatchObject({ subject: 'result.p1' });
  });

  test('refuses a user that another account signed', async () => {
    const account = await createAccount();
    const { credentials } = issueCredentials({ name: 'stranger', account: createKey('account') }, Date.now());
    await expect(join(account, credentials)).rejects.toThrow(/authorization/i);
  });

  test('drops a revoked user at once and no other', async () => {
    const account = await createAccount();
    const coordinator = await join(account, account.coordinatorCredentials);
    const revoked = probeOf(account);
    const probe = await join(account, revoked.credentials);
    const revocations = { [revoked.id]: Math.floor(Date.now() / 1000) };
    const operator = keyFromSeed(account.operatorSeed, 'operator');
    await pushAccount(account.url, account.systemCredentials, withRevocations(account.accountJwt, revocations, operator, Date.now()));
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
