/**
 * Every page that is looked at in a browser: by the tests of all pages, and by `npm run
 * screenshots`. Who adds a page adds its row.
 */

import type { Tab } from '../support/browser.ts';
import type { Demo } from '../support/demo.ts';
import { ownJobOutage, ownSplit, ownSplitOutage, storesSlug } from '../support/own-outages.ts';
import {
  askedBy,
  ownAssistant,
  ownDeleted,
  ownImport,
  ownInvitation,
  ownMember,
  ownPasskey,
  ownProbe,
  ownProbeInvitation,
  ownSetAside,
  ownToken,
} from '../support/things-of-people.ts';

export type PageLook = {
  /** Names the picture. */
  readonly name: string;
  /** Some pages are of a thing that the demo made. */
  readonly path: string | ((demo: Demo) => string);
  /** Who looks; nobody is signed in for `stranger`. */
  readonly as: 'stranger' | 'owner' | 'viewer' | 'admin';
  /** What is done there first. */
  readonly first?: (tab: Tab) => Promise<void>;
  /** What the browser of a stranger brings along. */
  readonly cookie?: string;
  /** No two visits see the same, as of a secret that is made. */
  readonly isNewEachTime?: true;
};

const tryIt = async ({ page }: Tab): Promise<void> => {
  await page.getByRole('button', { name: 'Test from every continent' }).click();
  await page.locator('.trial-verdict').waitFor();
};

const openFolds = async ({ page }: Tab): Promise<void> => {
  for (const fold of await page.locator('.fold > summary').all()) await fold.click();
};

/** What opens at a button. */
const openMenu =
  (id: string) =>
  async ({ page }: Tab): Promise<void> => {
    await page.locator(`[popovertarget="${id}"]`).click();
    await page.locator(`#${id}`).waitFor();
  };

/** The bar of the selection, with a menu of it. */
const selectTwo = async (tab: Tab): Promise<void> => {
  for (const nth of [2, 3]) await tab.page.locator('[data-each]').nth(nth).check();
  await openMenu('bulk-mute')(tab);
};

const saveIt = async ({ page }: Tab): Promise<void> => {
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.locator('main [role="alert"]').waitFor();
};

const chooseMonitors = async ({ page }: Tab): Promise<void> => {
  await page.getByLabel('Selected groups and monitors').check();
};

/** Browsers without a screen let nobody notify them. */
const mayNotify = async ({ page }: Tab): Promise<void> => {
  await page.addInitScript(
    `Object.defineProperty(Notification, 'permission', { get: () => 'default' })`,
  );
  await page.reload();
};

/** Nothing leaves: a private address is no place for alerts. */
const sendTest = async ({ page }: Tab): Promise<void> => {
  await page.getByLabel('URL', { exact: true }).fill('https://10.0.0.1/hook');
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.locator('#trial, main [role="alert"]').waitFor();
};

const makeToken = async ({ page }: Tab): Promise<void> => {
  await page.getByLabel('Name').fill('Deployments');
  await page.getByRole('button', { name: 'Create token' }).click();
  await page.locator('.copyable').first().waitFor();
};

const makeWebhook = async ({ page }: Tab): Promise<void> => {
  await page.getByLabel('URL').fill('https://hooks.example.org/antipode');
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await page.locator('.copyable').first().waitFor();
};

const makePingKey = async ({ page }: Tab): Promise<void> => {
  await page.getByLabel('Name').fill('Nightly jobs');
  await page.getByRole('button', { name: 'Create ping key' }).click();
  await page.locator('.copyable').first().waitFor();
};

const inviteProbe = async ({ page }: Tab): Promise<void> => {
  await page.getByLabel('Name').fill(`Nairobi ${Date.now() % 1_000_000}`);
  await page.getByRole('button', { name: 'Create install command' }).click();
  await page.locator('.copyable').first().waitFor();
};

/** A colour that nobody could read. */
const chooseYellow = async (tab: Tab): Promise<void> => {
  await openFolds(tab);
  const { page } = tab;
  await page.getByLabel('Accent colour').fill('#ffcc00');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('main [role="alert"]').waitFor();
};

export const pageLooks: readonly PageLook[] = [
  { name: 'front', path: '/', as: 'stranger' },
  { name: 'dashboard', path: '/', as: 'owner' },
  { name: 'dashboard-selected', path: '/', as: 'owner', first: selectTwo },
  { name: 'dashboard-filter', path: '/', as: 'owner', first: openMenu('filter-menu') },
  { name: 'dashboard-account', path: '/', as: 'owner', first: openMenu('account-menu') },
  { name: 'dashboard-of-a-viewer', path: '/?sort=downtime&q=shop', as: 'viewer' },
  { name: 'trash', path: '/monitors/trash', as: 'owner' },
  { name: 'trash-delete', path: `/monitors/trash/${ownDeleted}/delete`, as: 'owner' },
  { name: 'certificates', path: '/certificates', as: 'owner' },
  { name: 'dashboard-without-a-find', path: '/?status=pending', as: 'owner' },
  { name: 'sign-in', path: '/sign-in', as: 'stranger' },
  { name: 'incidents', path: '/incidents', as: 'owner' },
  {
    name: 'incidents-filter',
    path: '/incidents?state=all&layer=http',
    as: 'owner',
    first: openMenu('filter-menu'),
  },
  { name: 'incident', path: ({ incident }) => `/incidents/${incident}`, as: 'owner' },
  {
    name: 'incident-menu',
    path: ({ incident }) => `/incidents/${incident}`,
    as: 'owner',
    first: openMenu('more-menu'),
  },
  { name: 'incident-of-a-viewer', path: ({ incident }) => `/incidents/${incident}`, as: 'viewer' },
  { name: 'incident-of-a-job', path: `/incidents/${ownJobOutage}`, as: 'owner' },
  { name: 'incident-outside', path: `/incidents/${ownSplitOutage}`, as: 'owner' },
  { name: 'about', path: '/about', as: 'stranger' },
  { name: 'docs', path: '/docs', as: 'stranger' },
  { name: 'docs-start', path: '/docs/start', as: 'stranger' },
  { name: 'docs-settings', path: '/docs/settings', as: 'owner' },
  { name: 'incident-shared', path: ({ share }) => `/shared/incidents/${share}`, as: 'stranger' },
  { name: 'monitor', path: ({ idOf }) => `/monitors/${idOf('Checkout')}`, as: 'owner' },
  {
    name: 'monitor-of-a-job-menu',
    path: ({ idOf }) => `/monitors/${idOf('Nightly backup')}`,
    as: 'owner',
    first: openMenu('more-menu'),
  },
  {
    name: 'monitor-checks',
    path: ({ idOf }) => `/monitors/${idOf('Checkout')}/checks`,
    as: 'owner',
  },
  {
    name: 'monitor-checks-of-none',
    path: ({ idOf }) => `/monitors/${idOf('Checkout')}/checks?outcome=unknown`,
    as: 'viewer',
  },
  {
    name: 'monitor-check',
    path: ({ idOf, check }) => `/monitors/${idOf('Checkout')}/${check}`,
    as: 'viewer',
  },
  { name: 'monitor-warned', path: ({ idOf }) => `/monitors/${idOf('Cart')}`, as: 'owner' },
  { name: 'monitor-of-a-port', path: ({ idOf }) => `/monitors/${idOf('Queue')}`, as: 'owner' },
  { name: 'monitor-of-a-host', path: ({ idOf }) => `/monitors/${idOf('Router')}`, as: 'owner' },
  { name: 'monitor-of-a-domain', path: ({ idOf }) => `/monitors/${idOf('Domain')}`, as: 'owner' },
  { name: 'dashboard-of-warnings', path: '/?warning=any', as: 'owner' },
  {
    name: 'monitor-of-a-month',
    path: ({ idOf }) => `/monitors/${idOf('Search API')}?window=30d`,
    as: 'viewer',
  },
  {
    name: 'monitor-of-a-job',
    path: ({ idOf }) => `/monitors/${idOf('Nightly backup')}`,
    as: 'owner',
  },
  { name: 'monitor-failing-inside', path: `/monitors/${ownSplit}`, as: 'owner' },
  { name: 'monitor-new-to-us', path: ({ idOf }) => `/monitors/${idOf('Newcomer')}`, as: 'owner' },
  { name: 'monitor-form', path: '/monitors/new', as: 'owner' },
  { name: 'monitor-form-unfolded', path: '/monitors/new', as: 'owner', first: openFolds },
  {
    name: 'monitor-form-tried',
    path: '/monitors/new?target=https://shop.example/checkout&name=Checkout',
    as: 'owner',
    first: tryIt,
  },
  {
    name: 'monitor-form-refused',
    path: '/monitors/new?target=ftp://shop.example',
    as: 'owner',
    first: saveIt,
  },
  {
    name: 'monitor-form-of-a-name-unfolded',
    path: '/monitors/new?type=dns',
    as: 'owner',
    first: openFolds,
  },
  { name: 'monitor-form-of-a-name', path: '/monitors/new?type=dns', as: 'owner' },
  {
    name: 'monitor-form-of-a-port',
    path: '/monitors/new?type=tcp',
    as: 'owner',
    first: openFolds,
  },
  {
    name: 'monitor-form-of-a-certificate',
    path: '/monitors/new?type=tls',
    as: 'owner',
    first: openFolds,
  },
  {
    name: 'monitor-form-of-a-websocket',
    path: '/monitors/new?type=websocket',
    as: 'owner',
    first: openFolds,
  },
  {
    name: 'monitor-form-of-grpc',
    path: '/monitors/new?type=grpc',
    as: 'owner',
    first: openFolds,
  },
  { name: 'monitor-form-of-a-job', path: '/monitors/new?type=heartbeat', as: 'owner' },
  { name: 'monitor-form-of-a-viewer', path: '/monitors/new', as: 'viewer' },
  { name: 'monitor-edit', path: ({ idOf }) => `/monitors/${idOf('Search API')}/edit`, as: 'owner' },
  { name: 'monitor-pause', path: ({ idOf }) => `/monitors/${idOf('Checkout')}/pause`, as: 'owner' },
  {
    name: 'monitor-resume',
    path: ({ idOf }) => `/monitors/${idOf('Staging')}/resume`,
    as: 'owner',
  },
  {
    name: 'monitor-delete',
    path: ({ idOf }) => `/monitors/${idOf('Checkout')}/delete`,
    as: 'owner',
  },
  { name: 'maintenance', path: '/maintenance', as: 'owner' },
  { name: 'maintenance-over-of-a-viewer', path: '/maintenance?over=true', as: 'viewer' },
  { name: 'maintenance-new', path: '/maintenance/new', as: 'owner' },
  {
    name: 'maintenance-new-for-a-monitor',
    path: ({ idOf }) => `/maintenance/new?when=now&monitor=${idOf('Checkout')}`,
    as: 'owner',
  },
  {
    name: 'maintenance-window',
    path: ({ windows }) => `/maintenance/${windows.certificates}`,
    as: 'owner',
  },
  {
    name: 'maintenance-window-repeating',
    path: ({ windows }) => `/maintenance/${windows.monthly}`,
    as: 'viewer',
  },
  {
    name: 'maintenance-edit',
    path: ({ windows }) => `/maintenance/${windows.monthly}/edit`,
    as: 'owner',
  },
  {
    name: 'maintenance-delete',
    path: ({ windows }) => `/maintenance/${windows.certificates}/delete`,
    as: 'owner',
  },
  { name: 'reports', path: '/reports?period=2026', as: 'owner' },
  {
    name: 'report-shared',
    path: ({ reportShare }) => `/shared/reports/${reportShare.secret}`,
    as: 'stranger',
  },
  {
    name: 'report-leave',
    path: ({ reportMail }) => `/reports/leave/${reportMail.leave}`,
    as: 'stranger',
  },
  { name: 'objectives', path: '/objectives', as: 'owner' },
  { name: 'objective', path: ({ objective }) => `/objectives/${objective}`, as: 'owner' },
  { name: 'objective-new', path: '/objectives/new', as: 'owner' },
  { name: 'objective-edit', path: ({ objective }) => `/objectives/${objective}/edit`, as: 'owner' },
  {
    name: 'objective-delete',
    path: ({ objective }) => `/objectives/${objective}/delete`,
    as: 'owner',
  },
  { name: 'groups', path: '/groups', as: 'owner' },
  { name: 'group-new', path: '/groups/new', as: 'owner' },
  { name: 'groups-of-a-viewer', path: '/groups', as: 'viewer' },
  { name: 'group', path: ({ groupOf }) => `/groups/${groupOf('Platform')}`, as: 'owner' },
  { name: 'group-of-a-viewer', path: ({ groupOf }) => `/groups/${groupOf('Shop')}`, as: 'viewer' },
  { name: 'group-add', path: ({ groupOf }) => `/groups/${groupOf('Jobs')}/add`, as: 'owner' },
  { name: 'group-edit', path: ({ groupOf }) => `/groups/${groupOf('Jobs')}/edit`, as: 'owner' },
  {
    name: 'group-delete',
    path: ({ groupOf }) => `/groups/${groupOf('Platform')}/delete`,
    as: 'owner',
  },
  { name: 'alerts', path: '/alerts', as: 'owner' },
  { name: 'alerts-of-a-viewer', path: '/alerts', as: 'viewer' },
  { name: 'alerts-kinds', path: '/alerts/new', as: 'owner' },
  { name: 'alerts-new', path: '/alerts/new?kind=webhook', as: 'owner' },
  {
    name: 'alerts-new-chosen',
    path: '/alerts/new?kind=telegram',
    as: 'owner',
    first: chooseMonitors,
  },
  {
    name: 'alerts-new-tried',
    path: '/alerts/new?kind=webhook',
    as: 'owner',
    first: sendTest,
    isNewEachTime: true,
  },
  { name: 'alerts-this-browser', path: '/alerts/this-browser', as: 'owner', first: mayNotify },
  { name: 'alerts-channel', path: ({ channels }) => `/alerts/${channels.ops}`, as: 'owner' },
  {
    name: 'alerts-channel-failing',
    path: ({ channels }) => `/alerts/${channels.pager}`,
    as: 'viewer',
  },
  { name: 'alerts-edit', path: ({ channels }) => `/alerts/${channels.pager}/edit`, as: 'owner' },
  {
    name: 'alerts-delete',
    path: ({ channels }) => `/alerts/${channels.pager}/delete`,
    as: 'owner',
  },
  {
    name: 'alerts-message',
    path: ({ channels }) => `/alerts/${channels.ops}/messages/${channels.message}`,
    as: 'viewer',
  },
  {
    name: 'alerts-acknowledge',
    path: ({ channels }) => `/acknowledge/${channels.links.acknowledge}`,
    as: 'stranger',
  },
  {
    name: 'alerts-acknowledge-short',
    path: ({ channels }) => `/a/${channels.links.acknowledge_short}`,
    as: 'stranger',
  },
  {
    name: 'alerts-unsubscribe',
    path: ({ channels }) => `/unsubscribe/${channels.links.unsubscribe}`,
    as: 'stranger',
  },
  {
    name: 'alerts-confirm',
    path: ({ channels }) => `/confirm-channel/${channels.question}`,
    as: 'stranger',
  },
  { name: 'alerts-confirm-too-late', path: `/confirm-channel/${'x'.repeat(43)}`, as: 'stranger' },
  { name: 'status-pages', path: '/status-pages', as: 'owner' },
  { name: 'status-page-new', path: '/status-pages/new', as: 'owner' },
  { name: 'status-page', path: ({ page }) => `/status-pages/${page.id}`, as: 'owner' },
  { name: 'status-page-of-a-viewer', path: ({ page }) => `/status-pages/${page.id}`, as: 'viewer' },
  {
    name: 'status-page-refused',
    path: ({ page }) => `/status-pages/${page.id}`,
    as: 'owner',
    first: chooseYellow,
  },
  {
    name: 'status-page-post',
    path: ({ page, incident }) => `/status-pages/${page.id}/incidents/${incident}`,
    as: 'owner',
  },
  {
    name: 'status-page-report-new',
    path: ({ page }) => `/status-pages/${page.id}/reports/new`,
    as: 'owner',
  },
  {
    name: 'status-page-report',
    path: ({ page }) => `/status-pages/${page.id}/reports/${page.report}`,
    as: 'owner',
  },
  {
    name: 'status-page-subscribers',
    path: ({ page }) => `/status-pages/${page.id}/subscribers`,
    as: 'owner',
  },
  {
    name: 'status-page-delete',
    path: ({ page }) => `/status-pages/${page.id}/delete`,
    as: 'owner',
  },
  { name: 'probes', path: '/probes', as: 'owner' },
  { name: 'probe-invite', path: '/probes/invite', as: 'owner' },
  { name: 'probe-end', path: `/probes/${ownProbe}/end`, as: 'owner' },
  { name: 'probe-awaited', path: `/probes/invitations/${ownProbeInvitation}`, as: 'owner' },
  {
    name: 'probe-invited',
    path: '/probes/invite',
    as: 'owner',
    first: inviteProbe,
    isNewEachTime: true,
  },
  { name: 'members', path: '/members', as: 'owner' },
  { name: 'members-of-a-viewer', path: '/members', as: 'viewer' },
  { name: 'invite', path: '/members/invite', as: 'owner' },
  { name: 'invitation-renew', path: `/members/invitations/${ownInvitation}/renew`, as: 'owner' },
  { name: 'member-role', path: `/members/${ownMember}/role`, as: 'owner' },
  { name: 'member-remove', path: `/members/${ownMember}/remove`, as: 'owner' },
  { name: 'member-leave', path: '/members/leave', as: 'viewer' },
  { name: 'organisation', path: '/organisation', as: 'owner' },
  { name: 'organisation-of-a-viewer', path: '/organisation', as: 'viewer' },
  { name: 'organisation-edit', path: '/organisation/edit', as: 'owner' },
  { name: 'organisation-delete', path: '/organisation/delete', as: 'owner' },
  { name: 'organisation-export', path: '/organisation/export', as: 'owner' },
  { name: 'import', path: '/import', as: 'owner' },
  { name: 'import-key', path: '/import?from=healthchecks', as: 'owner' },
  { name: 'import-preview', path: `/import/${ownImport}`, as: 'owner' },
  { name: 'audit', path: '/audit', as: 'owner' },
  { name: 'audit-of-nobody', path: '/audit?who=nobody@shop.example&from=2026-11-01', as: 'owner' },
  { name: 'audit-of-a-viewer', path: '/audit', as: 'viewer' },
  { name: 'tokens', path: '/tokens', as: 'owner' },
  { name: 'webhooks', path: '/webhooks', as: 'owner' },
  { name: 'webhooks-of-a-viewer', path: '/webhooks', as: 'viewer' },
  { name: 'webhook', path: ({ webhooks }) => `/webhooks/${webhooks.tickets}`, as: 'owner' },
  {
    name: 'webhook-of-a-viewer',
    path: ({ webhooks }) => `/webhooks/${webhooks.archive}`,
    as: 'viewer',
  },
  { name: 'webhook-off', path: ({ webhooks }) => `/webhooks/${webhooks.old}`, as: 'owner' },
  { name: 'webhook-new', path: '/webhooks/new', as: 'owner' },
  {
    name: 'webhook-made',
    path: '/webhooks/new',
    as: 'owner',
    first: makeWebhook,
    isNewEachTime: true,
  },
  {
    name: 'webhook-edit',
    path: ({ webhooks }) => `/webhooks/${webhooks.tickets}/edit`,
    as: 'owner',
  },
  {
    name: 'webhook-secret',
    path: ({ webhooks }) => `/webhooks/${webhooks.tickets}/secret`,
    as: 'owner',
  },
  {
    name: 'webhook-delete',
    path: ({ webhooks }) => `/webhooks/${webhooks.tickets}/delete`,
    as: 'owner',
  },
  { name: 'ping-keys', path: '/ping-keys', as: 'owner' },
  {
    name: 'ping-key-made',
    path: '/ping-keys',
    as: 'owner',
    first: makePingKey,
    isNewEachTime: true,
  },
  { name: 'tokens-of-a-viewer', path: '/tokens', as: 'viewer' },
  { name: 'token-new', path: '/tokens/new', as: 'owner' },
  { name: 'token-made', path: '/tokens/new', as: 'owner', first: makeToken, isNewEachTime: true },
  { name: 'token-revoke', path: `/tokens/${ownToken}/revoke`, as: 'owner' },
  {
    name: 'assistant-disconnect',
    path: `/tokens/assistants/${ownAssistant}/disconnect`,
    as: 'owner',
  },
  { name: 'connect', path: askedBy('site'), as: 'owner' },
  { name: 'connect-a-program', path: askedBy('machine'), as: 'viewer' },
  { name: 'connect-failed', path: '/connect/failed?why=invalid_client', as: 'stranger' },
  { name: 'profile', path: '/profile', as: 'owner' },
  { name: 'profile-name', path: '/profile/name', as: 'owner' },
  { name: 'profile-email', path: '/profile/email', as: 'owner' },
  { name: 'profile-password', path: '/profile/password', as: 'owner' },
  {
    name: 'second-step-set-up',
    path: '/profile/two-step/set-up',
    as: 'owner',
    isNewEachTime: true,
  },
  { name: 'second-step', path: '/profile/two-step', as: 'viewer' },
  { name: 'second-step-codes', path: '/profile/two-step/codes', as: 'viewer' },
  { name: 'second-step-off', path: '/profile/two-step/off', as: 'viewer' },
  {
    name: 'second-step-asked',
    path: '/sign-in/second-step',
    as: 'stranger',
    cookie: 'second_step=x',
  },
  { name: 'providers', path: '/profile/providers', as: 'viewer' },
  { name: 'provider-search', path: '/sign-in/provider', as: 'stranger' },
  { name: 'provider', path: '/organisation/sign-in', as: 'owner' },
  { name: 'provisioning', path: '/organisation/sign-in/provisioning', as: 'owner' },
  { name: 'provisioning-end', path: '/organisation/sign-in/provisioning/end', as: 'owner' },
  { name: 'provider-remove', path: '/organisation/sign-in/remove', as: 'owner' },
  { name: 'passkeys', path: '/profile/passkeys', as: 'viewer' },
  { name: 'passkeys-none', path: '/profile/passkeys', as: 'owner' },
  { name: 'passkey-new', path: '/profile/passkeys/new', as: 'viewer' },
  { name: 'passkey-remove', path: `/profile/passkeys/${ownPasskey}/remove`, as: 'viewer' },
  { name: 'confirm-by-passkey', path: '/confirm', as: 'viewer' },
  { name: 'profile-of-a-viewer', path: '/profile', as: 'viewer' },
  { name: 'sessions', path: '/profile/sessions', as: 'owner' },
  { name: 'organisations', path: '/organisations', as: 'owner' },
  { name: 'organisation-new', path: '/organisations/new', as: 'owner' },
  { name: 'confirm', path: '/confirm', as: 'owner' },
  { name: 'sign-out', path: '/sign-out', as: 'owner' },
  { name: 'sign-up', path: '/sign-up', as: 'stranger' },
  { name: 'forgot', path: '/forgot', as: 'stranger' },
  { name: 'enter', path: `/enter/${'x'.repeat(43)}`, as: 'stranger' },
  { name: 'link-of-nobody', path: `/join/${'x'.repeat(43)}`, as: 'stranger' },
  { name: 'public', path: ({ page }) => `/status/${page.slug}`, as: 'stranger' },
  { name: 'public-of-a-cause', path: `/status/${storesSlug}`, as: 'stranger' },
  { name: 'public-in-german', path: ({ page }) => `/status/${page.slug}?lang=de`, as: 'stranger' },
  {
    name: 'public-service',
    path: ({ page, idOf }) => `/status/${page.slug}/services/${idOf('Checkout')}`,
    as: 'stranger',
  },
  { name: 'public-embed', path: ({ page }) => `/embed/${page.slug}`, as: 'stranger' },
  { name: 'public-locked', path: '/status/inner', as: 'stranger' },
  { name: 'search', path: '/search?q=shop', as: 'owner' },
  { name: 'shortcuts', path: '/shortcuts', as: 'viewer' },
  // Of these the admin is the one who runs the installation.
  { name: 'operator', path: '/operator', as: 'admin' },
  { name: 'operator-set-aside', path: `/operator/set-aside/${ownSetAside}`, as: 'admin' },
  {
    name: 'operator-set-aside-delete',
    path: `/operator/set-aside/${ownSetAside}/delete`,
    as: 'admin',
  },
  { name: 'not-found', path: '/nothing', as: 'owner' },
];

/** What people see most: `npm test` looks at these, and their pictures are kept. */
const main = [
  'front',
  'sign-in',
  'dashboard',
  'dashboard-selected',
  'dashboard-filter',
  'monitor',
  'monitor-of-a-job',
  'monitor-of-a-job-menu',
  'monitor-form',
  'incident',
  'incidents',
];
export const mainLooks = pageLooks.filter(({ name }) => main.includes(name));

/** Where it is, once the demo is there. */
export const addressOf = ({ path }: PageLook, demo: Demo): string =>
  typeof path === 'string' ? path : path(demo);
