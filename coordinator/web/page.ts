import type { InputOf, Operation, OutputOf } from '../../shared/api/operation.ts';
import { deviceZoneName } from '../../shared/base/time.ts';
import type { AnonymousCaller, Caller, SignedIn } from '../gate/caller.ts';
import type { AccessRule } from '../gate/roles.ts';
import { cookie, cookieOf } from './cookies.ts';
import { type Form, noForm } from './form-data.ts';
import { attempt, type FormState, freshForm } from './forms.ts';
import type { Html } from './html.ts';
import { isZone, type Times } from './times.ts';

/**
 * The paths of the account's pages. An anonymous caller is sent to the sign-in from all of them,
 * whether the page exists or not, so that they cannot tell which exist.
 */
const folders = [
  'monitors',
  'incidents',
  'maintenance',
  'reports',
  'groups',
  'status-pages',
  'probes',
  'alerts',
  'members',
  'tokens',
  'organisation',
  'audit',
  'profile',
  'organisations',
  'confirm',
  'search',
  'shortcuts',
];

export function isAccountPath(url: string): boolean {
  return folders.includes(url.split(/[/?#]/)[1] ?? '');
}

/**
 * What pages need besides operations, as functions that app.ts passes in. What a subject's pages need
 * is added in pages.ts.
 */
export interface PageDependencies {
  /** The base URL of the service, without a trailing slash. */
  readonly baseUrl: () => string;
  /** Whether the lists of public probes are there for anyone. */
  readonly identifiesProbes: boolean;
  /** Whether mail is set up here. */
  readonly hasMail: boolean;
  /** Whom to tell of a vulnerability. */
  readonly securityContact: string | undefined;
}

/** The reader's preferences, stored in their browser. */
export const themes = ['light', 'dark'] as const;
/** Undefined: as the system. */
export type Theme = (typeof themes)[number] | undefined;

const [zoneName, themeName] = ['zone', 'theme'];

/** The zone in a cookie: by default the one that was chosen, if any. */
function zoneFrom(cookies: string | undefined, name = zoneName): string | undefined {
  const zone = cookieOf(cookies, name);
  return zone !== undefined && isZone(zone) ? zone : undefined;
}

/** Of the reader's device, once its script has said so. */
export function deviceZoneFrom(cookies: string | undefined): string | undefined {
  return zoneFrom(cookies, deviceZoneName);
}

/** The zone of a reader who chose none: that of the device, and else that of the organisation. */
export function usualZoneOf(cookies: string | undefined, signedIn: SignedIn | undefined): string {
  return deviceZoneFrom(cookies) ?? signedIn?.caller?.organisation.time_zone ?? 'UTC';
}

/** The zone of the times of a reader's pages. */
export function zoneOf(cookies: string | undefined, signedIn: SignedIn | undefined): string {
  return zoneFrom(cookies) ?? usualZoneOf(cookies, signedIn);
}

export function themeFrom(cookies: string | undefined): Theme {
  return themes.find((theme) => theme === cookieOf(cookies, themeName));
}

/** The cookies with the preferences; an empty choice removes its cookie. */
export function keptChoices(
  { zone, theme }: { readonly zone: string | undefined; readonly theme: string | undefined },
  secure: boolean,
): readonly string[] {
  return [
    ...(zone === undefined || (zone !== '' && !isZone(zone))
      ? []
      : [cookie(zoneName, zone, { secure, ...(zone === '' ? { seconds: 0 } : {}) })]),
    ...(theme === undefined
      ? []
      : [
          cookie(themeName, theme, {
            secure,
            ...(themes.some((each) => each === theme) ? {} : { seconds: 0 }),
          }),
        ]),
  ];
}

/** The request as a page gets it. */
export type PageRequest = {
  /** The values of `:name` in its path. */
  readonly path: Readonly<Record<string, string>>;
  /** The query; of several values with one name, the last counts. */
  readonly query: Readonly<Record<string, string>>;
  readonly form: Form;
  /** The bytes of a file of the form, for a page that `takesFile`. */
  readonly file: (name: string) => Promise<Uint8Array | undefined>;
  /** Path and query as requested. */
  readonly address: string;
  readonly times: Times;
  readonly theme: Theme;
  readonly now: number;
  /** Where the request comes from. */
  readonly from: AnonymousCaller;
  /** All cookies, as they came. */
  readonly cookies: string | undefined;
  /** A prefetch by the browser: no one asked for the page yet, so it must have no effect. */
  readonly isPrefetch: boolean;
  /**
   * A person navigated here: they clicked, or typed the address. It is not a prefetching program,
   * nor a page that loads this one by itself.
   */
  readonly isByPerson: boolean;
  readonly with: PageDependencies;
};

/**
 * Calls an operation through the same gate as the API: flat arguments, typed answer. @throws
 * Refusal, InvalidInput.
 */
export type Ask = <Op extends Operation>(
  operation: Op,
  input?: Partial<Record<keyof InputOf<Op> & string, unknown>>,
) => Promise<OutputOf<Op>>;

/** For a public page. `askAsVisitor`: for operations of callers who are not signed in. */
export type PublicRequest = PageRequest & {
  readonly signedIn: SignedIn | undefined;
  readonly askAsVisitor: Ask;
};

/** For a signed-in user, even without any organisation. `askOwn`: for the user's own data. */
export type PersonsRequest = PageRequest & { readonly signedIn: SignedIn; readonly askOwn: Ask };

/** For an operator. `askHouse`: for installation-wide operations. */
export type OperatorsRequest = PersonsRequest & { readonly askHouse: Ask };

export type MembersRequest = PersonsRequest & {
  readonly caller: Caller;
  readonly ask: Ask;
  /** Whether this user may do it: what they may not do is hidden, or explained. */
  readonly may: (asked: AccessRule) => boolean;
};

/** The entries of the navigation, and pages without one. */
export type Section =
  | 'monitors'
  | 'incidents'
  | 'maintenance'
  | 'reports'
  | 'groups'
  | 'status-pages'
  | 'alerts'
  | 'probes'
  | 'members'
  | 'tokens'
  | 'organisation'
  | 'profile'
  | 'search'
  | 'operator';

/** A page to show. */
export type ShownPage = {
  readonly is: 'shown';
  /** Begins with what changed: "Down: Checkout". The name of the service is appended. */
  readonly title: string;
  readonly main: Html;
  /** Content that is sent below it as it comes: the page is shown before it is complete. */
  readonly later?: {
    readonly pieces: AsyncIterable<Html>;
    /** Closes what the pieces opened, when they fail. */
    readonly broken: () => Html;
  };
  readonly place?: Section | undefined;
  readonly status?: number;
  /**
   * The page refreshes itself when something changes in the organisation. The answer of a form does
   * so only from an address that is named here, as its own shows something else.
   */
  readonly live?: boolean | string;
  /** It has a form that a passkey answers. */
  readonly passkeys?: boolean;
  /** It has charts that say what is under the pointer. */
  readonly charts?: boolean;
  /** It has rows that are dragged. */
  readonly drags?: boolean;
  /** It has the form that adds its browser as a channel. */
  readonly push?: boolean;
  /** `bare`: one card in the middle, without navigation, as before signing in. */
  readonly frame?: 'whole' | 'bare';
  /** Browsers keep it, and ask whether it is still the same. */
  readonly isKept?: true;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
};

/** Ends a sentence about something that can be undone, in the cookie that carries it. */
export const undoMark = '\n';

/** After a change: where to redirect, and a sentence that is shown there once. */
export type SeeOther = {
  readonly is: 'see-other';
  readonly to: string;
  readonly said?: string | undefined;
  /** The sentence comes with a button that takes the change back (`/monitors/undo`). */
  readonly mayUndo?: boolean;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
};

/** Anything that is not a page: a feed, an image, a download. */
export type Sent = {
  readonly is: 'sent';
  readonly status?: number;
  readonly type: string;
  /**
   * Content in pieces is sent as it comes; when they fail, the connection is cut, so that no one
   * mistakes a part for the whole.
   */
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array>;
  /** A text that is kept, and asked for again by its tag. */
  readonly isKept?: true;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
};

export type PageAnswer = ShownPage | SeeOther | Sent;

export function show(shown: Omit<ShownPage, 'is'>): ShownPage {
  return { is: 'shown', ...shown };
}

export function seeOther(to: string, more: Omit<SeeOther, 'is' | 'to'> = {}): SeeOther {
  return {
    is: 'see-other',
    to,
    ...more,
  };
}

export function send(sent: Omit<Sent, 'is'>): Sent {
  return { is: 'sent', ...sent };
}

type Route = {
  readonly method: 'GET' | 'POST';
  /** In the router's syntax: `/monitors/:monitor_id`. */
  readonly path: string;
  /** Its form has a file, as `multipart/form-data`. */
  readonly takesFile?: true;
};

/**
 * A page: one file, and one row in coordinator/pages.ts. A page that needs a user or a member
 * redirects anonymous callers to the sign-in.
 */
export type Page =
  | (Route & {
      readonly needs: 'member';
      readonly answer: Answer<MembersRequest>;
      /** Shown to anonymous callers instead. */
      readonly stranger?: Answer<PageRequest>;
    })
  | (Route & { readonly needs: 'person'; readonly answer: Answer<PersonsRequest> })
  /** For anyone else, signed in or not, the page does not exist. */
  | (Route & { readonly needs: 'operator'; readonly answer: Answer<OperatorsRequest> })
  | (Route & {
      readonly needs: 'nobody';
      /**
       * Its address alone authorises it, never a session: mail services and phones post there, too.
       */
      readonly fromAnywhere?: true;
      readonly answer: Answer<PublicRequest>;
    });

type Answered = Promise<PageAnswer> | PageAnswer;
type Answer<Asked> = (request: Asked) => Answered;

/** A form and its act at one path: GET shows it, POST acts, and a refusal shows it again. */
export type FormPage = {
  /** What a GET fills in, if anything, or the page that it shows instead. */
  readonly fresh?: () => Form | PageAnswer | undefined;
  readonly shown: (state: FormState) => Answered;
  /** All fields, so that refusals mark them; others stand above the form. */
  readonly fields?: readonly string[];
  readonly act: () => Promise<PageAnswer>;
};

/**
 * Pages by whom they need: `forMembers.get('/groups', async (request) => …)`. What `form` is given
 * reads first what its page and its act have in common.
 */
export const forMembers = kinds((method, path, answer: Answer<MembersRequest>) => ({
  method,
  path,
  needs: 'member',
  answer,
}));
export const forPersons = kinds((method, path, answer: Answer<PersonsRequest>) => ({
  method,
  path,
  needs: 'person',
  answer,
}));
export const forOperators = kinds((method, path, answer: Answer<OperatorsRequest>) => ({
  method,
  path,
  needs: 'operator',
  answer,
}));
export const forAnyone = kinds((method, path, answer: Answer<PublicRequest>) => ({
  method,
  path,
  needs: 'nobody',
  answer,
}));

function kinds<Asked extends PageRequest>(
  page: (method: Route['method'], path: string, answer: Answer<Asked>) => Page,
) {
  return {
    get: (path: string, answer: Answer<Asked>) => page('GET', path, answer),
    post: (path: string, answer: Answer<Asked>) => page('POST', path, answer),
    form: (path: string, of: (request: Asked) => Promise<FormPage> | FormPage): readonly Page[] => [
      page('GET', path, async (request) => {
        const { fresh, shown } = await of(request);
        const first = fresh?.() ?? noForm;
        return 'is' in first ? first : shown(freshForm(first));
      }),
      page('POST', path, async (request) => {
        const { shown, fields, act } = await of(request);
        const tried = await attempt(request.form, act, fields ?? []);
        return 'done' in tried ? tried.done : shown(tried.refused);
      }),
    ],
  };
}
