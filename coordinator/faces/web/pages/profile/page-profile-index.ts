import type { Page } from '../../web-page.ts';
import {
  profileEmail,
  profileName,
  profilePage,
  profilePassword,
  writeProfileEmail,
  writeProfileName,
  writeProfilePassword,
} from './page-profile.ts';
import { newOrganisation, newOrganisationPage } from './page-profile-new-organisation.ts';
import { organisationsPage, switchOrganisation } from './page-profile-organisations.ts';
import { dropPasskey, newPasskey, newPasskeyOptions, newPasskeyPage, passkeysPage, removePasskeyPage } from './page-profile-passkeys.ts';
import { newCodes, newCodesPage, setUp, setUpPage, turnOff, turnOffPage, twoStepPage } from './page-profile-second-factor.ts';
import { endAllOthers, endOneSession, sessionsPage } from './page-profile-sessions.ts';

/** What is a person's own. */
export const ownPages: readonly Page[] = [
  ...[profilePage, profileName, writeProfileName, profileEmail, writeProfileEmail, profilePassword, writeProfilePassword],
  ...[twoStepPage, setUpPage, setUp, newCodesPage, newCodes, turnOffPage, turnOff],
  ...[passkeysPage, newPasskeyPage, newPasskeyOptions, newPasskey, removePasskeyPage, dropPasskey],
  ...[sessionsPage, endAllOthers, endOneSession, organisationsPage, switchOrganisation, newOrganisationPage, newOrganisation],
];
