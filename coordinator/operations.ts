import * as channelsApi from '../shared/api/channels.ts';
import * as eventsApi from '../shared/api/events.ts';
import * as filesApi from '../shared/api/files.ts';
import * as groupsApi from '../shared/api/groups.ts';
import * as incidentsApi from '../shared/api/incidents.ts';
import * as maintenanceApi from '../shared/api/maintenance.ts';
import * as monitorsApi from '../shared/api/monitors.ts';
import * as notificationsApi from '../shared/api/notifications.ts';
import * as organisationsApi from '../shared/api/organisations.ts';
import * as pingKeysApi from '../shared/api/ping-keys.ts';
import * as placesApi from '../shared/api/places.ts';
import * as probesApi from '../shared/api/probes.ts';
import * as resultsApi from '../shared/api/results.ts';
import * as reportsApi from '../shared/api/status-page-reports.ts';
import * as statusPagesApi from '../shared/api/status-pages.ts';
import * as testRunsApi from '../shared/api/test-runs.ts';
import * as trashApi from '../shared/api/trash.ts';
import * as webhooksApi from '../shared/api/webhooks.ts';
import * as assistantsContract from './assistants/contract.ts';
import * as assistants from './assistants/operations.ts';
import * as events from './events/operations.ts';
import * as filesContract from './files/contract.ts';
import * as files from './files/operations.ts';
import { bindAll, type Handlers, handlersOf } from './gate/bind.ts';
import * as groupBatch from './groups/batch.ts';
import * as groupsContract from './groups/contract.ts';
import * as groups from './groups/operations.ts';
import * as pingKeys from './heartbeats/ping-keys.ts';
import * as importsContract from './imports/contract.ts';
import * as imports from './imports/operations.ts';
import * as incidentsContract from './incidents/contract.ts';
import * as incidents from './incidents/operations.ts';
import * as maintenanceContract from './maintenance/contract.ts';
import * as maintenance from './maintenance/operations.ts';
import * as batch from './monitors/batch.ts';
import * as bulk from './monitors/bulk.ts';
import * as checks from './monitors/checks.ts';
import * as monitorsContract from './monitors/contract.ts';
import * as dashboard from './monitors/dashboard.ts';
import * as mutes from './monitors/mutes.ts';
import * as monitors from './monitors/operations.ts';
import * as testRuns from './monitors/test-operations.ts';
import * as trash from './monitors/trash.ts';
import * as channels from './notifications/channel-operations.ts';
import * as notificationsContract from './notifications/contract.ts';
import * as monitorChannels from './notifications/monitor-channels.ts';
import * as notifications from './notifications/operations.ts';
import * as channelTests from './notifications/test-operations.ts';
import * as operatorContract from './operator/contract.ts';
import * as operator from './operator/operations.ts';
import * as organisationsContract from './organisations/contract.ts';
import * as frame from './organisations/frame.ts';
import * as organisations from './organisations/operations.ts';
import * as peopleContract from './people/contract.ts';
import * as people from './people/operations.ts';
import * as passkeys from './people/passkey-operations.ts';
import * as signIn from './people/sign-in.ts';
import * as signUp from './people/sign-up.ts';
import * as probesContract from './probes/contract.ts';
import * as enrolment from './probes/enrolment.ts';
import * as probes from './probes/operations.ts';
import * as places from './probes/place-operations.ts';
import * as registrationsContract from './registrations/contract.ts';
import * as registrations from './registrations/operations.ts';
import * as searchContract from './search/contract.ts';
import * as search from './search/operations.ts';
import * as statusPagesContract from './status-pages/contract.ts';
import * as statusPages from './status-pages/operations.ts';
import * as posts from './status-pages/posts.ts';
import * as preview from './status-pages/preview.ts';
import * as reports from './status-pages/reports.ts';
import * as tokensContract from './tokens/contract.ts';
import * as tokens from './tokens/operations.ts';
import * as warningsContract from './warnings/contract.ts';
import * as warnings from './warnings/operations.ts';
import * as webhooks from './webhooks/operations.ts';

/** Every operation with the handler of its name; one without does not compile. */
export const handlers: Handlers = handlersOf([
  ...bindAll(
    { ...monitorsApi, ...trashApi, ...resultsApi, ...testRunsApi, ...monitorsContract },
    {
      ...monitors,
      ...batch,
      ...bulk,
      ...checks,
      ...dashboard,
      ...trash,
      ...mutes,
      ...testRuns,
    },
  ),
  ...bindAll({ ...incidentsApi, ...incidentsContract }, incidents),
  ...bindAll(eventsApi, events),
  ...bindAll({ ...filesApi, ...filesContract }, files),
  ...bindAll(importsContract, imports),
  ...bindAll(webhooksApi, webhooks),
  ...bindAll({ ...maintenanceApi, ...maintenanceContract }, maintenance),
  ...bindAll({ ...groupsApi, ...groupsContract }, { ...groups, ...groupBatch }),
  ...bindAll(
    { ...statusPagesApi, ...reportsApi, ...statusPagesContract },
    { ...statusPages, ...posts, ...reports, ...preview },
  ),
  ...bindAll(
    { ...channelsApi, ...notificationsApi, ...notificationsContract },
    { ...channels, ...channelTests, ...monitorChannels, ...notifications },
  ),
  ...bindAll(
    { ...probesApi, ...placesApi, ...probesContract },
    { ...probes, ...places, ...enrolment },
  ),
  ...bindAll(pingKeysApi, pingKeys),
  ...bindAll({ ...organisationsApi, ...organisationsContract }, { ...organisations, ...frame }),
  ...bindAll(peopleContract, { ...people, ...passkeys, ...signIn, ...signUp }),
  ...bindAll(tokensContract, tokens),
  ...bindAll(assistantsContract, assistants),
  ...bindAll(searchContract, search),
  ...bindAll(registrationsContract, registrations),
  ...bindAll(warningsContract, warnings),
  ...bindAll(operatorContract, operator),
]);
