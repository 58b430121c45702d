import type { Page } from '../page.ts';
import { about } from './about.ts';
import { alertPages } from './alerts/index.ts';
import { comingIn } from './coming-in/index.ts';
import { connectPages } from './connect.ts';
import { connectionPages } from './connections.ts';
import { changeChosen } from './dashboard/change.ts';
import { dashboard } from './dashboard/index.ts';
import { favicon, faviconOfOld } from './favicon.ts';
import { robots } from './front.ts';
import { pagesOfGroups } from './groups/index.ts';
import { acknowledge, incident, share, withdrawShare, writeNote } from './incident.ts';
import { incidents } from './incidents.ts';
import { maintenancePages } from './maintenance/index.ts';
import { manifestPage } from './manifest.ts';
import { memberPages } from './members.ts';
import { monitorPages } from './monitor.ts';
import { monitorActs } from './monitor-acts.ts';
import { monitorFormPages } from './monitor-form/index.ts';
import { operatorPages } from './operator/index.ts';
import { organisationPages } from './organisation/index.ts';
import { choosePreferences } from './preferences.ts';
import { probeEndPages } from './probe-end.ts';
import { probeInvitationPages } from './probe-invitations.ts';
import { probesPage } from './probes.ts';
import { ownPages } from './profile/index.ts';
import { searchPage } from './search.ts';
import { sharedIncident } from './shared-incident.ts';
import { statusPages } from './status-pages/index.ts';
import { tokenPages } from './tokens.ts';

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
