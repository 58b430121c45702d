import { array, boolean, dateTime, nullable, object, string, uuid } from './fields.ts';
import { exampleIds, operation } from './operation.ts';

/** The wall: every monitor as a square, for a screen that hangs somewhere. */

export const showWall = operation({
  id: 'showWall',
  method: 'GET',
  path: '/api/v1/wall',
  tag: 'Wall',
  access: 'read',
  summary: 'Get every monitor with its status, by group',
  description: 'Up to two thousand, as the wall shows them.',
  response: object('WallOut', {
    groups: array(
      object('WallGroupOut', {
        name: nullable(string(), {
          description: 'Of the group; null: monitors without one.',
          example: 'Web',
        }),
        monitors: array(
          object('WallMonitorOut', {
            id: uuid({ example: exampleIds.monitor }),
            name: string({ example: 'Shop' }),
            status: string({
              description: '`down`, `verifying`, `up`, `maintenance`, `pending` or `paused`.',
              example: 'up',
            }),
          }),
          { meaning: 'Its monitors.' },
        ),
      }),
      { meaning: 'The groups.' },
    ),
    is_whole: boolean({
      description: 'False where there are more than a wall shows.',
      example: true,
    }),
    link: nullable(
      object('WallLinkMadeOut', {
        by: nullable(string({ meaning: 'Who made it.', example: 'Ada' })),
        at: dateTime({ meaning: 'When it was made.', example: '2026-11-20T12:00:00.000Z' }),
        has_left: boolean({
          description: 'Whether its maker has left; it works on, until someone revokes it.',
          example: false,
        }),
      }),
      { description: 'The link that shows the wall to others, while there is one.' },
    ),
  }),
  success: 200,
});

export const createWallLink = operation({
  id: 'createWallLink',
  method: 'POST',
  path: '/api/v1/wall/link',
  tag: 'Wall',
  access: 'write',
  summary: 'Create a link that shows the wall to anyone who has it',
  description: 'It replaces the one before.',
  response: object('WallLinkOut', {
    address: string({
      description: 'Shown once.',
      example: 'https://antipode.example.com/wall/9yQm0000000000000000000000000000',
    }),
  }),
  success: 201,
});

export const revokeWallLink = operation({
  id: 'revokeWallLink',
  method: 'DELETE',
  path: '/api/v1/wall/link',
  tag: 'Wall',
  access: 'write',
  summary: 'Revoke the link that shows the wall',
  success: 204,
});
