import { createOrganisation, createToken, createUser, removeMember, revokeToken, setMemberRole } from './account.ts';
import { getBeatAddress, listBeats, rotateBeatAddress } from './beats.ts';
import { showIncident } from './incidents.ts';
import { createProbe, listProbes, revokeProbe, rotateProbe } from './probes.ts';
import { createStatusPage } from './status-pages.ts';
import { dropSetAside, listNotices, listRefused, listSetAside, retrySetAside, showSetAside } from './upkeep.ts';

/** What the API does not offer and pages and the operator's commands need; kept apart, so that the programs on people's machines do without. */

/** Done in an organisation, by somebody who may. */
export const innerOperations = {
  createUser,
  setMemberRole,
  removeMember,
  createToken,
  revokeToken,
  createStatusPage,
  getBeatAddress,
  rotateBeatAddress,
  listBeats,
  showIncident,
} as const;

/** Done to the installation, by the operator alone. */
export const installationOperations = {
  createOrganisation,
  createProbe,
  rotateProbe,
  revokeProbe,
  listProbes,
  listNotices,
  listRefused,
  listSetAside,
  showSetAside,
  retrySetAside,
  dropSetAside,
} as const;
