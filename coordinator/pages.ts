import { isRecord } from '../shared/base/json.ts';
import type { Consents } from './assistants/oauth-routes.ts';
import * as assistants from './assistants/pages.ts';
import * as documentation from './documentation/pages.ts';
import * as probeInvitations from './enrolment/pages.ts';
import * as groups from './groups/pages.ts';
import * as about from './health/about-page.ts';
import type { ServiceRecordRow } from './health/service-record.ts';
import * as pingKeys from './heartbeats/pages.ts';
import * as imports from './imports/pages.ts';
import * as incident from './incidents/pages/detail.ts';
import * as incidents from './incidents/pages/list.ts';
import * as sharedIncident from './incidents/pages/shared.ts';
import type { Shares } from './incidents/shared-link.ts';
import * as windowForm from './maintenance/pages/form.ts';
import * as windows from './maintenance/pages/list.ts';
import * as window from './maintenance/pages/window.ts';
import * as monitorActions from './monitors/pages/actions.ts';
import * as checks from './monitors/pages/checks.ts';
import * as dashboard from './monitors/pages/dashboard.ts';
import * as monitor from './monitors/pages/detail.ts';
import * as monitorForm from './monitors/pages/form.ts';
import * as front from './monitors/pages/front.ts';
import * as heartbeat from './monitors/pages/heartbeat.ts';
import * as trash from './monitors/pages/trash.ts';
import * as browser from './notifications/pages/browser.ts';
import * as channel from './notifications/pages/channel.ts';
import * as channelForm from './notifications/pages/form.ts';
import * as alertLinks from './notifications/pages/links.ts';
import * as channels from './notifications/pages/list.ts';
import * as objectives from './objectives/pages.ts';
import * as operator from './operator/pages.ts';
import * as audit from './organisations/pages/audit.ts';
import * as members from './organisations/pages/members.ts';
import * as organisation from './organisations/pages/settings.ts';
import * as profile from './people/pages/profile.ts';
import * as security from './people/pages/security.ts';
import * as signIn from './people/pages/sign-in.ts';
import * as signUp from './people/pages/sign-up.ts';
import * as probes from './probes/pages.ts';
import * as ownProviders from './providers/own-pages.ts';
import * as providers from './providers/pages.ts';
import * as provisioning from './providers/scim/pages.ts';
import * as uptimeReports from './reports/pages.ts';
import * as search from './search/page.ts';
import * as statusPage from './status-pages/pages/editor.ts';
import * as statusPages from './status-pages/pages/list.ts';
import * as posts from './status-pages/pages/posts.ts';
import * as reports from './status-pages/pages/reports.ts';
import * as subscribers from './status-pages/pages/subscribers.ts';
import * as tokens from './tokens/pages.ts';
import * as certificates from './warnings/pages/certificates.ts';
import type { Page } from './web/page.ts';
import * as small from './web/small-pages.ts';
import * as webhook from './webhooks/pages/detail.ts';
import * as webhookForm from './webhooks/pages/form.ts';
import * as webhooks from './webhooks/pages/list.ts';

/** What the pages of subjects need besides operations. */
declare module './web/page.ts' {
  interface PageDependencies {
    /** What a shared link shows; undefined when it was ended, or never existed. */
    readonly readShare: Shares['read'];
    /** The service record; undefined for readers without access. */
    readonly ownRecord: (isSignedIn: boolean) => ServiceRecordRow | undefined;
    /** Assistants that ask for access. */
    readonly consents: Consents;
  }
}

/** The files with pages, a line a subject. */
const files: readonly (readonly object[])[] = [
  [dashboard, front, trash, monitor, checks, heartbeat, monitorActions, monitorForm],
  [groups],
  [imports],
  [certificates],
  [incidents, incident, sharedIncident],
  [windows, window, windowForm],
  [uptimeReports, objectives],
  [channels, channel, channelForm, browser, alertLinks],
  [statusPages, statusPage, posts, reports, subscribers],
  [probes, probeInvitations],
  [signIn, signUp, profile, security, providers, ownProviders, provisioning],
  [organisation, members, audit],
  [tokens, pingKeys],
  [webhooks, webhook, webhookForm],
  [assistants],
  [search],
  [operator],
  [documentation],
  [about, small],
];

/** Every page that these files export, by itself or in a list. */
export const pages: readonly Page[] = [
  ...new Set(
    files
      .flat()
      .flatMap((file) => Object.values(file))
      .flat()
      .filter(isPage),
  ),
];

function isPage(value: unknown): value is Page {
  return isRecord(value) && 'needs' in value && 'path' in value && 'answer' in value;
}
