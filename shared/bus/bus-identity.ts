/** Who a bus is: its operator, the system account, and the one account that coordinators and probes share. */
import { z } from 'zod';
import { createKey, issueCredentials, keyFromSeed, mintAccount, mintOperator, parseCredentials, readJwt } from './bus-nkeys.ts';

/** Everything that makes this bus the one that its clients know. It is made once: newer account JWTs would undo revocations. */
export const busIdentityShape = z.object({
  operatorSeed: z.string(),
  operatorJwt: z.string(),
  systemAccount: z.string(),
  systemJwt: z.string(),
  /** Of the coordinator, which pushes account JWTs with revocations. */
  systemCredentials: z.string(),
  account: z.string(),
  accountSeed: z.string(),
  accountJwt: z.string(),
  coordinatorCredentials: z.string(),
});

export type BusIdentity = Readonly<z.infer<typeof busIdentityShape>>;

const accountName = 'ANTIPODE';

/** An account with JetStream, and one user in it that may do everything there. */
export const createAccountIdentity = (operatorSeed: string, name: string, now: number) => {
  const account = createKey('account');
  return {
    account: account.id,
    accountSeed: account.seed,
    accountJwt: mintAccount({ name, account: account.id, operator: keyFromSeed(operatorSeed, 'operator'), jetstream: true }, now),
    coordinatorCredentials: issueCredentials({ name: 'coordinator', account }, now).credentials,
  };
};

/** What nobody could make again of a bus; all else of it follows. */
export type BusKeys = Pick<BusIdentity, 'operatorSeed' | 'accountSeed' | 'systemCredentials' | 'coordinatorCredentials'>;

/**
 * The bus that these keys are of. Its documents are dated when it was made: a server that still has a newer one, with revocations in it, keeps that.
 * @throws when the keys are of different buses.
 */
export const busIdentityOf = (keys: BusKeys): BusIdentity => {
  const operator = keyFromSeed(keys.operatorSeed, 'operator');
  const account = keyFromSeed(keys.accountSeed, 'account').id;
  const coordinator = readJwt(parseCredentials(keys.coordinatorCredentials).jwt);
  if (coordinator.iss !== account) throw new Error('the credentials of the coordinators are of another account than the seed');
  const systemAccount = readJwt(parseCredentials(keys.systemCredentials).jwt).iss;
  const madeAt = coordinator.iat * 1_000;
  return {
    ...keys,
    ...{ account, systemAccount, operatorJwt: mintOperator({ name: 'antipode', operator, systemAccount }, madeAt) },
    systemJwt: mintAccount({ name: 'SYS', account: systemAccount, operator, jetstream: false }, madeAt),
    accountJwt: mintAccount({ name: accountName, account, operator, jetstream: true }, madeAt),
  };
};

export const createBusIdentity = (now: number): BusIdentity => {
  const operatorSeed = createKey('operator').seed;
  const { accountSeed, coordinatorCredentials } = createAccountIdentity(operatorSeed, accountName, now);
  const systemCredentials = issueCredentials({ name: 'coordinator-system', account: createKey('account') }, now).credentials;
  return busIdentityOf({ operatorSeed, accountSeed, coordinatorCredentials, systemCredentials });
};
