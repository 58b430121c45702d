import type { FastifyInstance } from 'fastify';
import { rawInput } from '../../shared/api/operation.ts';
import * as api from '../../shared/api/probes.ts';
import { type Continent, continents, isContinent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Log } from '../../shared/base/log.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { isoText } from '../../shared/base/time.ts';
import { readBody } from '../api/body.ts';
import { answerOf } from '../api/errors.ts';
import type { Queryable } from '../database/connect.ts';
import { hostOf } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import { type Context, notFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import type { Gate } from '../gate/execute.ts';
import { enforceLimit } from '../gate/plans.ts';
import { organisationById } from '../gate/records.ts';
import { refuseWhileEnding } from '../gate/roles.ts';
import * as contract from '../probes/contract.ts';
import { keepPlace, type NamedPlace, placesOf, regionFrom } from '../probes/places.ts';
import {
  countPrivateProbes,
  isProbeAlive,
  isProbeNameTaken,
  type NamedProbe,
} from '../probes/queries.ts';
import { isTokenText, newTokenText, shownPart } from '../tokens/authenticate.ts';
import {
  type InvitationRow,
  insertProbeInvitation,
  invitationState,
  keepInvitedPlace,
  lockProbeInvitation,
  probeInvitations,
  revokeProbeInvitation as revokeRow,
  spendProbeInvitation,
} from './queries.ts';

/** A token, a key and a proof take a few hundred bytes. */
const maxBodyBytes = 8 * 1024;
const json = 'application/json; charset=utf-8';

/**
 * Where a host applies to be a probe: `antipode-probe.mjs join`. It authenticates with a join token
 * and nothing else.
 */
export function enrolmentRoute(
  app: FastifyInstance,
  {
    execute,
    log,
  }: { readonly execute: Gate['executeForVisitor']; readonly log: Pick<Log, 'error'> },
): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: maxBodyBytes },
      (_request, body, done) => done(null, body),
    );
    scope.setErrorHandler((error, _request, reply) => {
      const answer = answerOf(error);
      if (answer.hidden)
        log.error(
          { err: answer.hidden.error, request_id: answer.hidden.request_id },
          'could not enrol a host',
        );
      return reply
        .code(answer.status)
        .headers(answer.headers)
        .type(json)
        .header('cache-control', 'no-store')
        .send(answer.body);
    });
    scope.post('/enrol', async (request, reply) => {
      const body = readBody(
        Buffer.isBuffer(request.body) ? request.body : undefined,
        'application/json',
      );
      const visitor = { address: request.ip, device: request.headers['user-agent'] ?? '' };
      const answered = await execute(
        contract.enrolProbe,
        visitor,
        rawInput(contract.enrolProbe, body),
      );
      return reply.type(json).header('cache-control', 'no-store').send(answered.body);
    });
  });
}

/**
 * From one host within a quarter of an hour: enough to set up many behind one address, far too few
 * to guess a token.
 */
const maxTries = 60;

export const enrolProbe = handle(contract.enrolProbe)({
  /** What can be counted and refused without a transaction. */
  before: async ({ visitor, with: { attempts, accountSecrets } }, { token }) => {
    await attempts.count([{ what: `join tokens from ${hostOf(visitor.address)}`, most: maxTries }]);
    if (!isTokenText(token, 'join')) throw invalid();
    return accountSecrets.fingerprint('join token', token);
  },
  /**
   * One transaction: the token is spent, the probe exists, and its key may enter the bus; or
   * nothing happens. A host that was killed before the answer asks again with the same key, and
   * gets the same answer.
   *
   * A token is spent by one key, permanently; that key may ask again.
   */
  act: async (
    { sql, now, note, with: { probes, baseUrl } },
    { token, key, proof },
    fingerprint,
  ) => {
    if (!probes.isEnrolmentProof(key, proof, token))
      throw new Refusal('join_proof_invalid', {
        proof:
          'is not the token signed with the key; get the present antipode-probe.mjs and try again.',
      });
    const row = await lockProbeInvitation(sql, fingerprint);
    if (!row) throw invalid();
    const { name, continent, organisation_id: organisation } = row;
    const of = { name, continent, organisation };
    const answer = async (probe: string, as = of) => ({
      probe,
      ...as,
      base_url: baseUrl(),
      now,
      ...probes.welcome(probe, as, key),
    });
    if (row.probe_id !== null) {
      if (row.used_key !== key)
        throw new Refusal('join_token_used', {
          token:
            'another host has used it already. If that was not you, end that probe at once; then ask for a new token.',
        });
      if (!(await isProbeAlive(sql, row.probe_id, key))) throw invalid();
      const known = await invitationState(sql, key);
      return known === undefined || known === 'ended'
        ? answer(row.probe_id)
        : answer(row.probe_id, withoutId(known));
    }
    if (row.expires_at <= now)
      throw new Refusal('join_token_expired', {
        token: 'was good for an hour, which is over; ask for a new one.',
      });
    await refuseIfEnding(sql, organisation);
    const was = await invitationState(sql, key);
    if (was === 'ended')
      throw new Refusal('join_proof_invalid', {
        key: 'the probe that this host was is ended for good; join in an empty folder, with --data.',
      });
    if (was !== undefined) {
      // It was off until its credentials expired, and is the same probe again.
      const [id, as] = [was.id, withoutId(was)];
      const isElsewhere =
        (row.place_id !== null && row.place_id !== was.place_id) ||
        (row.region !== null && row.region !== was.region);
      if (as.continent !== continent || as.organisation !== organisation || isElsewhere)
        throw new Refusal('join_proof_invalid', {
          key: `this host is the probe ${as.name} in ${as.continent} already; ask for a token for the same place, or join in an empty folder, with --data.`,
        });
      await spendProbeInvitation(sql, row.id, { key, probe: id, at: now });
      note({
        ...(organisation === null ? {} : { organisation }),
        after: { probe: id, name: as.name, continent, begins: row.shown },
      });
      return answer(id, as);
    }
    const { id } = await probes.enrolProbe(
      sql,
      { ...of, place: row.place_id, region: row.region },
      key,
    );
    await spendProbeInvitation(sql, row.id, { key, probe: id, at: now });
    note({
      ...(organisation === null ? {} : { organisation }),
      after: { probe: id, name, continent, begins: row.shown },
    });
    return answer(id);
  },
});

function invalid(): Refusal {
  return new Refusal('join_token_invalid', {
    token:
      'is no join token of this service, or was taken back; ask for a new one, and copy it whole.',
  });
}

function withoutId({ name, continent, organisation }: NamedProbe): NamedProbe {
  return {
    name,
    continent,
    organisation,
  };
}

/** Its token is valid again if the organisation is kept. */
async function refuseIfEnding(sql: Queryable, organisation: string | null): Promise<void> {
  const owner = organisation === null ? undefined : await organisationById(sql, organisation);
  if (owner) refuseWhileEnding(owner, contract.enrolProbe);
}

/**
 * A private one. The organisation is locked, so that two invitations do not both take the last
 * place of the plan.
 */
export const inviteProbe = handle(api.inviteProbe)(async (context, input) => {
  const { sql, organisation, now } = context;
  enforceLimit(
    'private_probes',
    organisation.plan,
    await countPrivateProbes(sql, organisation.id, now),
  );
  const { place } = input;
  const joins = place === null ? null : await placeCalled(sql, organisation.id, place, now);
  return inviteInto(context, organisation.id, input, joins);
});

/** By its id or its name. */
async function placeCalled(
  sql: Queryable,
  organisation: string,
  called: string,
  now: number,
): Promise<NamedPlace> {
  const places = await placesOf(sql, organisation);
  const found =
    places.find(({ id }) => id === called.toLowerCase()) ??
    places.find(({ name }) => name === called.trim());
  if (found) {
    await keepPlace(sql, organisation, found);
    return found;
  }
  const invited = await keepInvitedPlace(sql, organisation, called.trim(), now);
  if (invited) return invited;
  const known = places.map(({ name }) => `"${name}"`).join(', ');
  throw new Refusal('place_unknown', {
    place: `there is no place "${called.slice(0, 200)}" and no open invitation of that name; ${known === '' ? 'leave it out: you have no private probe yet' : `you have ${known}`}.`,
  });
}

/** How long a join token is valid. */
const livesMs = 3_600_000;

async function inviteInto(
  { sql, now, note, with: { accountSecrets, baseUrl } }: Context,
  organisation: string | null,
  input: {
    readonly name: string;
    readonly continent: string | null;
    readonly region?: string | null;
  },
  joins: NamedPlace | null = null,
) {
  const name = nameFrom(input.name);
  const region = regionFrom(input.region ?? null);
  const continent = continentFrom(input.continent, joins);
  if (await isProbeNameTaken(sql, organisation, name, now))
    throw new Refusal('name_taken', {
      name: `there is a probe or an invitation "${name}" already; choose another name.`,
    });
  const [id, token] = [newId(), newTokenText('join')];
  const fingerprint = await accountSecrets.fingerprint('join token', token);
  const row = {
    id,
    name,
    continent,
    region,
    place_id: joins?.id ?? null,
    shown: shownPart(token),
    created_at: now,
    expires_at: now + livesMs,
  };
  await insertProbeInvitation(sql, { ...row, organisation, fingerprint });
  note({
    after: { name, continent, region, begins: row.shown, expires_at: isoText(row.expires_at) },
  });
  const made = {
    ...row,
    key: 0,
    organisation_id: organisation,
    used_at: null,
    used_key: null,
    probe_id: null,
    last_seen_at: null,
  };
  const url = baseUrl();
  const command = `curl -fsSO ${url}/downloads/antipode-probe.mjs && node antipode-probe.mjs join ${url} ${token}`;
  return { ...invitationJson(now)(made), token, command };
}

function continentFrom(given: string | null, joins: NamedPlace | null): Continent {
  if (joins && (given === null || given === joins.continent)) return joins.continent;
  if (joins)
    throw new Refusal('continent_unknown', {
      continent: `the place "${joins.name}" is in ${joins.continent}; leave it out, or join another place.`,
    });
  if (given !== null && isContinent(given)) return given;
  throw new Refusal('continent_unknown', {
    continent:
      given === null
        ? 'is missing; say on which continent the probe is, or which place it joins.'
        : `must be one of ${continents.join(', ')}.`,
  });
}

function invitationJson(now: number) {
  return (row: InvitationRow) => ({
    ...row,
    place: row.place_id,
    state: stateOf(row, now),
    probe: row.probe_id,
  });
}

function stateOf({ used_at, expires_at }: InvitationRow, now: number): 'open' | 'used' | 'expired' {
  if (used_at !== null) return 'used';
  return expires_at <= now ? 'expired' : 'open';
}

export const invitePublicProbe = handle(contract.invitePublicProbe)((context, input) =>
  inviteInto(context, null, input),
);

export const listProbeInvitations = handle(api.listProbeInvitations)(
  async ({ sql, organisation, now, with: { cursors } }, input) =>
    pageOf(
      cursors,
      ['probe invitations', organisation.id],
      input,
      (from, limit) =>
        probeInvitations(sql, { organisation: organisation.id }, from ?? afterAll, limit),
      invitationJson(now),
    ),
);

/** As many as anyone reads. */
const maxListed = 200;

export const listAllProbeInvitations = handle(contract.listAllProbeInvitations)(
  async ({ sql, now }) => {
    const rows = await probeInvitations(sql, 'all', afterAll, maxListed);
    return {
      items: rows.map((row) => ({
        ...invitationJson(now)(row),
        organisation: row.organisation_id,
      })),
    };
  },
);

export const revokeProbeInvitation = handle(api.revokeProbeInvitation)(
  async ({ sql, organisation, now }, { probe_invitation_id: id }) => {
    if (!(await revokeRow(sql, { organisation: organisation.id }, id, now)))
      throw notFound('invitation_not_found');
  },
);

export const revokeAnyProbeInvitation = handle(contract.revokeAnyProbeInvitation)(
  async ({ sql, now }, { probe_invitation_id: id }) => {
    if (!(await revokeRow(sql, 'all', id, now))) throw notFound('invitation_not_found');
    return { id };
  },
);
