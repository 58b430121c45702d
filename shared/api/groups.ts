import { dateTime, grown, integer, maybe, nullable, object, string, uuid } from './fields.ts';
import { exampleIds, operation, page, pageQuery, patched } from './operation.ts';
import { warnings } from './warnings.ts';

export const GroupOut = object('GroupOut', {
  id: uuid({ example: exampleIds.group }),
  name: string({ example: 'Web' }),
  description: nullable(string({ example: 'Everything that customers see' })),
  monitors: integer(
    {},
    {
      description: 'How many monitors are in the group; each monitor names its group.',
      example: 4,
    },
  ),
  created_at: dateTime({ example: '2026-11-02T09:30:00.000Z' }),
  external_id: maybe(string(), {
    description: 'What a program calls it by; unique among the groups of the organisation.',
    example: null,
  }),
  status: grown(
    string({
      description:
        'The one status of the group, the worst of its enabled monitors that affect it: `down`, `verifying`, `pending` or `up`; `paused` when none is enabled, `pending` without monitors.',
      example: 'verifying',
    }),
    'pending',
  ),
  down: grown(
    integer(
      {},
      {
        description: 'How many of its monitors are so; the five add up to `monitors`.',
        example: 0,
      },
    ),
    0,
  ),
  verifying: grown(integer({}, { meaning: 'How many are being verified.', example: 1 }), 0),
  up: grown(integer({}, { meaning: 'How many are up.', example: 3 }), 0),
  pending: grown(integer({}, { meaning: 'How many have no result yet.', example: 0 }), 0),
  paused: grown(integer({}, { meaning: 'How many are paused.', example: 0 }), 0),
  warned: grown(integer({}, { meaning: 'How many have warnings.', example: 0 }), 0),
  warnings,
});

const GroupPage = page('GroupPage', GroupOut);

const GroupIn = object('GroupIn', {
  name: string({ minLength: 1, limits: { maxLength: 200 }, example: 'Web' }),
  description: maybe(
    string({ limits: { maxLength: 2_000 }, example: 'Everything that customers see' }),
  ),
  external_id: maybe(string(), {
    description:
      'What your program calls it by, up to 200 characters. Where a group has it already, that one is changed.',
    limits: { maxLength: 200 },
  }),
});

const GroupPatch = object(
  'GroupPatch',
  {
    name: maybe(string({ minLength: 1, limits: { maxLength: 200 } })),
    description: maybe(string(), {
      description: 'An empty one takes it away; null leaves it.',
      limits: { maxLength: 2_000 },
      example: 'Everything that customers see',
    }),
    external_id: maybe(string(), {
      description: 'An empty one takes it away.',
      limits: { maxLength: 200 },
    }),
  },
  patched,
);

const groupId = { group_id: uuid() };

export const listGroups = operation({
  id: 'listGroups',
  method: 'GET',
  path: '/api/v1/groups',
  tag: 'Groups',
  access: 'read',
  summary: 'List groups',
  description: 'Oldest first.',
  query: pageQuery,
  response: GroupPage,
  columns: ['status', 'name', 'description', 'monitors', 'id'],
});

export const createGroup = operation({
  id: 'createGroup',
  method: 'POST',
  path: '/api/v1/groups',
  tag: 'Groups',
  access: 'write',
  summary: 'Create a group, or get the one of that name',
  description:
    'Names compare after trimming and without case. A group that has the name already is answered as it is; one that has the `external_id` is changed to what is sent.',
  body: GroupIn,
  response: GroupOut,
  success: 201,
  otherSuccess: {
    status: 200,
    when: 'A group of that name or `external_id` exists already; this is it.',
  },
  refusals: [
    'name_invalid',
    'description_invalid',
    'external_id_invalid',
    'name_taken',
    'external_id_taken',
    'plan_limit_groups',
  ],
});

export const getGroup = operation({
  id: 'getGroup',
  method: 'GET',
  path: '/api/v1/groups/{group_id}',
  tag: 'Groups',
  access: 'read',
  summary: 'Get a group',
  params: groupId,
  response: GroupOut,
  refusals: ['group_not_found'],
});

export const updateGroup = operation({
  id: 'updateGroup',
  method: 'PATCH',
  path: '/api/v1/groups/{group_id}',
  tag: 'Groups',
  access: 'write',
  summary: 'Change a group',
  params: groupId,
  body: GroupPatch,
  response: GroupOut,
  refusals: [
    'group_not_found',
    'name_invalid',
    'description_invalid',
    'external_id_invalid',
    'name_taken',
    'external_id_taken',
  ],
});

export const deleteGroup = operation({
  id: 'deleteGroup',
  method: 'DELETE',
  path: '/api/v1/groups/{group_id}',
  tag: 'Groups',
  access: 'write',
  summary: 'Delete a group',
  description: 'Its monitors remain, without a group.',
  params: groupId,
  refusals: ['group_not_found'],
});
