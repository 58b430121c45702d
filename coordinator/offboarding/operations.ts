import { Refusal } from '../../shared/base/errors.ts';
import { isoText } from '../../shared/base/time.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { splitSecrets } from '../../shared/checks/config.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import { postMails } from '../account-mail/queries.ts';
import { handle } from '../gate/bind.ts';
import type { GateDependencies, InOrganisation } from '../gate/context.ts';
import { beforeAll, pageOf } from '../gate/cursors.ts';
import { createdAt } from '../gate/records.ts';
import type { ChannelConfig } from '../notifications/kinds/types.ts';
import { ownersOf } from '../notifications/last-resort.ts';
import { ownName } from '../people/queries.ts';
import * as frame from '../web/contract.ts';
import * as contract from './contract.ts';
import { beginEnding, isSameName, keptMs, undoEnding } from './deletion.ts';
import {
  type ExportedRow,
  type ExportPart,
  exportPage,
  exportParts,
  isExportPart,
  maxRowsOf,
} from './export.ts';

/**
 * From now on the organisation is read-only, and nothing is checked or notified; after some days
 * housekeeping deletes it.
 */
export const endOrganisation = handle(contract.endOrganisation)(async (context, { name }) => {
  const { sql, organisation, caller, now, note } = context;
  if (!isSameName(name, organisation.name))
    throw new Refusal('name_invalid', {
      name: `the name does not match; type ${organisation.name}`,
    });
  const endsAt = now + keptMs;
  const paused = await beginEnding(sql, {
    organisation: organisation.id,
    user: caller.user,
    at: now,
    endsAt,
  });
  await mailOwners(context, 'ends', endsAt);
  note({ before: { ends_at: null }, after: { ends_at: isoText(endsAt), paused } });
  return { id: organisation.id, ends_at: endsAt, paused };
});

/** All owners are notified, whoever did it. */
async function mailOwners(
  { sql, organisation: { id, name, time_zone }, caller, now }: InOrganisation,
  what: 'ends' | 'kept',
  endsAt: number,
): Promise<void> {
  const by = caller.user === null ? null : ((await ownName(sql, caller.user)) ?? null);
  const about = { what, organisation: name, by, ends_at: isoText(endsAt), time_zone };
  const owners = (await ownersOf(sql, [id])).get(id) ?? [];
  await postMails(
    sql,
    owners.map((recipient) => ({ kind: 'organisation', recipient, about, at: now })),
  );
}

export const keepOrganisation = handle(frame.keepOrganisation)(async (context) => {
  const { sql, organisation, now, note } = context;
  const { ends_at } = organisation;
  if (ends_at === null)
    throw new Refusal(
      'organisation_not_ending',
      `${organisation.name} is not scheduled for deletion.`,
    );
  const resumed = await undoEnding(sql, organisation.id, now);
  if (resumed === undefined)
    throw new Refusal(
      'organisation_ending',
      `The days in which ${organisation.name} could be kept are over; it is being deleted.`,
    );
  await mailOwners(context, 'kept', ends_at);
  note({ before: { ends_at: isoText(ends_at) }, after: { ends_at: null, resumed } });
  return { id: organisation.id, resumed };
});

const leftOut = [
  {
    what: 'secrets',
    why: 'Passwords, keys, tokens and addresses of heartbeats are kept encrypted or as fingerprints; *** replaces them.',
  },
  {
    what: 'results',
    why: 'Single results are kept for some days only, and `GET /api/v1/monitors/{id}/checks` lists them; the figures of each hour are in response_percentiles and response_times.',
  },
  {
    what: 'sessions, second factors and passkeys of members',
    why: 'They belong to the people, not to the organisation.',
  },
  { what: 'subscribers of status pages', why: 'Their addresses were given for one page alone.' },
  {
    what: 'logos of status pages',
    why: 'A picture is no text; each is at the address of its page.',
  },
  {
    what: 'invitations, links to incidents, and attempts at sending',
    why: 'They are of the moment, and open doors.',
  },
  {
    what: 'events, and what was sent to webhooks',
    why: 'GET /api/v1/events lists them for 90 days, and the log of a webhook for 14.',
  },
  { what: 'what was deleted', why: 'It is gone.' },
];

/** Writes the audit entry of an export. */
export const beginExport = handle(contract.beginExport)(async ({ sql, organisation, note }) => {
  const { id, name, plan, time_zone } = organisation;
  note({ after: { parts: exportParts } });
  return {
    organisation: { id, name, plan, time_zone, created_at: await createdAt(sql, id) },
    parts: exportParts,
    left_out: leftOut,
  };
});

export const readExport = handle(contract.readExport)(
  async ({ sql, organisation, now, with: { cursors, channels, results } }, input) => {
    const { part } = input;
    if (!isExportPart(part))
      throw new Refusal('request_malformed', { part: `must be one of ${exportParts.join(', ')}.` });
    return pageOf(
      cursors,
      ['export', organisation.id, part],
      { ...input, limit: maxRowsOf(part, input.limit) },
      (from, limit) =>
        exportPage(sql, results, organisation.id, part, { after: from ?? beforeAll, limit, now }),
      ({ row }) => masked(channels, part, row),
    );
  },
);

/**
 * A secret that was stored before its field counted as secret is masked, too. The columns are those
 * of `export.ts`.
 */
function masked(
  channels: GateDependencies['channels'],
  part: ExportPart,
  row: ExportedRow['row'],
): ExportedRow['row'] {
  if (part === 'monitors')
    return { ...row, config: splitSecrets(row.type as Kind, row.config as Config).open };
  if (part === 'channels')
    return { ...row, config: channels.shown(String(row.kind), row.config as ChannelConfig) };
  return row;
}
