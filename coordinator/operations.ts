import type * as causesApi from '../shared/api/causes.ts';
import type * as channelsApi from '../shared/api/channels.ts';
import type * as eventsApi from '../shared/api/events.ts';
import type * as expiryApi from '../shared/api/expiry.ts';
import type * as filesApi from '../shared/api/files.ts';
import type * as groupsApi from '../shared/api/groups.ts';
import type * as incidentsApi from '../shared/api/incidents.ts';
import type * as maintenanceApi from '../shared/api/maintenance.ts';
import type * as membersApi from '../shared/api/members.ts';
import type * as monitorsApi from '../shared/api/monitors.ts';
import type * as notificationsApi from '../shared/api/notifications.ts';
import type * as objectivesApi from '../shared/api/objectives.ts';
import type * as organisationsApi from '../shared/api/organisations.ts';
import type * as pingKeysApi from '../shared/api/ping-keys.ts';
import type * as placesApi from '../shared/api/places.ts';
import type * as probesApi from '../shared/api/probes.ts';
import type * as uptimeApi from '../shared/api/reports.ts';
import type * as resultsApi from '../shared/api/results.ts';
import type * as reportsApi from '../shared/api/status-page-reports.ts';
import type * as statusPagesApi from '../shared/api/status-pages.ts';
import type * as testRunsApi from '../shared/api/test-runs.ts';
import type * as tokensApi from '../shared/api/tokens.ts';
import type * as trashApi from '../shared/api/trash.ts';
import type * as webhooksApi from '../shared/api/webhooks.ts';
import type * as assistantsContract from './assistants/contract.ts';
import * as assistants from './assistants/operations.ts';
import * as causes from './causes/operations.ts';
import * as files from './configuration/operations.ts';
import * as enrolment from './enrolment/operations.ts';
import * as events from './events/operations.ts';
import { bindAll, type Handlers, handlersOf } from './gate/bind.ts';
import * as groupBatch from './groups/batch.ts';
import type * as groupsContract from './groups/contract.ts';
import * as groups from './groups/operations.ts';
import * as pingKeys from './heartbeats/ping-keys.ts';
import type * as importsContract from './imports/contract.ts';
import * as imports from './imports/operations.ts';
import type * as incidentsContract from './incidents/contract.ts';
import * as incidents from './incidents/operations.ts';
import type * as maintenanceContract from './maintenance/contract.ts';
import * as maintenance from './maintenance/operations.ts';
import * as batch from './monitors/batch.ts';
import * as bulk from './monitors/bulk.ts';
import * as checks from './monitors/checks.ts';
import type * as monitorsContract from './monitors/contract.ts';
import * as dashboard from './monitors/dashboard.ts';
import * as mutes from './monitors/mutes.ts';
import * as monitors from './monitors/operations.ts';
import * as testRuns from './monitors/test-operations.ts';
import * as trash from './monitors/trash.ts';
import * as channels from './notifications/channel-operations.ts';
import type * as notificationsContract from './notifications/contract.ts';
import * as monitorChannels from './notifications/monitor-channels.ts';
import * as notifications from './notifications/operations.ts';
import * as channelTests from './notifications/test-operations.ts';
import * as objectives from './objectives/operations.ts';
import type * as offboardingContract from './offboarding/contract.ts';
import * as offboarding from './offboarding/operations.ts';
import type * as operatorContract from './operator/contract.ts';
import * as operator from './operator/operations.ts';
import type * as organisationsContract from './organisations/contract.ts';
import * as frame from './organisations/frame.ts';
import * as organisations from './organisations/operations.ts';
import type * as peopleContract from './people/contract.ts';
import * as people from './people/operations.ts';
import * as passkeys from './people/passkey-operations.ts';
import * as signIn from './people/sign-in.ts';
import * as signUp from './people/sign-up.ts';
import type * as probesContract from './probes/contract.ts';
import * as probes from './probes/operations.ts';
import * as places from './probes/place-operations.ts';
import type * as providersContract from './providers/contract.ts';
import * as providers from './providers/operations.ts';
import * as ownProviders from './providers/own-operations.ts';
import type * as scimContract from './providers/scim/contract.ts';
import * as scim from './providers/scim/operations.ts';
import * as registrations from './registrations/operations.ts';
import type * as uptimeContract from './reports/contract.ts';
import * as uptime from './reports/operations.ts';
import type * as searchContract from './search/contract.ts';
import * as search from './search/operations.ts';
import type * as statusPagesContract from './status-pages/contract.ts';
import * as statusPages from './status-pages/operations.ts';
import * as posts from './status-pages/posts.ts';
import * as preview from './status-pages/preview.ts';
import * as reports from './status-pages/reports.ts';
import type * as tokensContract from './tokens/contract.ts';
import * as tokens from './tokens/operations.ts';
import * as warnings from './warnings/operations.ts';
import type * as frameContract from './web/contract.ts';
import * as webhooks from './webhooks/operations.ts';

/** Every operation with the handler of its name; one without does not compile. */
export const handlers: Handlers = handlersOf([
  ...bindAll<
    typeof monitorsApi &
      typeof trashApi &
      typeof resultsApi &
      typeof testRunsApi &
      typeof monitorsContract
  >({
    ...monitors,
    ...batch,
    ...bulk,
    ...checks,
    ...dashboard,
    ...trash,
    ...mutes,
    ...testRuns,
  }),
  ...bindAll<typeof incidentsApi & typeof incidentsContract>(incidents),
  ...bindAll<typeof causesApi>(causes),
  ...bindAll<typeof uptimeApi & typeof uptimeContract>(uptime),
  ...bindAll<typeof objectivesApi>(objectives),
  ...bindAll<typeof eventsApi>(events),
  ...bindAll<typeof importsContract>(imports),
  ...bindAll<typeof webhooksApi>(webhooks),
  ...bindAll<typeof maintenanceApi & typeof maintenanceContract>(maintenance),
  ...bindAll<typeof groupsApi & typeof groupsContract>({ ...groups, ...groupBatch }),
  ...bindAll<typeof statusPagesApi & typeof reportsApi & typeof statusPagesContract>({
    ...statusPages,
    ...posts,
    ...reports,
    ...preview,
  }),
  ...bindAll<typeof channelsApi & typeof notificationsApi & typeof notificationsContract>({
    ...channels,
    ...channelTests,
    ...monitorChannels,
    ...notifications,
  }),
  ...bindAll<typeof probesApi & typeof placesApi & typeof probesContract>({
    ...probes,
    ...places,
    ...enrolment,
  }),
  ...bindAll<typeof pingKeysApi>(pingKeys),
  ...bindAll<typeof membersApi & typeof organisationsApi & typeof organisationsContract>(
    organisations,
  ),
  ...bindAll<typeof offboardingContract & typeof frameContract & typeof filesApi>({
    ...offboarding,
    ...frame,
    ...files,
  }),
  ...bindAll<typeof peopleContract>({ ...people, ...passkeys, ...signIn, ...signUp }),
  ...bindAll<typeof tokensApi & typeof tokensContract>(tokens),
  ...bindAll<typeof providersContract & typeof scimContract>({
    ...providers,
    ...ownProviders,
    ...scim,
  }),
  ...bindAll<typeof assistantsContract>(assistants),
  ...bindAll<typeof searchContract>(search),
  ...bindAll<typeof expiryApi>({ ...registrations, ...warnings }),
  ...bindAll<typeof operatorContract>(operator),
]);
