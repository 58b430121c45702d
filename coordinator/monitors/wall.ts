import { createHash, randomBytes } from 'node:crypto';
import type { OutputOf } from '../../shared/api/operation.ts';
import type * as api from '../../shared/api/wall.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import type { InOrganisation, OperationResult } from '../gate/context.ts';
import {
  deleteWallLink,
  organisationOfWall,
  upsertWallLink,
  wallLink,
  wallRows,
} from './queries.ts';
import { coveredNow } from './status-queries.ts';

/** More squares than a screen shows, and few enough for a television's browser. */
const maxSquares = 2_000;

export type Wall = Omit<OutputOf<typeof api.showWall>, 'link'>;

const wallOf = async (sql: Queryable, organisation: string, now: number): Promise<Wall> => {
  const [rows, covered] = await Promise.all([
    wallRows(sql, organisation, maxSquares + 1),
    coveredNow(sql, organisation, now),
  ]);
  const groups = Map.groupBy(rows.slice(0, maxSquares), (row) => row.group_name);
  return {
    groups: [...groups].map(([name, monitors]) => ({
      name,
      monitors: monitors.map(({ id, name: called, status }) => ({
        id,
        name: called,
        status: status !== 'paused' && covered.includes(id) ? 'maintenance' : status,
      })),
    })),
    is_whole: rows.length <= maxSquares,
  };
};

export const showWall = async ({
  sql,
  organisation,
  now,
}: InOrganisation): OperationResult<OutputOf<typeof api.showWall>> => {
  const [wall, link] = await Promise.all([
    wallOf(sql, organisation.id, now),
    wallLink(sql, organisation.id),
  ]);
  return {
    ...wall,
    link: link && { by: link.by, at: link.at.toISOString(), has_left: link.has_left },
  };
};

/** The link before it ends with that. */
export const createWallLink = async ({
  sql,
  organisation,
  caller,
  with: { baseUrl },
}: InOrganisation): OperationResult<OutputOf<typeof api.createWallLink>> => {
  const secret = randomBytes(24).toString('base64url');
  await upsertWallLink(sql, organisation.id, wallFingerprint(secret), caller.user);
  return { address: `${baseUrl()}/wall/${secret}` };
};

export const revokeWallLink = ({ sql, organisation }: InOrganisation): Promise<void> =>
  deleteWallLink(sql, organisation.id);

const shape = /^[A-Za-z0-9_-]{32}$/;

const wallFingerprint = (secret: string): Buffer =>
  createHash('sha256').update(`wall ${secret}`).digest();

export type Walls = {
  /** What anyone with the link may see; undefined when it was revoked or never existed. */
  readonly read: (secret: string, now: number) => Promise<Wall | undefined>;
};

export const createWalls = (sql: Sql): Walls => ({
  read: async (secret, now) => {
    if (!shape.test(secret)) return undefined;
    const organisation = await organisationOfWall(sql, wallFingerprint(secret));
    return organisation === undefined ? undefined : wallOf(sql, organisation, now);
  },
});
