import type { ValueOf } from '../../shared/api/fields.ts';
import type { impacts, updateKinds } from '../../shared/api/status-page-reports.ts';
import {
  type pageAccesses,
  pageLanguages,
  postKinds,
  type StatusPageIn,
  type StatusPagePatch,
} from '../../shared/api/status-pages.ts';
import { Refusal } from '../../shared/base/errors.ts';
import {
  contrastOf,
  descriptionFrom,
  leastContrast,
  nameFrom,
  readableOn,
  storable,
} from '../../shared/base/names.ts';
import { dnsName } from '../../shared/checks/dns/values.ts';

const white = '#ffffff';

/**
 * An accent colour that is readable on white; an empty one counts as none. @throws Refusal
 * `accent_invalid`, which says what is valid.
 */
export function accentFrom(text: string): string | null {
  const given = text.trim().toLowerCase().replace(/^#/, '');
  if (given === '') return null;
  const full = /^[0-9a-f]{3}$/.test(given) ? given.replaceAll(/./g, '$&$&') : given;
  if (!/^[0-9a-f]{6}$/.test(full))
    throw new Refusal('accent_invalid', {
      accent: 'must be # and six digits, such as #0a5bb5.',
    });
  const accent = `#${full}`;
  const contrast = contrastOf(accent, white);
  if (contrast >= leastContrast) return accent;
  throw new Refusal('accent_invalid', {
    accent: `${accent} is hard to read on white (${ratio(contrast)} to 1, and ${leastContrast} is the least); ${readableOn(accent, white)} is the nearest that would do.`,
  });
}

/** Rounded down: a ratio just below the limit must not appear as the limit. */
function ratio(value: number): string {
  return (Math.floor(value * 10) / 10).toFixed(1);
}

const largestLogo = 102_400;

type LogoType = 'image/png' | 'image/jpeg' | 'image/webp';

/** Determined by the bytes: a file may have any name, and SVG could contain a script. */
export function logoTypeOf(bytes: Uint8Array): LogoType | undefined {
  if (begins(bytes, 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return 'image/png';
  if (begins(bytes, 0, [0xff, 0xd8, 0xff])) return 'image/jpeg';
  if (begins(bytes, 0, [0x52, 0x49, 0x46, 0x46]) && begins(bytes, 8, [0x57, 0x45, 0x42, 0x50]))
    return 'image/webp';
  return undefined;
}

function begins(bytes: Uint8Array, at: number, with_: readonly number[]): boolean {
  return with_.every((byte, index) => bytes[at + index] === byte);
}

/** @throws Refusal `logo_invalid`. */
export function logoFrom(bytes: Uint8Array): {
  readonly type: LogoType;
  readonly bytes: Uint8Array;
} {
  if (bytes.length === 0) throw new Refusal('logo_invalid', { logo: 'choose a file first.' });
  if (bytes.length > largestLogo)
    throw new Refusal('logo_invalid', {
      logo: `has ${Math.ceil(bytes.length / 1024)} KB; it may have at most ${largestLogo / 1024} KB.`,
    });
  const type = logoTypeOf(bytes);
  if (type === undefined)
    throw new Refusal('logo_invalid', {
      logo: 'is neither PNG, JPEG nor WebP; save it as one of them.',
    });
  return { type, bytes };
}

/** A name has 253 characters, and the record that proves it has one more label in front. */
const longest = 240;
const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;

/**
 * A page's own domain, as DNS and browsers write it: lower case, punycode. @throws Refusal
 * `domain_invalid`: also for the address of the installation, where people sign in.
 */
function pageDomainFrom(text: string, baseUrl: string): string {
  const trimmed = text.trim();
  if (/[/:@?#]/.test(trimmed))
    throw refuse(
      'give the name alone, without https:// and without anything behind it, such as status.example.com.',
    );
  const name = dnsName(trimmed);
  if (
    name === undefined ||
    name.length > longest ||
    !name.includes('.') ||
    !name.split('.').every((part) => label.test(part))
  )
    throw refuse('must be the name of a host, such as status.example.com.');
  if (/\.\d+$/.test(name))
    throw refuse('is an IP address; enter a name such as status.example.com.');
  if (name === hostOf(baseUrl))
    throw refuse(
      'is where this service itself is; enter another name, such as status.example.com.',
    );
  return name;
}

function refuse(fault: string): Refusal {
  return new Refusal('domain_invalid', { domain: fault });
}

function hostOf(baseUrl: string): string | undefined {
  return URL.canParse(baseUrl) ? new URL(baseUrl).hostname : undefined;
}

/**
 * The name of the record that proves a domain: beside the domain itself, which may be an alias and
 * then can have no other record.
 */
export function proofRecordName(domain: string): string {
  return `_antipode.${domain}`;
}

export function proofRecordText(token: string): string {
  return `antipode-status-page=${token}`;
}

export { pageLanguages, postKinds };
export type PageLanguage = (typeof pageLanguages)[number];
export type PageAccess = (typeof pageAccesses)[number];
export type PostKind = (typeof postKinds)[number];
/** Of a report; the other kinds are those of posts to an incident. */
export type UpdateKind = (typeof updateKinds)[number];
export type Impact = (typeof impacts)[number];

/**
 * The last part of a page's address: lower-case letters, digits and single dashes, 1 to 60. @throws
 * Refusal `slug_invalid`.
 */
function slugFrom(text: string): string {
  const slug = text.trim().toLowerCase();
  if (slug.length <= 60 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(slug)) return slug;
  throw new Refusal('slug_invalid', {
    slug: 'use 1 to 60 small letters, digits and dashes between them, such as "shop-status".',
  });
}

/**
 * The largest position of a row on a page. Rows with the same position appear in the order in which
 * they were added.
 */
const highestPosition = 1_000_000;

/** @throws Refusal `position_invalid`. */
export function positionFrom(position: number): number {
  if (position >= 0 && position <= highestPosition) return position;
  throw new Refusal('position_invalid', { position: `must be from 0 to ${highestPosition}.` });
}

/**
 * Many people know the password of a page, so it differs from account passwords. @throws Refusal
 * `password_invalid`.
 */
export function pagePasswordFrom(text: string): string {
  if (text.length >= 8 && text.length <= 200) return text;
  throw new Refusal('password_invalid', { password: 'must have 8 to 200 characters.' });
}

/**
 * The complete order of a page's rows: each of them once, and nothing else. @throws Refusal
 * `order_invalid`.
 */
export function orderFrom(given: readonly string[], present: readonly string[]): readonly string[] {
  const refuse = (fault: string) =>
    new Refusal('order_invalid', {
      rows: `${fault} Read the page again, and send every row once.`,
    });
  if (new Set(given).size !== given.length) throw refuse('names a row twice.');
  if (given.length !== present.length)
    throw refuse(`names ${given.length} rows, and the page has ${present.length}.`);
  const existing = new Set(present);
  const stranger = given.find((id) => !existing.has(id));
  if (stranger !== undefined) throw refuse(`${stranger} is not on the page.`);
  return given;
}

export type RowIn = {
  readonly kind: 'monitor' | 'group';
  readonly id: string;
  /** Null: as it was, or its own name. */
  readonly name: string | null;
};

/**
 * All rows of a page, from top to bottom, each once. @throws Refusal `order_invalid`,
 * `name_invalid`.
 */
export function rowsFrom(
  given: NonNullable<ValueOf<typeof StatusPagePatch>['rows']>,
): readonly RowIn[] {
  const rows = given.map(({ monitor, group, display_name }, at): RowIn => {
    const id = monitor ?? group;
    if (id === null || (monitor !== null && group !== null))
      throw new Refusal('order_invalid', { [`rows.${at}`]: 'name either a monitor or a group.' });
    return {
      kind: monitor === null ? 'group' : 'monitor',
      id,
      name: display_name === null ? null : nameFrom(display_name, `rows.${at}.display_name`),
    };
  });
  if (new Set(rows.map(({ id }) => id)).size < rows.length)
    throw new Refusal('order_invalid', { rows: 'names a monitor or group twice.' });
  return rows;
}

const maxLengths = 2_000;

/** @throws Refusal `post_invalid`. */
export function postTextFrom(given: string): string {
  const text = given.trim();
  if (text !== '' && text.length <= maxLengths && storable(text)) return text;
  throw new Refusal('post_invalid', {
    text: `write 1 to ${maxLengths} characters, without NUL or broken ones.`,
  });
}

type ReportTimes = { readonly started_at: number; readonly ends_at: number | null };

/** @throws Refusal `report_invalid`. */
export function refuseReportTimes({ started_at, ends_at }: ReportTimes, now: number): void {
  if (started_at > now)
    throw new Refusal('report_invalid', {
      started_at: 'is in the future; schedule maintenance for what is planned.',
    });
  if (ends_at !== null && ends_at < started_at)
    throw new Refusal('report_invalid', { ends_at: 'must be after the start.' });
}

/** An update that says `resolved` ends a report; any other one opens a report that has ended. */
export function endAfterUpdate(ends: number | null, kind: UpdateKind, at: number): number | null {
  if (kind === 'resolved') return ends !== null && ends < at ? ends : at;
  return ends !== null && ends <= at ? null : ends;
}

/** What people set and visitors see. */
export type PageLook = {
  readonly description: string | null;
  readonly language: PageLanguage;
  readonly accent: string | null;
};

export function lookOf({ description, language, accent }: PageLook): PageLook {
  return {
    description,
    language,
    accent,
  };
}

/** What anyone who may change a page can set, and what follows from it. */
export type PageSettings = PageLook & {
  readonly name: string;
  readonly slug: string;
  readonly enabled: boolean;
  readonly access: PageAccess;
  readonly password_hash: string | null;
  readonly access_version: number;
  readonly domain: string | null;
  readonly domain_token: string | null;
  readonly domain_proved_at: number | null;
};

/** A new page as requested. @throws Refusal. */
export function draftPage({
  name,
  slug,
  description,
  enabled,
  language,
}: ValueOf<typeof StatusPageIn>): PageSettings {
  return {
    name: nameFrom(name),
    slug: slugFrom(slug),
    description: descriptionFrom(description),
    enabled,
    language,
    accent: null,
    access: 'public',
    password_hash: null,
    access_version: 0,
    domain: null,
    domain_token: null,
    domain_proved_at: null,
  };
}

type Circumstances = {
  /** Of the password that was sent. */
  readonly hash: string | null;
  readonly baseUrl: string;
  /** What a record of another domain has to say. */
  readonly domainToken: string;
};

/** A changed page: only what the patch mentions is another. @throws Refusal. */
export function amendPage(
  before: PageSettings,
  patch: ValueOf<typeof StatusPagePatch>,
  { hash, ...domain }: Circumstances,
): PageSettings {
  const access = patch.access ?? before.access;
  const password_hash = hash ?? before.password_hash;
  if (access === 'password' && password_hash === null)
    throw new Refusal('password_invalid', {
      password: 'must have 8 to 200 characters; without it nobody could see the page.',
    });
  return {
    name: patch.name === null ? before.name : nameFrom(patch.name),
    slug: patch.slug === null ? before.slug : slugFrom(patch.slug),
    description:
      patch.description === null ? before.description : descriptionFrom(patch.description),
    enabled: patch.enabled ?? before.enabled,
    language: patch.language ?? before.language,
    accent: patch.accent === null ? before.accent : accentFrom(patch.accent),
    access,
    password_hash,
    access_version: before.access_version + (hash !== null || access !== before.access ? 1 : 0),
    ...domainOf(before, patch.domain, domain),
  };
}

type Domain = Pick<PageSettings, 'domain' | 'domain_token' | 'domain_proved_at'>;

/** A different domain must be proved again. */
function domainOf(
  { domain: was, domain_token, domain_proved_at }: Domain,
  given: string | null,
  { baseUrl, domainToken }: Pick<Circumstances, 'baseUrl' | 'domainToken'>,
): Domain {
  const present = { domain: was, domain_token, domain_proved_at };
  if (given === null) return present;
  if (given.trim() === '') return { domain: null, domain_token: null, domain_proved_at: null };
  const domain = pageDomainFrom(given, baseUrl);
  return domain === was ? present : { domain, domain_token: domainToken, domain_proved_at: null };
}
