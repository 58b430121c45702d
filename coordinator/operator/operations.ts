import { isUtf8 } from 'node:buffer';
import { Refusal } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/process.ts';
import type { Queryable } from '../database/connect.ts';
import {
  allSetAside,
  retrySetAside as askAgain,
  dropSetAside as forget,
  setAsideById,
} from '../engine/queries.ts';
import { handle } from '../gate/bind.ts';
import { orNotFound } from '../gate/context.ts';
import { pageOf } from '../gate/cursors.ts';
import { noticesSince, remedyOf } from '../health/notices.ts';
import { meaningOfRefused, refusedSince } from '../health/refusals.ts';
import { markFalse } from '../health/service-record.ts';
import { zoneDataAt } from '../maintenance/zones.ts';
import { userNamed } from '../people/queries.ts';
import * as contract from './contract.ts';
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

export const dropSetAside = handle(contract.dropSetAside)(async ({ sql }, input) => {
  const id = whichSetAside(input);
  if (id !== null) orNotFound(await setAsideById(sql, id), 'set_aside_not_found');
  return { dropped: await forget(sql, id) };
});

export function daysBefore(now: number, days: number): number {
  return now - days * 86_400_000;
}

export const listNotices = handle(contract.listNotices)(async ({ sql, now }, { days }) => {
  const notices = await noticesSince(sql, daysBefore(now, days));
  const items = notices.map(({ began_at, ended_at, ...notice }) => ({
    ...notice,
    what_to_do: ended_at === null ? remedyOf(notice.kind) : null,
    began_at,
    ended_at,
  }));
  return { items, open: items.filter(({ ended_at }) => ended_at === null).length };
});

export const listRefused = handle(contract.listRefused)(
  async ({ sql, now }, { days, probe_id }) => {
    const items = (await refusedSince(sql, daysBefore(now, days), probe_id)).map((row) => ({
      ...row,
      probe_name: row.name,
      meaning: meaningOfRefused(row.reason),
    }));
    return { items, count: items.reduce((sum, { count }) => sum + count, 0) };
  },
);

export const listSetAside = handle(contract.listSetAside)(async ({ sql }) => {
  const items = await allSetAside(sql);
  return { items, count: items.length };
});

/**
 * The owner of its partition processes it: at once where a coordinator runs, otherwise when one
 * does.
 */
export const retrySetAside = handle(contract.retrySetAside)(async ({ sql }, input) => {
  const id = whichSetAside(input);
  if (id !== null) orNotFound(await setAsideById(sql, id), 'set_aside_not_found');
  return { asked: await askAgain(sql, id) };
});

export const sayOutageFalse = handle(contract.sayOutageFalse)(
  async ({ sql }, { incident_id: incident, is_false }) => ({
    incident,
    monitor: orNotFound(await markFalse(sql, incident, is_false), 'incident_not_found'),
    is_false,
  }),
);

export const showSetAside = handle(contract.showSetAside)(async ({ sql }, { set_aside_id }) => {
  const { data, ...row } = orNotFound(await setAsideById(sql, set_aside_id), 'set_aside_not_found');
  const encoding = isUtf8(data) ? 'text' : 'base64';
  return {
    ...row,
    encoding,
    data: Buffer.from(data).toString(encoding === 'text' ? 'utf8' : 'base64'),
  };
});

export const listOrganisations = handle(contract.listOrganisations)(async (context, input) =>
  pageOf(
    context.with.cursors,
    ['organisations'],
    input,
    (after, limit) => organisationsByName(context.sql, after, limit),
    (row) => row,
  ),
);

export const markOperator = handle(contract.markOperator)(async ({ sql }, { email }) =>
  marked(sql, email, true),
);

async function marked(sql: Queryable, email: string, is_operator: boolean) {
  const user = await userNamed(sql, email);
  await writeOperator(sql, user.id, is_operator);
  return { ...user, is_operator };
}

/** It takes effect with their next request: the mark is read for each. */
export const unmarkOperator = handle(contract.unmarkOperator)(async ({ sql }, { email }) =>
  marked(sql, email, false),
);

const hour = 3_600_000;

export const showFigures = handle(contract.showFigures)(async ({ sql, now, with: { watcher } }) => {
  const { checks, accepted_at, ...figures } = await installationFigures(sql, now);
  const from = checks === null ? 0 : Date.parse(checks.from);
  return {
    ...figures,
    checks:
      checks === null
        ? null
        : {
            from,
            to: from + hour,
            count: checks.count,
          },
    watcher: watcher === null ? null : { host: watcher, accepted_at },
    version,
    time_zone_data: zoneDataAt(process.versions.tz, now),
  };
});
