/** Who a bus is: its operator, the system account, and the one account that coordinators and probes share. */
import { z } from 'zod';
import { createKey, issueCredentials, keyFromSeed, mintAccount, mintOperator } from './bus-nkeys.ts';

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

export const createBusIdentity = (now: number): BusIdentity => {
  const operator = createKey('operator');
  const system = createKey('account');
  return {
    operatorSeed: operator.seed,
    operatorJwt: mintOperator({ name: 'antipode', operator, systemAccount: system.id }, now),
    systemAccount: system.id,
    systemJwt: mintAccount({ name: 'SYS', account: system.id, operator, jetstream: false }, now),
    systemCredentials: issueCredentials({ name: 'coordinator-system', account: system }, now).credentials,
    ...createAccountIdentity(operator.seed, 'ANTIPODE', now),
  };
};
