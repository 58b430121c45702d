import { randomInt } from 'node:crypto';
import type { AccountSecrets } from './access-account-secrets.ts';

/** Codes on paper, for who has lost their phone. Only fingerprints are stored, each bound to whose it is. */

const count = 10;
/** No letter that is taken for another: 50 bits in ten. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const length = 10;

const one = (): string => Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join('');

/** However it was written down: case, gaps and letters that look alike do not matter. Undefined: no code looks so. */
const read = (typed: string): string | undefined => {
  const plain = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1');
  return plain.length === length && [...plain].every((letter) => alphabet.includes(letter)) ? plain : undefined;
};

const fingerprint = (secrets: AccountSecrets, user: string, code: string): Promise<Buffer> =>
  secrets.fingerprint('recovery code', `${user} ${code}`);

/** Ten codes as they are shown, and what is stored of them. */
export const mintRecoveryCodes = async (
  secrets: AccountSecrets,
  user: string,
): Promise<{ readonly shown: readonly string[]; readonly fingerprints: readonly Buffer[] }> => {
  const codes = Array.from({ length: count }, one);
  return {
    shown: codes.map((code) => `${code.slice(0, 5)}-${code.slice(5)}`),
    fingerprints: await Promise.all(codes.map((code) => fingerprint(secrets, user, code))),
  };
};

export const recoveryFingerprint = async (secrets: AccountSecrets, user: string, typed: string): Promise<Buffer | undefined> => {
  const code = read(typed);
  return code === undefined ? undefined : fingerprint(secrets, user, code);
};
