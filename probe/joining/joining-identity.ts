import { z } from 'zod';
import { printProbeCredentials } from '../../shared/bus/bus-credentials.ts';
import { enrolmentAnswer } from '../../shared/bus/bus-enrolment.ts';
import { entranceFields } from '../../shared/bus/bus-environment.ts';
import { createKey, formatCredentials, type Key, keyFromSeed } from '../../shared/bus/bus-nkeys.ts';
import { readIfThere, replaceFile } from '../disk/disk.ts';
import { exits, JoinFault } from './joining-enrol.ts';

/**
 * Who a host is that became a probe by a join token: its key, made here and never told to anybody, and what the coordinator answered.
 *
 * Modes of the file: absent → `made` (a key; a join that was killed then goes on with it) → `enrolled` (for good).
 */
const identity = z.object({
  v: z.literal(1),
  /** The secret. What reads the file is the probe. */
  seed: z.string().startsWith('SU'),
  enrolled: enrolmentAnswer.omit({ now: true }).nullable(),
  /** Who may have signed the certificates of coordinators and bus, besides those that the machine trusts, as PEM: what `join --ca` named. */
  authorities: entranceFields.ca.exactOptional(),
});

export type Identity = Readonly<z.infer<typeof identity>>;
export type Enrolled = NonNullable<Identity['enrolled']>;

/** @throws in words when the text is none; it is not repeated. */
export const parseIdentity = (text: string): Identity => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('is not the text of the file that antipode-probe.mjs join wrote');
  }
  const parsed = identity.safeParse(value);
  if (!parsed.success)
    throw new Error(`does not fit: ${parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`);
  return parsed.data;
};

export const keyOf = ({ seed }: Identity): Key => keyFromSeed(seed, 'user');

export const writeIdentity = (path: string, of: Identity): Promise<void> =>
  replaceFile(path, `${JSON.stringify(of, undefined, 2)}\n`, { durable: true });

/** What is there, or a new key, which is on the disk before anybody hears of it. */
export const openIdentity = async (path: string): Promise<Identity> => {
  const stored = await readIfThere(path);
  if (stored !== undefined)
    try {
      return parseIdentity(stored);
    } catch (cause) {
      throw Object.assign(
        new JoinFault(
          exits.misused,
          `${path} ${cause instanceof Error ? cause.message : String(cause)}; move it away, or name another folder with --data`,
        ),
        { cause },
      );
    }
  const made: Identity = { v: 1, seed: createKey('user').seed, enrolled: null };
  await writeIdentity(path, made);
  return made;
};

/** The same as the word that an operator would have printed. */
export const credentialsOf = (seed: string, { jwt, ...enrolled }: Enrolled): string => {
  const { probe, name, continent, organisation, nats_url, signing_keys, require_signed } = enrolled;
  const nats_credentials = formatCredentials({ jwt, seed });
  return printProbeCredentials({ probe, name, continent, organisation, nats_url, nats_credentials, signing_keys, require_signed });
};
