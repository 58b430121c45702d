import {
  array,
  boolean,
  integer,
  nullable,
  object,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { MuteOut } from '../../shared/api/notifications.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/** Operations that the frame of every page calls, or offers. */

export const showFrame = innerOperation({
  id: 'showFrame',
  access: 'read',
  summary: 'Get what every page says beside its own content',
  response: object('FrameOut', {
    /** A thousand when there are more. */
    outages: integer(),
    mute: MuteOut,
    delivery: object('DeliveryOut', {
      channels: integer(),
      can_deliver: boolean({
        description: 'Also where there is nothing yet that an alert could be about.',
      }),
      failing: array(
        object('FailingChannelOut', {
          channel: uuid(),
          name: string(),
          obstacle: string({ description: '`mail_missing` or `failing`.' }),
        }),
      ),
    }),
  }),
});

export const keepOrganisation = innerOperation({
  id: 'keepOrganisation',
  access: 'own',
  whileEnding: true,
  summary: 'Undo the deletion of the organisation',
  response: object('KeptOut', {
    id: uuid(),
    resumed: integer({}, { description: 'How many monitors are checked again.' }),
  }),
  refusals: ['organisation_not_ending', 'organisation_ending'],
});

export const showManager = innerOperation({
  id: 'showManager',
  access: 'read',
  does: 'looks',
  summary: 'Tell which file manages any of these objects',
  body: object('ManagedObjectsIn', { objects: array(uuid(), { maxItems: 100 }) }),
  response: object('ManagerOut', { file: nullable(string()) }),
});
