import type {
  invitePublicProbe as inviteHereOperation,
  listAllProbeInvitations as listAllOperation,
  revokeAnyProbeInvitation as revokeAnyOperation,
} from '../../../shared/api/inner/inner-probes.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type {
  inviteProbe as inviteOperation,
  listProbeInvitations as listOperation,
  revokeProbeInvitation as revokeOperation,
} from '../../../shared/api/probes.ts';
import { continents, isContinent } from '../../../shared/base/continents.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { newTokenText, shownPart } from '../../access/access-token-text.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import {
  countPrivateProbes,
  type InvitationRow,
  insertProbeInvitation,
  isProbeNameTaken,
  probeInvitations,
  revokeProbeInvitation as revokeRow,
} from '../../store/store-probe-invitations.ts';
import type { Answer, Context, InOrganisation } from '../operation-context.ts';
import { afterAll, pageOf } from '../operation-cursors.ts';
import { notFound } from '../operation-not-found.ts';

/** So long a join token is good. */
const livesMs = 3_600_000;

const stateOf = ({ used_at, expires_at }: InvitationRow, now: number): 'open' | 'used' | 'expired' => {
  if (used_at !== null) return 'used';
  return expires_at.getTime() <= now ? 'expired' : 'open';
};

const invitationOut = (now: number) => (row: InvitationRow) => {
  const { id, name, continent, shown, probe_id, last_seen_at } = row;
  return {
    ...{ id, name, continent, shown, state: stateOf(row, now), probe: probe_id },
    heard_at: last_seen_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  };
};

const inviteInto = async (
  { sql, now, note, with: { accountSecrets, baseUrl } }: Context,
  organisation: string | null,
  input: { readonly name: string; readonly continent: string },
) => {
  const [name, continent] = [nameFrom(input.name), input.continent];
  if (!isContinent(continent))
    throw new Refusal('continent_unknown', `continent: there is no continent "${continent}"; one of ${continents.join(', ')} would do.`);
  if (await isProbeNameTaken(sql, organisation, name, new Date(now)))
    throw new Refusal('name_taken', `name: there is a probe or an invitation "${name}" already; choose another name.`);
  const [id, token] = [newId(), newTokenText('join')];
  const fingerprint = await accountSecrets.fingerprint('join token', token);
  const [created_at, expires_at] = [new Date(now), new Date(now + livesMs)];
  const row = { id, name, continent, shown: shownPart(token), created_at, expires_at };
  await insertProbeInvitation(sql, { ...row, organisation, fingerprint });
  note({ after: { name, continent, begins: row.shown, expires_at: expires_at.toISOString() } });
  const made = { ...row, key: 0, organisation_id: organisation, used_at: null, used_key: null, probe_id: null, last_seen_at: null };
  const url = baseUrl();
  const command = `curl -fsSO ${url}/downloads/antipode-probe.mjs && node antipode-probe.mjs join ${url} ${token}`;
  return { ...invitationOut(now)(made), token, command };
};

/** A private one. The organisation is locked, so that two invitations do not both take the last place of the plan. */
export const inviteProbe = async (
  context: InOrganisation,
  input: InputOf<typeof inviteOperation>,
): Answer<OutputOf<typeof inviteOperation>> => {
  const { sql, organisation, now } = context;
  mayHaveOneMore('private_probes', organisation.plan, await countPrivateProbes(sql, organisation.id, new Date(now)));
  return inviteInto(context, organisation.id, input);
};

export const invitePublicProbe = (
  context: Context,
  input: InputOf<typeof inviteHereOperation>,
): Answer<OutputOf<typeof inviteHereOperation>> => inviteInto(context, null, input);

export const listProbeInvitations = async (
  { sql, organisation, now, with: { cursors } }: InOrganisation,
  input: InputOf<typeof listOperation>,
): Answer<OutputOf<typeof listOperation>> =>
  pageOf(
    cursors,
    ['probe invitations', organisation.id],
    input,
    (from, most) => probeInvitations(sql, { organisation: organisation.id }, from ?? afterAll, most),
    invitationOut(now),
  );

/** As many as somebody reads. */
const mostListed = 200;

export const listAllProbeInvitations = async ({ sql, now }: Context): Answer<OutputOf<typeof listAllOperation>> => {
  const rows = await probeInvitations(sql, 'all', afterAll, mostListed);
  return { items: rows.map((row) => ({ ...invitationOut(now)(row), organisation: row.organisation_id })) };
};

export const revokeProbeInvitation = async (
  { sql, organisation, now }: InOrganisation,
  { probe_invitation_id: id }: InputOf<typeof revokeOperation>,
): Answer<OutputOf<typeof revokeOperation>> => {
  if (!(await revokeRow(sql, { organisation: organisation.id }, id, new Date(now)))) throw notFound('invitation_not_found');
};

export const revokeAnyProbeInvitation = async (
  { sql, now }: Context,
  { probe_invitation_id: id }: InputOf<typeof revokeAnyOperation>,
): Answer<OutputOf<typeof revokeAnyOperation>> => {
  if (!(await revokeRow(sql, 'all', id, new Date(now)))) throw notFound('invitation_not_found');
  return { id };
};
