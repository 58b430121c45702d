import { namesOf } from '../database/table.ts';
import { type PageSettings, type PostKind, proofRecordName, proofRecordText } from './model.ts';

/** What people set and everyone sees, by column, with its type in the database. */
const lookColumns = {
  name: 'text',
  slug: 'text',
  description: 'text',
  language: 'text',
  accent: 'text',
  access: 'text',
} as const;

/** Everything that a change writes. */
const shownColumns = { ...lookColumns, enabled: 'boolean', domain: 'text' } as const;
const accessColumns = { password_hash: 'text', access_version: 'int' } as const;
export const settingColumns = {
  ...shownColumns,
  ...accessColumns,
  domain_token: 'text',
  domain_proved_at: 'timestamptz',
} as const;

/** Of `p`, for statements: all of it, what its people see, and what a visitor's view needs. */
export const settingNames = namesOf(settingColumns, 'p');
export const shownNames = namesOf(shownColumns, 'p');
export const publishedNames = namesOf({ ...lookColumns, ...accessColumns }, 'p');

export type PageSummary = {
  readonly key: number;
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly enabled: boolean;
  readonly created_at: number;
};
export type PageMonitor = {
  readonly monitor: string;
  readonly display_name: string;
  readonly group: string | null;
  readonly position: number;
};
export type PageGroup = {
  readonly group: string;
  readonly display_name: string;
  readonly position: number;
};
export type WholePage = PageSummary &
  PageSettings & {
    readonly has_link: boolean;
    readonly logo: string | null;
    readonly subscribers: number;
    readonly offered: readonly { readonly monitor: string; readonly group: string }[];
    readonly monitors: readonly PageMonitor[];
    readonly groups: readonly PageGroup[];
  };

export type PostRow = {
  readonly key: number;
  readonly id: string;
  readonly incident: string;
  readonly kind: PostKind;
  readonly text: string;
  readonly written_by: string | null;
  readonly written_at: number;
};

export function domainJson({
  domain,
  domain_token,
  domain_proved_at,
}: Pick<WholePage, 'domain' | 'domain_token' | 'domain_proved_at'>) {
  return domain === null || domain_token === null
    ? null
    : {
        name: domain,
        proved_at: domain_proved_at,
        record_name: proofRecordName(domain),
        record_text: proofRecordText(domain_token),
      };
}

/** The audit details of a change; never the password. */
export function settingsJson({
  name,
  slug,
  description,
  enabled,
  language,
  accent,
  access,
  domain,
  password_hash,
}: PageSettings) {
  return {
    name,
    slug,
    description,
    enabled,
    language,
    accent,
    access,
    domain,
    has_password: password_hash !== null,
  };
}

/** What it shows, from top to bottom, as a change of it takes it. */
export function rowsShown({ monitors, groups }: Pick<WholePage, 'monitors' | 'groups'>) {
  return [
    ...groups.map((row) => ({ ...row, monitor: null })),
    ...monitors.map((row) => ({ ...row, group: null })),
  ]
    .toSorted((a, b) => a.position - b.position)
    .map(({ monitor, group, display_name }) => ({ monitor, group, display_name }));
}

/** For its password and its link, only whether they exist. */
export function pageJson(page: WholePage) {
  return {
    id: page.id,
    name: page.name,
    slug: page.slug,
    enabled: page.enabled,
    created_at: page.created_at,
    description: page.description,
    monitors: page.monitors,
    groups: page.groups,
    language: page.language,
    accent: page.accent,
    logo: page.logo,
    access: page.access,
    has_password: page.password_hash !== null,
    has_link: page.has_link,
    domain: domainJson(page),
    subscribers: page.subscribers,
    offered: page.offered,
  };
}
