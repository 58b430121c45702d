/** What a home remembers from one start to the next: keys, passwords, ports, and what the first start made. Never deleted by the launcher. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { busIdentityShape, createBusIdentity } from '../../shared/bus/bus-identity.ts';
import { stateFile } from './local-folders.ts';
import { readJson, writeJson } from './local-json-file.ts';

export const sites = [
  { name: 'Frankfurt', continent: 'Europe' },
  { name: 'Virginia', continent: 'North America' },
  { name: 'Singapore', continent: 'Asia' },
] as const;

export type SiteName = (typeof sites)[number]['name'];

const siteNames = z.enum(['Frankfurt', 'Virginia', 'Singapore']);

/** What the first start makes in a database: an organisation, its owner, a token, and the probes; so far as it came. */
export const madeShape = z.object({
  organisation: z.string().optional(),
  owner: z.object({ email: z.string(), password: z.string() }).optional(),
  apiToken: z.string().optional(),
  /** The credentials of each probe. */
  probes: z.partialRecord(siteNames, z.string()),
});

export type Made = z.infer<typeof madeShape>;

const stateShape = z.object({
  v: z.literal(1),
  secretKey: z.string(),
  postgresPassword: z.string(),
  bus: busIdentityShape,
  ports: z.object({ http: z.number(), postgres: z.number(), nats: z.number(), ears: z.partialRecord(siteNames, z.number()) }).partial(),
  /** For each pair of database and bus that this home was started with. */
  made: z.record(z.string(), madeShape),
});

export type HomeState = z.infer<typeof stateShape>;

export const openState = (home: string, now: number): HomeState => {
  const known = readJson(stateFile(home), stateShape);
  if (known !== undefined) return known;
  const fresh: HomeState = {
    v: 1,
    secretKey: randomBytes(32).toString('base64url'),
    postgresPassword: randomBytes(24).toString('base64url'),
    bus: createBusIdentity(now),
    ports: {},
    made: {},
  };
  keepState(home, fresh);
  return fresh;
};

export const keepState = (home: string, state: HomeState): void => writeJson(stateFile(home), state);
