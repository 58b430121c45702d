/** For test files: a public page as a value. */

import { type Seen, type View, viewOf } from '../../coordinator/status-pages/public/render.ts';
import type { PublicDay, PublicIncident, PublicMonitor, PublicPage } from '../../coordinator/status-pages/public/snapshot.ts';
import { newId } from '../../shared/base/crypto.ts';

export const pageNow = Date.parse('2026-11-22T13:08:00Z');
const day = 86_400_000;

export const dayUp = (from: number): PublicDay => ({ from, up: day, down: 0, maintenance: 0, unknown: 0 });

export const publicMonitor = (name: string, more: Partial<PublicMonitor> = {}): PublicMonitor => ({
  ...{ kind: 'monitor', id: newId(), name, isUnder: false, state: 'up' },
  days: Array.from({ length: 90 }, (_, index) => dayUp(pageNow - (90 - index) * day)),
  percent: { 7: 100, 30: 100, 90: 100 },
  responseMs: 143.4,
  ...more,
});

export const publicIncident = (of: PublicMonitor, more: Partial<PublicIncident> = {}): PublicIncident => ({
  ...{ id: newId(), monitors: [of.id], names: [of.name], startedAt: pageNow - 6 * 60_000, resolvedAt: null, posts: [] },
  ...more,
});

export const publicPage = (more: Partial<PublicPage> = {}): PublicPage => ({
  ...{ slug: 'shop', title: 'Shop status', description: null, language: 'en', accent: null, hasLogo: false, zone: 'Europe/Berlin' },
  ...{ now: pageNow, rows: [], incidents: [], maintenance: [] },
  ...more,
});

export const publicView = (page: PublicPage, seen: Partial<Seen> = {}): View =>
  viewOf(page, { root: '/status/shop', origin: 'https://antipode.test/status/shop', isStale: false, hasMail: true, ...seen });
