import { installationOperations, operatorOperations } from '../../shared/api/inner/inner-index.ts';
import { createOrganisation } from './account/create-organisation.ts';
import { createSignInLink } from './coming-in/create-sign-in-link.ts';
import { dropSetAside } from './house/drop-set-aside.ts';
import { listNotices } from './house/list-notices.ts';
import { listRefused } from './house/list-refused.ts';
import { listSetAside } from './house/list-set-aside.ts';
import { retrySetAside } from './house/retry-set-aside.ts';
import { sayOutageFalse } from './house/say-outage-false.ts';
import { showSetAside } from './house/show-set-aside.ts';
import { type Bound, bind } from './operation-bind.ts';
import { listOrganisations } from './operator/list-organisations.ts';
import { markOperator, unmarkOperator } from './operator/mark-operator.ts';
import { showFigures } from './operator/show-figures.ts';
import { createProbe } from './probes/create-probe.ts';
import { invitePublicProbe, listAllProbeInvitations, revokeAnyProbeInvitation } from './probes/invite-probe.ts';
import { listProbes } from './probes/list-probes.ts';
import { revokeProbe } from './probes/revoke-probe.ts';
import { rotateProbe } from './probes/rotate-probe.ts';
import { trustProbe } from './probes/trust-probe.ts';

/** What an operator may do at the browser, too: nothing that lets somebody in. */
export const operatorHandlers: { readonly [Id in keyof typeof operatorOperations]: Bound<object> } = {
  listProbes: bind(operatorOperations.listProbes, listProbes),
  listNotices: bind(operatorOperations.listNotices, listNotices),
  listRefused: bind(operatorOperations.listRefused, listRefused),
  listSetAside: bind(operatorOperations.listSetAside, listSetAside),
  showSetAside: bind(operatorOperations.showSetAside, showSetAside),
  retrySetAside: bind(operatorOperations.retrySetAside, retrySetAside),
  dropSetAside: bind(operatorOperations.dropSetAside, dropSetAside),
  listOrganisations: bind(operatorOperations.listOrganisations, listOrganisations),
  showFigures: bind(operatorOperations.showFigures, showFigures),
};

/** What the operator does to the installation, at the machine itself. */
export const installationHandlers: { readonly [Id in keyof typeof installationOperations]: Bound<object> } = {
  createOrganisation: bind(installationOperations.createOrganisation, createOrganisation),
  createSignInLink: bind(installationOperations.createSignInLink, createSignInLink),
  markOperator: bind(installationOperations.markOperator, markOperator),
  unmarkOperator: bind(installationOperations.unmarkOperator, unmarkOperator),
  createProbe: bind(installationOperations.createProbe, createProbe),
  rotateProbe: bind(installationOperations.rotateProbe, rotateProbe),
  revokeProbe: bind(installationOperations.revokeProbe, revokeProbe),
  trustProbe: bind(installationOperations.trustProbe, trustProbe),
  invitePublicProbe: bind(installationOperations.invitePublicProbe, invitePublicProbe),
  listAllProbeInvitations: bind(installationOperations.listAllProbeInvitations, listAllProbeInvitations),
  revokeAnyProbeInvitation: bind(installationOperations.revokeAnyProbeInvitation, revokeAnyProbeInvitation),
  sayOutageFalse: bind(installationOperations.sayOutageFalse, sayOutageFalse),
  ...operatorHandlers,
};
