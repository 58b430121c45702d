/**
 * Runs in a process of its own, at each start: makes what the network lacks, through the gate, each
 * step once and reported as soon as it is done; then a link that signs the owner in. An interrupted
 * start continues where it was.
 */

import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readConfig } from '../../coordinator/config.ts';
import { connect } from '../../coordinator/database/connect.ts';
import { bringUpToDate } from '../../coordinator/database/migrate.ts';
import { connectionFault } from '../../coordinator/database/startup.ts';
import { operatorIn } from '../../coordinator/gate/caller.ts';
import { organisationById } from '../../coordinator/gate/records.ts';
import { createOrganisation, createUser } from '../../coordinator/organisations/contract.ts';
import { createSignInLink } from '../../coordinator/people/contract.ts';
import { createProbe, listAllProbes, rotateProbe } from '../../coordinator/probes/contract.ts';
import { createGateSetup } from '../../coordinator/setup.ts';
import { createToken } from '../../coordinator/tokens/contract.ts';
import { type Operation, rawInput } from '../../shared/api/operation.ts';
import { continents } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { createLog } from '../../shared/base/log.ts';
import { systemClock } from '../../shared/base/time.ts';
import { type FirstStartRecord, madeShape } from './home.ts';

const withId = z.object({ id: z.string() });
const withAddress = z.object({ address: z.string() });
const withToken = z.object({ token: z.string() });
const withCredentials = z.object({ credentials: z.string() });
const probeList = z.object({
  items: z.array(z.object({ id: z.string(), name: z.string(), revoked_at: z.string().nullable() })),
});

const orderShape = z.object({
  /** The coordinator's environment. */
  environment: z.record(z.string(), z.string()),
  /** A database that the user provided may contain the network of another home. */
  isOwnDatabase: z.boolean(),
  known: madeShape,
  sites: z.array(z.object({ name: z.string(), continent: z.enum(continents) })),
});

export type Order = z.infer<typeof orderShape>;

/** What is made so far; at the end, the address that signs the owner in. */
export type Report = { readonly made: FirstStartRecord } | { readonly signInUrl: string };

process.once('message', (order) => {
  makeAll(orderShape.parse(order), (report) => process.send?.(report)).then(
    () => process.disconnect?.(),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    },
  );
});

async function makeAll(
  { environment, isOwnDatabase, known, sites }: Order,
  tell: (report: Report) => void,
): Promise<void> {
  const config = readConfig(environment);
  const log = createLog({ name: 'setup', level: 'silent' });
  const sql = connect(config.DATABASE_URL, { name: 'antipode setup', connections: 4 });
  const { gate, tokens, notifications } = createGateSetup({
    config,
    sql,
    clock: systemClock,
    log,
    baseUrl: () => config.BASE_URL ?? '',
  });
  let made = known;
  const add = (more: Partial<FirstStartRecord>): void => {
    made = { ...made, ...more };
    tell({ made });
  };

  const forInstallation = async <Shape extends z.ZodType>(
    operation: Operation,
    flat: unknown,
    shape: Shape,
  ): Promise<z.infer<Shape>> =>
    shape.parse((await gate.executeForInstallation(operation, rawInput(operation, flat))).body);

  const makeOwner = async (): Promise<void> => {
    const id =
      made.organisation ??
      (await forInstallation(createOrganisation, { name: 'Local' }, withId)).id;
    if (made.organisation === undefined) add({ organisation: id });
    const organisation = await organisationById(sql, id);
    if (organisation === undefined)
      throw new Error('the organisation that this home remembers is not in the database');
    const asOperator = operatorIn(organisation);
    const inOrganisation = async (operation: Operation, flat: unknown): Promise<unknown> =>
      (await gate.execute(operation, asOperator, rawInput(operation, flat))).body;
    if (made.owner === undefined) {
      const owner = {
        email: `owner-${randomBytes(3).toString('hex')}@antipode.local`,
        password: randomBytes(15).toString('base64url'),
      };
      await inOrganisation(createUser, { ...owner, role: 'owner' });
      add({ owner });
    }
    const wanted = { email: made.owner?.email, name: 'Local start', scope: 'read_write' };
    if (made.apiToken === undefined)
      add({ apiToken: withToken.parse(await inOrganisation(createToken, wanted)).token });
  };

  /**
   * Replaces the probe of this name that an interrupted start made without keeping its credentials.
   */
  const renew = async (name: string, taken: unknown): Promise<string> => {
    const { items } = await forInstallation(listAllProbes, {}, probeList);
    const probe = items.find((one) => one.name === name && one.revoked_at === null);
    if (probe === undefined) throw taken;
    return (await forInstallation(rotateProbe, { probe_id: probe.id }, withCredentials))
      .credentials;
  };

  const makeProbe = async ({ name, continent }: Order['sites'][number]): Promise<void> => {
    if (made.probes[name] !== undefined) return;
    const credentials = await forInstallation(
      createProbe,
      { name, continent },
      withCredentials,
    ).then(
      (probe) => probe.credentials,
      (error: unknown) => {
        if (!(error instanceof Refusal) || error.code !== 'name_taken') throw error;
        if (isOwnDatabase)
          throw new Error(
            `this database has a probe ${name} already, of another home: revoke it there, or use a database of your own`,
          );
        return renew(name, error);
      },
    );
    add({ probes: { ...made.probes, [name]: credentials } });
  };

  try {
    await bringUpToDate(sql, config.DATABASE_URL);
    await Promise.all([makeOwner(), ...sites.map(makeProbe)]);
    const link = { email: made.owner?.email, made_for: 'start' };
    tell({ signInUrl: (await forInstallation(createSignInLink, link, withAddress)).address });
    await tokens.close();
    await notifications.close();
    await sql.end();
  } catch (error) {
    throw connectionFault(error, config.DATABASE_URL);
  }
}
