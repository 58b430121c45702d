import { proofRecordName, proofRecordText } from './public/access.ts';
import type { PageGroup, PageMonitor, PageSummary, PostRow, WholePage } from './queries.ts';

export const pageMonitorJson = ({ monitor_id, display_name, group_id, position }: PageMonitor) => ({
  monitor: monitor_id,
  display_name,
  group: group_id,
  position,
});

export const pageGroupJson = ({ group_id, display_name, position }: PageGroup) => ({ group: group_id, display_name, position });

export const summaryJson = ({ id, name, slug, enabled, created_at }: PageSummary) => ({
  id,
  name,
  slug,
  enabled,
  created_at: created_at.toISOString(),
});

export const domainJson = ({ domain, domain_token, domain_proved_at }: Pick<WholePage, 'domain' | 'domain_token' | 'domain_proved_at'>) =>
  domain === null || domain_token === null
    ? null
    : {
        name: domain,
        proved_at: domain_proved_at?.toISOString() ?? null,
        record_name: proofRecordName(domain),
        record_text: proofRecordText(domain_token),
      };

/** For its password and its link, only whether they exist. */
export const pageJson = (page: WholePage) => ({
  ...summaryJson(page),
  description: page.description,
  monitors: page.monitors.map(pageMonitorJson),
  groups: page.groups.map(pageGroupJson),
  language: page.language,
  accent: page.accent,
  logo: page.logo,
  access: page.access,
  has_password: page.password_hash !== null,
  has_link: page.has_link,
  domain: domainJson(page),
  subscribers: page.subscribers,
  offered: page.offered,
});

type Posted = Omit<PostRow, 'key' | 'written_at'> & { readonly written_at: Date | string };

export const postJson = ({ id, incident_id, kind, text, written_by, written_at }: Posted) => ({
  id,
  incident: incident_id,
  kind,
  text,
  written_by,
  written_at: typeof written_at === 'string' ? written_at : written_at.toISOString(),
});
