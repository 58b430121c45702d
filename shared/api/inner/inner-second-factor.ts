import { array, boolean, integer, nullable, object, string } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** The second step of signing in: codes of an app, and recovery codes for the day when it is away. */

const RecoveryCodesOut = object('RecoveryCodesOut', { recovery_codes: array(string()) });

export const showSecondFactor = innerOperation({
  id: 'showSecondFactor',
  access: 'read',
  summary: 'Tell whether signing in takes a second step',
  response: object('SecondFactorOut', { on_since: nullable(string()), recovery_codes_left: integer() }),
});

export const proposeSecondFactor = innerOperation({
  id: 'proposeSecondFactor',
  access: 'read',
  dangerous: true,
  summary: 'Make a secret for an app; nothing is stored of it yet',
  response: object('ProposedSecondFactorOut', { secret: string() }),
  refusals: ['second_factor_on'],
});

export const startSecondFactor = innerOperation({
  id: 'startSecondFactor',
  access: 'read',
  dangerous: true,
  summary: 'Have signing in take a second step from now on, with a first code as proof that the app has the secret',
  body: object('StartSecondFactorIn', { secret: string(), code: string() }),
  response: RecoveryCodesOut,
  refusals: ['second_factor_on', 'code_invalid'],
});

export const replaceRecoveryCodes = innerOperation({
  id: 'replaceRecoveryCodes',
  access: 'read',
  does: 'acts',
  dangerous: true,
  summary: 'Get ten new recovery codes; those before end',
  response: RecoveryCodesOut,
  refusals: ['second_factor_off'],
});

export const endSecondFactor = innerOperation({
  id: 'endSecondFactor',
  access: 'read',
  does: 'acts',
  dangerous: true,
  summary: 'Have signing in take the password alone',
  response: object('EndedSecondFactorOut', { ended: boolean() }),
  refusals: ['second_factor_off'],
});
