import { isUtf8 } from 'node:buffer';
import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/process.ts';
import {
  allSetAside,
  retrySetAside as askAgain,
  dropSetAside as forget,
  type SetAside,
  setAsideById,
} from '../engine/queries.ts';
import { type Context, type OperationResult, orNotFound } from '../gate/context.ts';
import { pageOf } from '../gate/cursors.ts';
import { noticesSince, remedyOf } from '../health/notices.ts';
import { meaningOfRefused, refusedSince } from '../health/refusals.ts';
import { markFalse } from '../health/service-record.ts';
import { zoneDataAt } from '../maintenance/zones.ts';
import { userByEmail } from '../people/queries.ts';
import type * as contract from './contract.ts';
import { installationFigures, organisationsByName, writeOperator } from './queries.ts';

/** One, or null for all; all must be requested explicitly. @throws Refusal `request_malformed`. */
export function whichSetAside({
  set_aside_id,
  all,
}: {
  readonly set_aside_id: number | null;
  readonly all: boolean;
}): number | null {
  if ((set_aside_id !== null) === all)
    throw new Refusal('request_malformed', 'Say which message: give its id, or say all of them.');
  return set_aside_id;
}

export async function dropSetAside(
  { sql }: Context,
  input: InputOf<typeof contract.dropSetAside>,
): OperationResult<OutputOf<typeof contract.dropSetAside>> {
  const id = whichSetAside(input);
  if (id !== null) orNotFound(await setAsideById(sql, id), 'set_aside_not_found');
  return { dropped: await forget(sql, id) };
}

export function daysBefore(now: number, days: number): Date {
  return new Date(now - days * 86_400_000);
}

export async function listNotices(
  { sql, now }: Context,
  { days }: InputOf<typeof contract.listNotices>,
): OperationResult<OutputOf<typeof contract.listNotices>> {
  const items = (await noticesSince(sql, daysBefore(now, days))).map(
    ({ began_at, ended_at, ...notice }) => ({
      ...notice,
      what_to_do: ended_at === null ? remedyOf(notice.kind) : null,
      began_at: began_at.toISOString(),
      ended_at: ended_at?.toISOString() ?? null,
    }),
  );
  return { items, open: items.filter(({ ended_at }) => ended_at === null).length };
}

export async function listRefused(
  { sql, now }: Context,
  { days, probe_id }: InputOf<typeof contract.listRefused>,
): OperationResult<OutputOf<typeof contract.listRefused>> {
  const items = (await refusedSince(sql, daysBefore(now, days), probe_id)).map(
    ({ day, probe, name, reason, count, last_at }) => ({
      day,
      probe,
      probe_name: name,
      reason,
      meaning: meaningOfRefused(reason),
      count,
      last_at: last_at.toISOString(),
    }),
  );
  return { items, count: items.reduce((sum, { count }) => sum + count, 0) };
}

export function setAsideJson({
  id,
  subject,
  reason,
  at,
  bytes,
  attempts,
  retry_asked_at,
}: SetAside) {
  return {
    id,
    subject,
    reason,
    bytes,
    attempts,
    at: at.toISOString(),
    retry_asked_at: retry_asked_at?.toISOString() ?? null,
  };
}

export async function listSetAside({
  sql,
}: Context): OperationResult<OutputOf<typeof contract.listSetAside>> {
  const items = (await allSetAside(sql)).map(setAsideJson);
  return { items, count: items.length };
}

/**
 * The owner of its partition processes it: at once where a coordinator runs, otherwise when one
 * does.
 */
export async function retrySetAside(
  { sql }: Context,
  input: InputOf<typeof contract.retrySetAside>,
): OperationResult<OutputOf<typeof contract.retrySetAside>> {
  const id = whichSetAside(input);
  if (id !== null) orNotFound(await setAsideById(sql, id), 'set_aside_not_found');
  return { asked: await askAgain(sql, id) };
}

export async function sayOutageFalse(
  { sql }: Context,
  { incident_id: incident, is_false }: InputOf<typeof contract.sayOutageFalse>,
): OperationResult<OutputOf<typeof contract.sayOutageFalse>> {
  return {
    incident,
    monitor: orNotFound(await markFalse(sql, incident, is_false), 'incident_not_found'),
    is_false,
  };
}

export async function showSetAside(
  { sql }: Context,
  { set_aside_id }: InputOf<typeof contract.showSetAside>,
): OperationResult<OutputOf<typeof contract.showSetAside>> {
  const { data, ...row } = orNotFound(await setAsideById(sql, set_aside_id), 'set_aside_not_found');
  const encoding = isUtf8(data) ? 'text' : 'base64';
  return {
    ...setAsideJson(row),
    encoding,
    data: Buffer.from(data).toString(encoding === 'text' ? 'utf8' : 'base64'),
  };
}

export async function listOrganisations(
  context: Context,
  input: InputOf<typeof contract.listOrganisations>,
): OperationResult<OutputOf<typeof contract.listOrganisations>> {
  return pageOf(
    context.with.cursors,
    ['organisations'],
    input,
    (after, limit) => organisationsByName(context.sql, after, limit),
    ({ id, name, plan, monitors, members, created_at, ends_at }) => ({
      id,
      name,
      plan,
      monitors,
      members,
      created_at: created_at.toISOString(),
      ends_at: ends_at?.toISOString() ?? null,
    }),
  );
}

export const markOperator = marking(true);

function marking(is_operator: boolean) {
  return async (
    { sql }: Context,
    { email }: InputOf<typeof contract.markOperator>,
  ): OperationResult<OutputOf<typeof contract.markOperator>> => {
    const user = orNotFound(await userByEmail(sql, email.trim()), 'user_not_found');
    await writeOperator(sql, user.id, is_operator);
    return { ...user, is_operator };
  };
}

/** It takes effect with their next request: the mark is read for each. */
export const unmarkOperator = marking(false);

const hour = 3_600_000;

export async function showFigures({
  sql,
  now,
}: Context): OperationResult<OutputOf<typeof contract.showFigures>> {
  const { checks, ...figures } = await installationFigures(sql, new Date(now));
  const from = checks === null ? 0 : Date.parse(checks.from);
  return {
    ...figures,
    checks:
      checks === null
        ? null
        : {
            from: new Date(from).toISOString(),
            to: new Date(from + hour).toISOString(),
            count: checks.count,
          },
    version,
    time_zone_data: zoneDataAt(process.versions.tz, now),
  };
}
