import * as api from '../../shared/api/ping-keys.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import {
  creatingFingerprint,
  newPingKey,
  pingFingerprint,
} from '../../shared/checks/heartbeat/config.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, notFound, orNotFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import {
  countPingKeys,
  endPingKeyAt,
  insertPingKey,
  type PingKeyEntry,
  pingKeyById,
  pingKeyPage,
} from './ping-key-queries.ts';

/** Each has an address for every named heartbeat, and every ping receiver holds all of them. */
const mostInForce = 10;
/** More than a scanner needs to know it by, and no help for guessing. */
const shownLength = 8;

export const createPingKey = handle(api.createPingKey)((context, { name }) =>
  makePingKey(context, nameFrom(name)),
);

export const listPingKeys = handle(api.listPingKeys)(
  ({ sql, organisation, now, with: { cursors } }, input) =>
    pageOf(
      cursors,
      ['ping keys', organisation.id],
      input,
      (from, limit) => pingKeyPage(sql, organisation.id, from ?? afterAll, limit),
      (row) => pingKeyJson(row, now),
    ),
);

export const rotatePingKey = handle(api.rotatePingKey)(
  async (context, { ping_key_id: id, overlap_s }) => {
    const { sql, organisation, now } = context;
    const before = await inForce(context, id);
    await endPingKeyAt(sql, organisation.id, id, now + overlap_s * 1_000);
    return makePingKey(context, before.name);
  },
);

export const endPingKey = handle(api.endPingKey)(async (context, { ping_key_id: id }) => {
  const { sql, organisation, now, note } = context;
  const { name, shown } = await inForce(context, id);
  note({ before: { name, begins: shown } });
  await endPingKeyAt(sql, organisation.id, id, now);
});

async function inForce(
  { sql, organisation, now }: InOrganisation,
  id: string,
): Promise<PingKeyEntry> {
  const row = orNotFound(await pingKeyById(sql, organisation.id, id), 'ping_key_not_found');
  if (isOver(row, now)) throw notFound('ping_key_not_found');
  return row;
}

async function makePingKey(
  { sql, organisation, now, note, with: { baseUrl } }: InOrganisation,
  name: string,
) {
  if ((await countPingKeys(sql, organisation.id, now)) >= mostInForce)
    throw new Refusal(
      'ping_keys_full',
      `${mostInForce} ping keys are in force, which is the most; end one first.`,
    );
  const key = newPingKey();
  const fingerprint = pingFingerprint(key);
  const made = { id: newId(), name, shown: key.slice(0, shownLength), created_at: now };
  await insertPingKey(sql, organisation.id, {
    ...made,
    fingerprint,
    creating: creatingFingerprint(fingerprint),
  });
  note({ after: { name, begins: made.shown } });
  return {
    ...pingKeyJson({ ...made, until: null }, now),
    key,
    address: `${baseUrl()}/beat/${key}/EXTERNAL_ID`,
  };
}

function isOver({ until }: Pick<PingKeyEntry, 'until'>, now: number): boolean {
  return until !== null && until <= now;
}

function pingKeyJson(row: Omit<PingKeyEntry, 'key'>, now: number) {
  return { ...row, over: isOver(row, now) };
}
