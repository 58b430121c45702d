import type { Page } from '../../page.ts';
import { newOrganisation, newOrganisationPage } from './new-organisation.ts';
import { organisationsPage, switchOrganisation } from './organisations.ts';
import { dropPasskey, newPasskey, newPasskeyOptions, newPasskeyPage, passkeysPage, removePasskeyPage } from './passkeys.ts';
import {
  profileEmail,
  profileName,
  profilePage,
  profilePassword,
  writeProfileEmail,
  writeProfileName,
  writeProfilePassword,
} from './profile.ts';
import { newCodes, newCodesPage, setUp, setUpPage, turnOff, turnOffPage, twoStepPage } from './second-factor.ts';
import { endAllOthers, endOneSession, sessionsPage } from './sessions.ts';

/** What is a person's own. */
export const ownPages: readonly Page[] = [
  ...[profilePage, profileName, writeProfileName, profileEmail, writeProfileEmail, profilePassword, writeProfilePassword],
  ...[twoStepPage, setUpPage, setUp, newCodesPage, newCodes, turnOffPage, turnOff],
  ...[passkeysPage, newPasskeyPage, newPasskeyOptions, newPasskey, removePasskeyPage, dropPasskey],
  ...[sessionsPage, endAllOthers, endOneSession, organisationsPage, switchOrganisation, newOrganisationPage, newOrganisation],
];
