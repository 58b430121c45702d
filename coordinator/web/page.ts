import type { InputOf, Operation, OutputOf } from '../../shared/api/operation.ts';
import type { Consents } from '../assistants/oauth-routes.ts';
import type { AnonymousCaller, Caller } from '../gate/caller.ts';
import type { Asked } from '../gate/roles.ts';
import type { ServiceRecordRow } from '../health/service-record.ts';
import type { Shares } from '../incidents/shared-link.ts';
import type { SignedIn } from '../people/sessions.ts';
import { cookie, cookieOf } from './cookies.ts';
import type { Form } from './form-data.ts';
import type { Html } from './html.ts';
import { isZone, type Times } from './times.ts';

/** Where the account's pages are. A stranger is sent to the sign-in from all of them, whether there is such a page or not: what is there is no stranger's business. */
const folders = [
  ...['monitors', 'incidents', 'maintenance', 'groups', 'status-pages', 'probes', 'alerts', 'members', 'tokens', 'organisation'],
  ...['audit', 'profile', 'organisations', 'confirm', 'search'],
];

export const isAccountPath = (url: string): boolean => folders.includes(url.split(/[/?#]/)[1] ?? '');

/** What pages need besides operations, as functions that app.ts hands in: who adds a page that needs one adds it here. */
export type PageDependencies = {
  /** Where people reach the service, without a slash at the end. */
  readonly baseUrl: () => string;
  /** What a share link shows; undefined when it was ended, or never was. */
  readonly readShare: Shares['read'];
  /** How well the house did; undefined for whom it is not open. */
  readonly ownRecord: (isSignedIn: boolean) => ServiceRecordRow | undefined;
  /** Assistants that ask to be let in. */
  readonly consents: Consents;
};

/** How a reader wants pages to look, kept in their browser. */

export const themes = ['light', 'dark'] as const;
/** Undefined: as their machine has it. */
export type Theme = (typeof themes)[number] | undefined;

const [zoneName, themeName] = ['zone', 'theme'];

/** The zone that they chose, if they chose one. */
export const zoneFrom = (cookies: string | undefined): string | undefined => {
  const zone = cookieOf(cookies, zoneName);
  return zone !== undefined && isZone(zone) ? zone : undefined;
};

export const themeFrom = (cookies: string | undefined): Theme => themes.find((theme) => theme === cookieOf(cookies, themeName));

/** The cookies that keep what was chosen; an empty choice is taken back. */
export const keptChoices = (
  { zone, theme }: { readonly zone: string | undefined; readonly theme: string | undefined },
  secure: boolean,
): readonly string[] => [
  ...(zone === undefined || (zone !== '' && !isZone(zone))
    ? []
    : [cookie(zoneName, zone, { secure, ...(zone === '' ? { seconds: 0 } : {}) })]),
  ...(theme === undefined ? [] : [cookie(themeName, theme, { secure, ...(themes.some((each) => each === theme) ? {} : { seconds: 0 }) })]),
];

/** What a page is given. */
export type PageRequest = {
  /** What stands in the place of `:name` in its path. */
  readonly path: Readonly<Record<string, string>>;
  /** The query; of several with one name the last. */
  readonly query: Readonly<Record<string, string>>;
  readonly form: Form;
  /** The bytes of a file that a form carried: of a page that `takesFile`. */
  readonly file: (name: string) => Promise<Uint8Array | undefined>;
  /** Path and query as they were asked for. */
  readonly address: string;
  readonly times: Times;
  readonly theme: Theme;
  readonly now: number;
  /** Where it comes from. */
  readonly from: AnonymousCaller;
  /** All cookies, as they came. */
  readonly cookies: string | undefined;
  /** The browser fetches it in advance: nobody has asked for it yet, so nothing may come of it. */
  readonly isPrefetch: boolean;
  /** A person went here: they clicked, or typed the address. No program that looks ahead, and no page that loads this one by itself. */
  readonly isByPerson: boolean;
  /** What pages need besides operations. */
  readonly with: PageDependencies;
};

/** Asks an operation, through the same gate as the API: flat arguments, and its typed answer. @throws Refusal, InvalidInput. */
export type Ask = <Op extends Operation>(
  operation: Op,
  input?: Partial<Record<keyof InputOf<Op> & string, unknown>>,
) => Promise<OutputOf<Op>>;

/** Of a page that is for everybody. `askAsVisitor`: for what is done by somebody who is not signed in. */
export type OpenRequest = PageRequest & { readonly signedIn: SignedIn | undefined; readonly askAsVisitor: Ask };

/** Of somebody who is signed in, also without any organisation. `askOwn`: for what is a person's own. */
export type PersonsRequest = PageRequest & { readonly signedIn: SignedIn; readonly askOwn: Ask };

/** Of an operator. `askHouse`: for what an operator may ask of the installation. */
export type OperatorsRequest = PersonsRequest & { readonly askHouse: Ask };

export type MembersRequest = PersonsRequest & {
  readonly caller: Caller;
  readonly ask: Ask;
  /** Whether this person may do it: what they may not is left out of the page, or explained. */
  readonly may: (asked: Asked) => boolean;
};

/** The places of the rail, and what has none there. */
export type Place =
  | 'monitors'
  | 'incidents'
  | 'maintenance'
  | 'groups'
  | 'status-pages'
  | 'alerts'
  | 'probes'
  | 'members'
  | 'tokens'
  | 'organisation'
  | 'profile'
  | 'operator';

/** A page to look at. */
export type Shown = {
  readonly is: 'shown';
  /** Begins with what changed: "Down: Checkout". The name of the service is put behind it. */
  readonly title: string;
  readonly main: Html;
  /** What stands below it, sent as it comes: the page is there before it is whole. */
  readonly later?: { readonly pieces: AsyncIterable<Html> /** Ends what the pieces began, when they fail. */; readonly broken: () => Html };
  readonly place?: Place | undefined;
  readonly status?: number;
  /** It fetches itself again when something changes in the organisation; or this page instead of itself, where it answers a form. */
  readonly live?: boolean | string;
  /** It has a form that a passkey answers. */
  readonly passkeys?: boolean;
  /** It has the form by which its browser is told. */
  readonly push?: boolean;
  /** `bare`: one card in the middle, without the rail, as before somebody has come in. */
  readonly frame?: 'whole' | 'bare';
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
};

/** After a change: where to look next, and a sentence that is shown there once. */
export type SeeOther = {
  readonly is: 'see-other';
  readonly to: string;
  readonly said?: string | undefined;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
};

/** Anything that is not a page: a feed, a picture, a list to keep. */
export type Sent = {
  readonly is: 'sent';
  readonly status?: number;
  readonly type: string;
  /** What comes in pieces is sent as it comes; when they fail, the connection is cut, so that nobody takes a part for the whole. */
  readonly body: string | Uint8Array | AsyncIterable<string>;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
};

export type PageAnswer = Shown | SeeOther | Sent;

export const show = (shown: Omit<Shown, 'is'>): Shown => ({ is: 'shown', ...shown });
export const seeOther = (to: string, more: Omit<SeeOther, 'is' | 'to'> = {}): SeeOther => ({ is: 'see-other', to, ...more });
export const send = (sent: Omit<Sent, 'is'>): Sent => ({ is: 'sent', ...sent });

type Route = {
  readonly method: 'GET' | 'POST';
  /** As the router writes it: `/monitors/:monitor_id`. */
  readonly path: string;
  /** Its form carries a file, as `multipart/form-data`. */
  readonly takesFile?: true;
};

/** A page: one file, and one row in pages/page-index.ts. A page that needs a person or a member sends strangers to the sign-in. */
export type Page =
  | (Route & {
      readonly needs: 'member';
      readonly answer: (request: MembersRequest) => Promise<PageAnswer> | PageAnswer;
      /** What a stranger sees in its place. */
      readonly stranger?: (request: PageRequest) => Promise<PageAnswer> | PageAnswer;
    })
  | (Route & { readonly needs: 'person'; readonly answer: (request: PersonsRequest) => Promise<PageAnswer> | PageAnswer })
  /** To anybody else, signed in or not, there is no such page. */
  | (Route & { readonly needs: 'operator'; readonly answer: (request: OperatorsRequest) => Promise<PageAnswer> | PageAnswer })
  | (Route & {
      readonly needs: 'nobody';
      /** What it does is proven by its address alone, never by a session: mail services and phones post there, too. */
      readonly fromAnywhere?: true;
      readonly answer: (request: OpenRequest) => Promise<PageAnswer> | PageAnswer;
    });
