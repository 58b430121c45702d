import type { beginPasskeySignIn as beginOperation, signInByPasskey as signInOperation } from '../../../shared/api/inner/inner-passkeys.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { hostOf } from '../../access/access-attempts.ts';
import { requestOptions } from '../../access/access-passkeys.ts';
import { beginSession } from '../operation-begin-session.ts';
import type { Answer, AtTheDoor, ByVisitor, Early } from '../operation-context.ts';
import { askPasskey, placeOf, type Signed, signedPasskey, takeSigned } from '../operation-passkey-answers.ts';

/** Nobody guesses a signature; but what is asked is kept until it is answered, and nobody is to fill the house with it. */
const beforeBegin = ({ visitor, with: { attempts } }: Early<AtTheDoor>): Promise<void> =>
  attempts.count([{ what: `passkeys from ${hostOf(visitor.address)}`, most: 60 }]);

const actBegin = async (context: ByVisitor): Answer<OutputOf<typeof beginOperation>> => {
  const place = placeOf(context.with);
  const challenge = await askPasskey(context.sql, context.with, { purpose: 'sign in', user: null, now: context.now });
  return { options: await requestOptions({ place, challenge }) };
};

export const beginPasskeySignIn = { before: beforeBegin, act: actBegin };

const before = ({ pool, with: instruments }: Early<AtTheDoor>, { answer }: InputOf<typeof signInOperation>): Promise<Signed> =>
  signedPasskey(pool, instruments, answer);

const act = async (
  context: ByVisitor,
  _input: InputOf<typeof signInOperation>,
  signed: Signed,
): Answer<OutputOf<typeof signInOperation>> => {
  await takeSigned(context, signed, { purpose: 'sign in', user: null });
  context.note({ after: { passkey: signed.passkey.name } });
  return { session: await beginSession(context, signed.passkey.user_id) };
};

export const signInByPasskey = { before, act };
