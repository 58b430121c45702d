/** Run by first-start.ts: reads what is made already from its input, makes the rest, and prints all that is made after every step. */
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { operatorIn } from '../../coordinator/access/caller.ts';
import { readConfig } from '../../coordinator/config.ts';
import { createEntrance } from '../../coordinator/gate.ts';
import { connect } from '../../coordinator/store/database.ts';
import { entryFault } from '../../coordinator/store/database-entry.ts';
import { migrate } from '../../coordinator/store/migrate.ts';
import { organisationById } from '../../coordinator/store/organisations.ts';
import { innerOperations, installationOperations } from '../../shared/api/inner/index.ts';
import { type Operation, rawInput } from '../../shared/api/operation.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { createLog } from '../../shared/base/log.ts';
import { Refusal } from '../../shared/base/refusal.ts';
import { type Made, madeShape, sites } from './home-state.ts';

const { createUser, createToken } = innerOperations;
const { createOrganisation, createProbe, listProbes, rotateProbe } = installationOperations;

const withId = z.object({ id: z.string() });
const withToken = z.object({ token: z.string() });
const withCredentials = z.object({ credentials: z.string() });
const probeList = z.object({ items: z.array(z.object({ id: z.string(), name: z.string(), revoked_at: z.string().nullable() })) });

let made: Made = madeShape.parse(JSON.parse(await text(process.stdin)));
const add = (more: Partial<Made>): void => {
  made = { ...made, ...more };
  process.stdout.write(`${JSON.stringify(made)}\n`);
};

const config = readConfig(process.env);
const log = createLog({ name: 'first-start', level: 'silent' });
const sql = connect(config.DATABASE_URL, { name: 'antipode first start', connections: 4 });
const { gate } = createEntrance({ config, sql, clock: systemClock, log, baseUrl: () => config.BASE_URL ?? '' });

const forInstallation = async <Shape extends z.ZodType>(operation: Operation, flat: unknown, shape: Shape): Promise<z.infer<Shape>> =>
  shape.parse((await gate.executeForInstallation(operation, rawInput(operation, flat))).body);

const makeOwner = async (): Promise<void> => {
  const id = made.organisation ?? (await forInstallation(createOrganisation, { name: 'Local' }, withId)).id;
  if (made.organisation === undefined) add({ organisation: id });
  const organisation = await organisationById(sql, id);
  if (organisation === undefined) throw new Error('the organisation that this home remembers is not in the database');
  const asOperator = operatorIn(organisation);
  const inOrganisation = async (operation: Operation, flat: unknown): Promise<unknown> =>
    (await gate.execute(operation, asOperator, rawInput(operation, flat))).body;
  if (made.owner === undefined) {
    const owner = { email: `owner-${randomBytes(3).toString('hex')}@antipode.local`, password: randomBytes(15).toString('base64url') };
    await inOrganisation(createUser, { ...owner, role: 'owner' });
    add({ owner });
  }
  const wanted = { email: made.owner?.email, name: 'Local start', scope: 'read_write' };
  if (made.apiToken === undefined) add({ apiToken: withToken.parse(await inOrganisation(createToken, wanted)).token });
};

/** The probe of this name that an interrupted start made without keeping its credentials. */
const renew = async (name: string, taken: unknown): Promise<string> => {
  const { items } = await forInstallation(listProbes, {}, probeList);
  const known = items.find((probe) => probe.name === name && probe.revoked_at === null);
  if (known === undefined) throw taken;
  return (await forInstallation(rotateProbe, { probe_id: known.id }, withCredentials)).credentials;
};

const makeProbe = async ({ name, continent }: (typeof sites)[number]): Promise<void> => {
  if (made.probes[name] !== undefined) return;
  const credentials = await forInstallation(createProbe, { name, continent }, withCredentials).then(
    (probe) => probe.credentials,
    (error: unknown) => {
      if (!(error instanceof Refusal) || error.code !== 'name_taken') throw error;
      if (process.env.ANTIPODE_OWN_DATABASE === 'yes')
        throw new Error(`this database has a probe ${name} already, of another home: revoke it there, or use a database of your own`);
      return renew(name, error);
    },
  );
  add({ probes: { ...made.probes, [name]: credentials } });
};

try {
  await migrate(sql);
  await Promise.all([makeOwner(), ...sites.map(makeProbe)]);
} catch (error) {
  const fault = entryFault(error, config.DATABASE_URL);
  process.stderr.write(`${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exit(1);
}
await sql.end();
