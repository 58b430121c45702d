import { enrolProbe as operation } from '../../../shared/api/inner/inner-probes.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { hostOf } from '../../access/access-attempts.ts';
import { isTokenText } from '../../access/access-token-text.ts';
import type { Queryable } from '../../store/store-database.ts';
import { organisationById } from '../../store/store-organisations.ts';
import { lockProbeInvitation, spendProbeInvitation } from '../../store/store-probe-invitations.ts';
import { isProbeAlive, type NamedProbe, standingOfKey } from '../../store/store-probes.ts';
import type { Answer, AtTheDoor, ByVisitor, Early } from '../operation-context.ts';
import { refuseWhileEnding } from '../operation-who-may.ts';

/** From one host within a quarter of an hour: enough for whoever sets up many behind one address, far from what guessing needs. */
const mostTries = 60;

const invalid = (): Refusal =>
  new Refusal('join_token_invalid', 'token: is no join token of this service, or was taken back; ask for a new one, and copy it whole.');

/** What can be counted and refused without a transaction. */
const before = async (
  { visitor, with: { attempts, accountSecrets } }: Early<AtTheDoor>,
  { token }: InputOf<typeof operation>,
): Promise<Buffer> => {
  await attempts.count([{ what: `join tokens from ${hostOf(visitor.address)}`, most: mostTries }]);
  if (!isTokenText(token, 'join')) throw invalid();
  return accountSecrets.fingerprint('join token', token);
};

const withoutId = ({ name, continent, organisation }: NamedProbe): NamedProbe => ({ name, continent, organisation });

/** Its token is good again when the organisation is kept. */
const refuseIfEnding = async (sql: Queryable, organisation: string | null): Promise<void> => {
  const owner = organisation === null ? undefined : await organisationById(sql, organisation);
  if (owner) refuseWhileEnding(owner, operation);
};

/**
 * One transaction: the token is spent, the probe is there, and its key may enter the bus; or nothing of it. A host that was killed before it heard
 * the answer asks again with the same key, and is told the same.
 *
 * Modes of a token: `open` → `spent` by one key (for good; that key may ask again) or `expired` or taken back.
 */
const act = async (
  { sql, now, note, with: { probes, baseUrl } }: ByVisitor,
  { token, key, proof }: InputOf<typeof operation>,
  fingerprint: Buffer,
): Answer<OutputOf<typeof operation>> => {
  if (!probes.isEnrolmentProof(key, proof, token))
    throw new Refusal(
      'join_proof_invalid',
      'proof: is not the token signed with the key; get the present antipode-probe.mjs and try again.',
    );
  const row = await lockProbeInvitation(sql, fingerprint);
  if (!row) throw invalid();
  const { name, continent, organisation_id: organisation } = row;
  const of = { name, continent, organisation };
  const answer = async (probe: string, as = of) => ({
    ...{ probe, ...as, base_url: baseUrl(), now },
    ...(await probes.welcome(sql, probe, as, key)),
  });
  if (row.probe_id !== null) {
    if (row.used_key !== key)
      throw new Refusal(
        'join_token_used',
        'token: another host has used it already. If that was not you, end that probe at once; then ask for a new token.',
      );
    if (!(await isProbeAlive(sql, row.probe_id, key))) throw invalid();
    const known = await standingOfKey(sql, key);
    return known === undefined || known === 'ended' ? answer(row.probe_id) : answer(row.probe_id, withoutId(known));
  }
  if (row.expires_at.getTime() <= now)
    throw new Refusal('join_token_expired', 'token: was good for an hour, which is over; ask for a new one.');
  await refuseIfEnding(sql, organisation);
  const was = await standingOfKey(sql, key);
  if (was === 'ended')
    throw new Refusal('join_proof_invalid', 'key: the probe that this host was is ended for good; join in an empty folder, with --data.');
  if (was !== undefined) {
    // It was off for so long that its credentials ended, and is itself again.
    const [id, as] = [was.id, withoutId(was)];
    if (as.continent !== continent || as.organisation !== organisation)
      throw new Refusal(
        'join_proof_invalid',
        `key: this host is the probe ${as.name} in ${as.continent} already; ask for a token for the same place, or join in an empty folder, with --data.`,
      );
    await spendProbeInvitation(sql, row.id, { key, probe: id, at: new Date(now) });
    note({ ...(organisation === null ? {} : { organisation }), after: { probe: id, name: as.name, continent, begins: row.shown } });
    return answer(id, as);
  }
  const { id } = await probes.enrolProbe(sql, of, key);
  await spendProbeInvitation(sql, row.id, { key, probe: id, at: new Date(now) });
  note({ ...(organisation === null ? {} : { organisation }), after: { probe: id, name, continent, begins: row.shown } });
  return answer(id);
};

export const enrolProbe = { before, act };
