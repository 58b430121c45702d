import type {
  addPasskey as addOperation,
  beginPasskey as beginOperation,
  listPasskeys as listOperation,
  removePasskey as removeOperation,
} from '../../../shared/api/inner/inner-passkeys.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { createdPasskey, creationOptions } from '../../access/access-passkeys.ts';
import { deviceOf } from '../../domain/browser-name.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { passkeyPlace } from '../../domain/passkey-place.ts';
import { postMail } from '../../store/store-mails.ts';
import { deletePasskey, insertPasskey, passkeysOf } from '../../store/store-passkeys.ts';
import type { Answer, ByPerson, Early, Oneself } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { askPasskey, placeOf, takeAnswer } from '../operation-passkey-answers.ts';

export const listPasskeys = async ({ sql, person, with: { baseUrl } }: ByPerson): Answer<OutputOf<typeof listOperation>> => ({
  items: (await passkeysOf(sql, person.user)).map(({ id, name, is_synced, created_at, last_used_at }) => ({
    ...{ id, name, is_synced },
    ...{ created_at: created_at.toISOString(), last_used_at: last_used_at?.toISOString() ?? null },
  })),
  origin: passkeyPlace(baseUrl())?.origin ?? null,
  suggested_name: deviceOf(person.from.device),
});

export const beginPasskey = async (context: ByPerson): Answer<OutputOf<typeof beginOperation>> => {
  const { sql, now, person } = context;
  const place = placeOf(context.with);
  const known = await passkeysOf(sql, person.user);
  const challenge = await askPasskey(sql, context.with, { purpose: 'add', user: person.user, now });
  return { options: await creationOptions({ place, challenge }, { ...person, id: person.user }, known) };
};

const before = async ({ with: instruments }: Early<Oneself>, { name, answer }: InputOf<typeof addOperation>) => {
  const place = placeOf(instruments);
  return { name: nameFrom(name), made: await createdPasskey(place, answer) };
};

const act = async (
  context: ByPerson,
  _input: InputOf<typeof addOperation>,
  { name, made }: Awaited<ReturnType<typeof before>>,
): Answer<OutputOf<typeof addOperation>> => {
  const { sql, now, note, person, with: instruments } = context;
  const { user } = person;
  const { challenge, ...passkey } = made;
  await takeAnswer(context, challenge, { purpose: 'add', user });
  const id = newId();
  if (!(await insertPasskey(sql, { ...passkey, id, name, user_id: user, created_at: new Date(now) })))
    throw new Refusal('passkey_refused', 'This passkey is kept already.');
  const about = { what: 'passkey-added', detail: '' } as const;
  if (instruments.door.mail) await postMail(sql, { kind: 'notice', recipient: person.email, about, at: new Date(now) });
  note({ after: { passkey: name } });
  return { id, name };
};

export const addPasskey = { before, act };

export const removePasskey = async (
  { sql, note, person }: ByPerson,
  { passkey_id: id }: InputOf<typeof removeOperation>,
): Answer<OutputOf<typeof removeOperation>> => {
  const name = found(await deletePasskey(sql, person.user, id), 'passkey_not_found');
  note({ before: { passkey: name } });
  return { id, name };
};
