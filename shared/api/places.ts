import { array, integer, nullable, object, string, uuid } from './fields.ts';
import { exampleIds, operation, page, pageQuery } from './operation.ts';
import { countedMinutes } from './probes.ts';

/**
 * Places: where monitors are checked from. A continent and a region of one are places of the
 * installation; private probes make places of their organisation.
 */

export { publicPlace } from '../checks/places.ts';

const place = {
  id: string({
    description:
      'Of a private place a UUID; of a public one its continent, or its continent and region. `config.places` takes it.',
    example: 'Europe/Frankfurt',
  }),
  name: string({ example: 'Frankfurt' }),
  continent: string({ meaning: 'Where it is.', example: 'Europe' }),
  region: nullable(string(), {
    description: 'Of a public place that is a part of its continent.',
    example: 'Frankfurt',
  }),
  owner: string({
    description: '`installation`: it checks for everyone; `organisation`: it is yours alone.',
    example: 'installation',
  }),
  state: string({
    description:
      '`well` while one of its probes is; otherwise what comes nearest: `quarantined`, `doubted`, `lost`, or `unseen` before one was ever heard.',
    example: 'well',
  }),
  kinds: array(string(), {
    description: 'The types of monitors that one of its probes can check.',
    example: ['https', 'dns', 'tcp', 'tls', 'icmp'],
  }),
  monitors: integer(
    {},
    {
      description: `How many of your monitors were checked from there in the last ${countedMinutes} minutes.`,
      example: 42,
    },
  ),
  probe_count: integer({}, { description: 'How many probes it has.', example: 2 }),
  probes: array(
    object('PlaceProbeOut', {
      id: uuid({ example: exampleIds.probe }),
      name: string({ example: 'fra-1' }),
      state: string({ meaning: 'As in the list of probes.', example: 'well' }),
      addresses: array(string(), {
        description: 'Of a public probe, as in the list of probes.',
        example: ['203.0.113.20'],
      }),
    }),
    { description: 'Its probes, which share its monitors and check for one another.' },
  ),
};

const PlaceOut = object('PlaceOut', place);
const params = {
  place_id: string({ minLength: 1, limits: { maxLength: 200 }, meaning: 'The id of the place.' }),
};

export const listPlaces = operation({
  id: 'listPlaces',
  method: 'GET',
  path: '/api/v1/places',
  tag: 'Probes',
  access: 'read',
  summary: 'List locations',
  description:
    'By continent: the continent itself, its regions, and your private places there. A place without a probe is not listed.',
  query: pageQuery,
  response: page('PlacePage', PlaceOut),
  columns: ['state', 'name', 'continent', 'owner', 'probe_count', 'id'],
});

export const getPlace = operation({
  id: 'getPlace',
  method: 'GET',
  path: '/api/v1/places/{place_id}',
  tag: 'Probes',
  access: 'read',
  summary: 'Get a place',
  description: 'In the path, the slash of `Europe/Frankfurt` is written `%2F`.',
  params,
  response: PlaceOut,
  refusals: ['place_not_found'],
});

export const updatePlace = operation({
  id: 'updatePlace',
  method: 'PATCH',
  path: '/api/v1/places/{place_id}',
  tag: 'Probes',
  access: 'manage',
  summary: 'Rename a private place',
  description:
    'Monitors that name it go on, and name it so from then on. Its probes keep their names.',
  params,
  body: object('PlacePatchIn', {
    name: string({ minLength: 1, limits: { maxLength: 200 }, example: 'Office Berlin' }),
  }),
  response: PlaceOut,
  refusals: ['place_not_found', 'name_invalid', 'name_taken'],
});
