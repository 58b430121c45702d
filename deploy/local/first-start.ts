/**
 * What the first start makes in a database: a local organisation, its owner with a read-write token, and the three probes. By the
 * operator's own commands; each result is kept as soon as it is there, so that an interrupted start goes on where it was.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type Made, type SiteName, sites } from './home-state.ts';
import { runOperator } from './operator-command.ts';

/** A start that found everything, or made what was missing. */
export type Network = {
  readonly email: string;
  readonly password: string;
  readonly apiToken: string;
  readonly probes: Readonly<Record<SiteName, string>>;
};

const withId = z.object({ id: z.string() });
const withToken = z.object({ token: z.string() });
const withCredentials = z.object({ credentials: z.string() });

const asNetwork = ({ owner, apiToken, probes: { Frankfurt, Virginia, Singapore } }: Made): Network | undefined =>
  owner && apiToken && Frankfurt && Virginia && Singapore ? { ...owner, apiToken, probes: { Frankfurt, Virginia, Singapore } } : undefined;

/** @param keep called after every step with all that is made so far. */
export const makeNetwork = async (
  env: Readonly<Record<string, string>>,
  stop: AbortSignal,
  known: Made,
  keep: (made: Made) => void,
  say: (line: string) => void,
): Promise<Network> => {
  const complete = asNetwork(known);
  if (complete !== undefined) return complete;
  say('making a local organisation, an owner with a token, and three probes');
  let made = known;
  const add = (more: Partial<Made>): Made => {
    made = { ...made, ...more };
    keep(made);
    return made;
  };
  // The first command brings the schema up to date; those that follow find it done.
  const organisation = made.organisation ?? (await runOperator(env, stop, withId, 'organisation', 'create', '--name', 'Local')).id;
  add({ organisation });
  const makeOwner = async (): Promise<void> => {
    if (made.owner === undefined) {
      const owner = { email: `owner-${randomBytes(3).toString('hex')}@antipode.local`, password: randomBytes(15).toString('base64url') };
      const whose = ['--organisation', organisation, '--role', 'owner'];
      await runOperator(env, stop, withId, 'user', 'create', '--email', owner.email, '--password', owner.password, ...whose);
      add({ owner });
    }
    if (made.apiToken !== undefined || made.owner === undefined) return;
    const what = ['--organisation', organisation, '--name', 'Local start', '--scope', 'read_write'];
    add({ apiToken: (await runOperator(env, stop, withToken, 'token', 'create', '--email', made.owner.email, ...what)).token });
  };
  const makeProbe = async ({ name, continent }: (typeof sites)[number]): Promise<void> => {
    if (made.probes[name] !== undefined) return;
    const { credentials } = await runOperator(env, stop, withCredentials, 'probe', 'create', '--name', name, '--continent', continent);
    add({ probes: { ...made.probes, [name]: credentials } });
  };
  await Promise.all([makeOwner(), ...sites.map(makeProbe)]);
  const whole = asNetwork(made);
  if (whole === undefined) throw new Error('the first start could not make all that it needs'); // Cannot be: each step threw or added its part.
  return whole;
};
