import type { beginProof as beginOperation, proveByPasskey as proveOperation } from '../../../shared/api/inner/inner-passkeys.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { requestOptions } from '../../access/access-passkeys.ts';
import { passkeysOf } from '../../store/store-passkeys.ts';
import { writeProven } from '../../store/store-sessions.ts';
import type { Answer, ByPerson, Early, Oneself } from '../operation-context.ts';
import { askPasskey, placeOf, type Signed, signedPasskey, takeSigned, unknownPasskey } from '../operation-passkey-answers.ts';

export const beginProof = async (context: ByPerson): Answer<OutputOf<typeof beginOperation>> => {
  const { sql, now, person } = context;
  const place = placeOf(context.with);
  const own = await passkeysOf(sql, person.user);
  if (own.length === 0) throw unknownPasskey();
  const challenge = await askPasskey(sql, context.with, { purpose: 'prove', user: person.user, now });
  return { options: await requestOptions({ place, challenge }, own) };
};

/** Somebody else's passkey proves nothing about who signed in here. */
const before = async ({ pool, person, with: instruments }: Early<Oneself>, { answer }: InputOf<typeof proveOperation>): Promise<Signed> => {
  const signed = await signedPasskey(pool, instruments, answer);
  if (signed.passkey.user_id !== person.user) throw unknownPasskey();
  return signed;
};

const act = async (context: ByPerson, _input: InputOf<typeof proveOperation>, signed: Signed): Answer<OutputOf<typeof proveOperation>> => {
  const { sql, now, note, person } = context;
  await takeSigned(context, signed, { purpose: 'prove', user: person.user });
  await writeProven(sql, person.session, new Date(now));
  note({ after: { passkey: signed.passkey.name } });
  return { proven: true };
};

export const proveByPasskey = { before, act };
