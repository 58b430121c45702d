import type {
  showDoor as showDoorOperation,
  showInvitation as showInvitationOperation,
  showLink as showLinkOperation,
} from '../../../shared/api/inner/inner-signing-up.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { passkeyPlace } from '../../domain/passkey-place.ts';
import { invitationBy, lookAtLink, signUpBy } from '../../store/store-mailed-links.ts';
import { hasOwner } from '../../store/store-users.ts';
import type { Answer, ByVisitor } from '../operation-context.ts';
import { deadLink } from '../operation-dead-link.ts';

export const showLink = async (
  { sql, now, with: { accountSecrets } }: ByVisitor,
  { kind, secret }: InputOf<typeof showLinkOperation>,
): Answer<OutputOf<typeof showLinkOperation>> => {
  const [fingerprint, at] = [await accountSecrets.fingerprint(kind, secret), new Date(now)];
  const waiting = kind === 'sign-up' ? await signUpBy(sql, fingerprint, at) : undefined;
  const email = waiting?.email ?? (await lookAtLink(sql, kind, fingerprint, at)) ?? null;
  return { email, name: waiting?.name ?? null, organisation: waiting?.organisation ?? null };
};

export const showInvitation = async (
  { sql, now, with: { accountSecrets } }: ByVisitor,
  { secret }: InputOf<typeof showInvitationOperation>,
): Answer<OutputOf<typeof showInvitationOperation>> => {
  const invitation = await invitationBy(sql, await accountSecrets.fingerprint('invitation', secret), new Date(now));
  if (!invitation) throw deadLink();
  const { organisation, role, inviter } = invitation;
  return { organisation, role, inviter };
};

export const showDoor = async ({ sql, with: { baseUrl, door } }: ByVisitor): Answer<OutputOf<typeof showDoorOperation>> => ({
  sign_up: door.signUp === 'open' && door.mail && (await hasOwner(sql)) ? 'open' : 'invited',
  mail: door.mail,
  passkeys: passkeyPlace(baseUrl())?.origin ?? null,
});
