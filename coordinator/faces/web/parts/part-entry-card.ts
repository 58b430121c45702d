import { Refusal } from '../../../../shared/base/errors.ts';
import { setSessionCookie } from '../../../access/access-session-cookie.ts';
import { isProvenNow } from '../../../operations/operation-who-may.ts';
import { checkField, type FormState } from '../web-forms.ts';
import { type Html, html, type Part } from '../web-html.ts';
import { linkButton } from '../web-layout.ts';
import { type PageAnswer, type PageRequest, type PersonsRequest, type SeeOther, type Shown, seeOther, show } from '../web-page.ts';

/** One card in the middle, as before somebody has come in. */
export const entryCard = (sentence: Part, ...parts: readonly Part[]): Html =>
  html`<div class="card entry"><h1>${sentence}</h1>${parts}</div>`;

export const entryPage = (title: string, main: Html, more: Pick<Shown, 'status' | 'headers' | 'passkeys'> = {}): Shown =>
  show({ title, frame: 'bare', main, ...more });

/** Where somebody wanted to go: an address of ours, or the front. */
export const nextOf = (next: string | undefined): string => (next !== undefined && /^\/(?![/\\])/.test(next) ? next : '/');

/** What a new password ends besides sessions, if its owner says so. */
export const alsoEnded = (state: FormState): Html =>
  html`${checkField({ name: 'end_tokens', label: 'Also revoke all my API tokens', state })}${checkField({ name: 'end_passkeys', label: 'Also remove all my passkeys', state })}${checkField({ name: 'end_assistants', label: 'Also disconnect all my assistants', help: 'Tick these if someone else may have used your account. What is not ticked stays valid.', state })}`;

export const isSecure = ({ with: { baseUrl } }: PageRequest): boolean => baseUrl().startsWith('https:');

/** Into the house, with a session of one's own. */
export const comeIn = (request: PageRequest, session: string, to: string, said?: string, cookies: readonly string[] = []): SeeOther =>
  seeOther(to, { said, headers: { 'set-cookie': [setSessionCookie(session, isSecure(request)), ...cookies] } });

/** Before a form whose work is dangerous, so that nobody fills it in for nothing; undefined: go on. */
export const proofFirst = ({ signedIn: { person }, now, address }: PersonsRequest): SeeOther | undefined =>
  isProvenNow(person, now) ? undefined : seeOther(`/confirm?next=${encodeURIComponent(address)}`);

/** A link that was used, has ended, or never was: the same page for all three. */
const deadLinkPage = (): Shown =>
  entryPage(
    'Link used',
    entryCard(
      'This link was used already, or has ended.',
      html`<p class="entry-words">A link in a mail is good once, and for a while. Ask for another where you got it.</p>
<p class="actions">${linkButton('/sign-in', 'To the sign-in', { main: true })}</p>`,
    ),
    { status: 404, headers: { 'cache-control': 'no-store' } },
  );

/** What a link leads to, if it is still good. Null says that it is not, as the refusal does. */
export const unlessDead = async (answer: () => Promise<PageAnswer | null>, dead: PageAnswer = deadLinkPage()): Promise<PageAnswer> => {
  try {
    return (await answer()) ?? dead;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'link_invalid') return dead;
    throw error;
  }
};
