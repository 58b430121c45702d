import type { Choice } from '../web-forms.ts';

const roles: readonly Choice[] = [
  { value: 'member', label: 'Member', help: 'Adds and changes what is watched.' },
  { value: 'viewer', label: 'Viewer', help: 'Looks, and changes nothing.' },
  { value: 'admin', label: 'Admin', help: 'Also looks after members, probes and the plan.' },
];

/** What somebody of a role may make of others: owners alone make owners. */
export const rolesFor = (own: string): readonly Choice[] => [
  ...roles,
  {
    ...{ value: 'owner', label: 'Owner', disabled: own !== 'owner' },
    help:
      own === 'owner'
        ? 'As an admin, and makes owners; an organisation always has one.'
        : 'An organisation always has one; owners alone make another.',
  },
];
