import { operations } from '../../shared/api/index.ts';
import type { RestOperation } from '../../shared/api/operation.ts';

/**
 * What the provider manages, and the little that the API document says of it in words only. The
 * rest of its schema follows from the document (`schema.ts`).
 */

export type Managed = {
  readonly list: RestOperation;
  readonly create: RestOperation;
  readonly get?: RestOperation;
  readonly update?: RestOperation;
  readonly remove: RestOperation;
  /** The object of a file (`antipode.yaml`) of this kind: what is left out has its defaults. */
  readonly file?: string;
  /** One member says which form another has: each form is an attribute of its own. */
  readonly union?: { readonly field: string; readonly by: string };
  /** By which fields an object is found, besides its id. */
  readonly lookup: readonly string[];
  /** An object in this state is as good as deleted. */
  readonly gone?: { readonly field: string; readonly is?: string };
  /** Answers that never change: a resource has them, not only a data source. */
  readonly stable: readonly string[];
  /** Answers that a resource has although a change may change them. */
  readonly computed?: readonly string[];
  /** What a change sends to take a value away, as null leaves it: the default is an empty text. */
  readonly clears?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** Lists whose order says nothing. */
  readonly sets?: readonly string[];
  /** Where an answer has what is sent under another name. */
  readonly at?: Readonly<Record<string, readonly string[]>>;
  /** How to read it there, where not as it is: `present` is true where there is something. */
  readonly as?: Readonly<Record<string, 'present' | 'rows'>>;
  /** Sent, and never answered; where `at` names a place, a change there says that it is lost. */
  readonly hidden?: readonly string[];
};

export const managed: Readonly<Record<string, Managed>> = {
  group: {
    list: operations.listGroups,
    create: operations.createGroup,
    get: operations.getGroup,
    update: operations.updateGroup,
    remove: operations.deleteGroup,
    file: 'FileGroup',
    lookup: ['external_id', 'name'],
    stable: ['created_at'],
  },
  monitor: {
    list: operations.listMonitors,
    create: operations.createMonitor,
    get: operations.getMonitor,
    update: operations.updateMonitor,
    remove: operations.deleteMonitor,
    file: 'FileMonitor',
    union: { field: 'config', by: 'type' },
    lookup: ['external_id', 'name'],
    stable: ['created_at'],
    clears: { group: { ungroup: true } },
    sets: ['tags'],
  },
  channel: {
    list: operations.listChannels,
    create: operations.createChannel,
    get: operations.getChannel,
    update: operations.updateChannel,
    remove: operations.deleteChannel,
    file: 'FileChannel',
    union: { field: 'config', by: 'kind' },
    lookup: ['name'],
    stable: ['created_at'],
    clears: { reminder_s: { reminder_s: 0 }, hours: { hours: { spans: [] } } },
    sets: ['monitors', 'groups'],
    at: { personal: ['owner'] },
    as: { personal: 'present' },
    hidden: ['try'],
  },
  maintenance_window: {
    list: operations.listMaintenanceWindows,
    create: operations.createMaintenanceWindow,
    get: operations.getMaintenanceWindow,
    update: operations.updateMaintenanceWindow,
    remove: operations.deleteMaintenanceWindow,
    file: 'FileMaintenance',
    lookup: ['name'],
    stable: [],
    sets: ['monitors', 'groups'],
  },
  status_page: {
    list: operations.listStatusPages,
    create: operations.createStatusPage,
    get: operations.getStatusPage,
    update: operations.updateStatusPage,
    remove: operations.deleteStatusPage,
    file: 'FileStatusPage',
    lookup: ['slug', 'name'],
    stable: ['created_at'],
    computed: ['domain_record_name', 'domain_record_text'],
    defaults: { access: 'public' },
    at: {
      domain: ['domain', 'name'],
      domain_record_name: ['domain', 'record_name'],
      domain_record_text: ['domain', 'record_text'],
      password: ['has_password'],
    },
    as: { rows: 'rows' },
    hidden: ['password'],
  },
  objective: {
    list: operations.listObjectives,
    create: operations.createObjective,
    get: operations.getObjective,
    update: operations.updateObjective,
    remove: operations.deleteObjective,
    lookup: ['name'],
    stable: ['created_at'],
  },
  probe_invitation: {
    list: operations.listProbeInvitations,
    create: operations.inviteProbe,
    remove: operations.revokeProbeInvitation,
    lookup: ['name'],
    gone: { field: 'state', is: 'expired' },
    stable: ['shown', 'created_at', 'expires_at'],
    computed: ['probe'],
  },
  ping_key: {
    list: operations.listPingKeys,
    create: operations.createPingKey,
    remove: operations.endPingKey,
    lookup: ['name'],
    gone: { field: 'until' },
    stable: ['shown', 'created_at'],
  },
};
