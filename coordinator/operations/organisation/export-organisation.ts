import type { beginExport as beginOperation, readExport as readOperation } from '../../../shared/api/inner/inner-organisation.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import { splitSecrets } from '../../../shared/checks/config.ts';
import type { Kind } from '../../../shared/checks/kinds.ts';
import { type ExportPart, exportPage, exportParts, isExportPart, mostRowsOf } from '../../store/store-organisation-export.ts';
import { createdAt } from '../../store/store-organisations.ts';
import type { ChannelConfig, ChannelsPart } from '../channels/operation-channel-needs.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { beforeAll, pageOf } from '../operation-cursors.ts';

const leftOut = [
  {
    what: 'secrets',
    why: 'Passwords, keys, tokens and addresses of heartbeats are kept encrypted or as fingerprints; *** stands for them.',
  },
  { what: 'results', why: 'Single results are kept for some days only; the figures of each hour are in response_times.' },
  { what: 'sessions, second factors and passkeys of members', why: 'They belong to the people, not to the organisation.' },
  { what: 'subscribers of status pages', why: 'Their addresses were given for one page alone.' },
  { what: 'logos of status pages', why: 'A picture is no text; each is at the address of its page.' },
  { what: 'invitations, links to incidents, and attempts at sending', why: 'They are of the moment, and open doors.' },
  { what: 'what was deleted', why: 'It is gone.' },
];

/** Leaves the one trace of an export. */
export const beginExport = async ({ sql, organisation, note }: InOrganisation): Answer<OutputOf<typeof beginOperation>> => {
  const { id, name, plan, time_zone } = organisation;
  note({ after: { parts: exportParts } });
  return {
    organisation: { id, name, plan, time_zone, created_at: (await createdAt(sql, id)).toISOString() },
    parts: exportParts,
    left_out: leftOut,
  };
};

type Row = Readonly<Record<string, unknown>>;

/** What was stored openly before it counted as a secret leaves as a mask, too. The columns are those that `store-organisation-export.ts` names. */
const masked = (channels: ChannelsPart, part: ExportPart, row: Row): Row => {
  if (part === 'monitors') return { ...row, config: splitSecrets(row.type as Kind, row.config as Config).open };
  if (part === 'channels') return { ...row, config: channels.shown(String(row.kind), row.config as ChannelConfig) };
  return row;
};

export const readExport = async (
  { sql, organisation, with: { channels, cursors } }: InOrganisation,
  input: InputOf<typeof readOperation>,
): Answer<OutputOf<typeof readOperation>> => {
  const { part } = input;
  if (!isExportPart(part))
    throw new Refusal('request_malformed', `part: there is none "${part.slice(0, 60)}"; one of ${exportParts.join(', ')} would do.`);
  return pageOf(
    cursors,
    ['export', organisation.id, part],
    { ...input, limit: mostRowsOf(part, input.limit) },
    (from, most) => exportPage(sql, organisation.id, part, from ?? beforeAll, most),
    ({ row }) => masked(channels, part, row),
  );
};
