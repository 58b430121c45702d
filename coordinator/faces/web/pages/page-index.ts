import type { Page } from '../web-page.ts';
import { alertPages } from './alerts/page-alerts-index.ts';
import { comingIn } from './coming-in/page-coming-in-index.ts';
import { dashboard } from './dashboard/page-dashboard.ts';
import { changeChosen } from './dashboard/page-dashboard-change.ts';
import { pagesOfGroups } from './groups/page-groups-index.ts';
import { maintenancePages } from './maintenance/page-maintenance-index.ts';
import { monitorFormPages } from './monitor-form/page-monitor-form.ts';
import { operatorPages } from './operator/page-operator-index.ts';
import { organisationPages } from './organisation/page-organisation-index.ts';
import { about } from './page-about.ts';
import { connectionPages } from './page-assistant-connections.ts';
import { connectPages } from './page-connect.ts';
import { favicon, faviconOfOld } from './page-favicon.ts';
import { robots } from './page-front.ts';
import { acknowledge, incident, share, withdrawShare, writeNote } from './page-incident.ts';
import { incidents } from './page-incidents.ts';
import { manifestPage } from './page-manifest.ts';
import { memberPages } from './page-members.ts';
import { monitorPages } from './page-monitor.ts';
import { monitorActs } from './page-monitor-acts.ts';
import { choosePreferences } from './page-preferences.ts';
import { probeEndPages } from './page-probe-end.ts';
import { probeInvitationPages } from './page-probe-invitations.ts';
import { probesPage } from './page-probes.ts';
import { searchPage } from './page-search.ts';
import { sharedIncident } from './page-shared-incident.ts';
import { tokenPages } from './page-tokens.ts';
import { ownPages } from './profile/page-profile-index.ts';
import { statusPages } from './status-pages/page-status-pages-index.ts';

/** Every page, a row each. */
export const pages: readonly Page[] = [
  dashboard,
  changeChosen,
  searchPage,
  incidents,
  incident,
  acknowledge,
  writeNote,
  share,
  withdrawShare,
  ...monitorFormPages,
  ...monitorPages,
  ...monitorActs,
  ...maintenancePages,
  ...pagesOfGroups,
  probesPage,
  ...probeInvitationPages,
  ...probeEndPages,
  ...alertPages,
  ...statusPages,
  sharedIncident,
  about,
  choosePreferences,
  ...comingIn,
  ...ownPages,
  ...memberPages,
  ...tokenPages,
  ...connectionPages,
  ...connectPages,
  ...organisationPages,
  ...operatorPages,
  favicon,
  faviconOfOld,
  robots,
  manifestPage,
];
