import {
  array,
  boolean,
  nullable,
  object,
  optional,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { innerOperation } from '../../shared/api/operation.ts';

const FoundOut = object('FoundOut', {
  items: array(
    object('FoundItemOut', {
      kind: string({
        description: '`monitor`, `group`, `incident`, `status_page`, `channel`, `member` or `tag`.',
      }),
      id: string({ description: 'A tag is its own id.' }),
      name: string(),
      detail: string(),
      status: nullable(string(), { description: 'Of a monitor or an incident.' }),
    }),
  ),
});

/**
 * What the search finds. An operation that only pages call; those of the API are in `shared/api/`.
 */
export const search = innerOperation({
  id: 'search',
  access: 'read',
  summary: 'Find monitors, groups, incidents, status pages, channels, members and tags by words',
  description: 'Without words: the monitors in trouble.',
  query: {
    q: optional(string(), ''),
    typos: optional(boolean({ description: 'Each word may have one letter wrong.' }), false),
  },
  response: FoundOut,
});

export const listRecent = innerOperation({
  id: 'listRecent',
  access: 'read',
  summary: 'List the monitors and incidents of these ids, in their order',
  query: { ids: string({ description: 'Separated by dots; what is no id of ours is left out.' }) },
  response: FoundOut,
});

const ChosenOut = object('ChannelChoiceOut', { id: uuid(), name: string() });

const ChosenMonitorOut = object('ChannelMonitorChoiceOut', {
  ...ChosenOut.shape,
  words: string({ description: 'Its group and tags, by which it is found too.' }),
});

export const getChannelChoices = innerOperation({
  id: 'getChannelChoices',
  access: 'read',
  summary: 'List the monitors and groups that a channel may be for',
  response: object('ChannelChoicesOut', {
    monitors: array(ChosenMonitorOut),
    groups: array(ChosenOut),
  }),
});
