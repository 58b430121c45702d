import { expect, test } from 'vitest';
import { pageLanguages } from '../../../../coordinator/status-pages/model.ts';
import { pageJson } from '../../../../coordinator/status-pages/public/feeds.ts';
import { mainPage } from '../../../../coordinator/status-pages/public/render.ts';
import { publicMonitor, publicPage, publicView } from '../../../support/web.ts';

const promise = { name: 'Shop', target: 99.995, latency_ms: null, period: '30d' } as const;
const page = publicPage({
  rows: [publicMonitor('Checkout')],
  objectives: [
    { ...promise, percent: 99.99, left: -60_000 },
    { ...promise, name: 'Fast', latency_ms: 400, period: 'month', percent: 97.5, left: 12 },
    { ...promise, name: 'New', percent: null, left: null },
  ],
});

test('say what is promised, what was measured, and whether it is kept, in four languages', () => {
  const said = pageLanguages.map((language) => {
    const [, card = ''] = mainPage(publicView(page, { language }), '/style.css').split(
      /<h2>(?=\w+ ?)/,
    );
    const text = (card.split('</section>')[0] ?? '').replaceAll(/<[^>]*>|\s+/g, ' ');
    return text.replaceAll(/ +/g, ' ').trim();
  });
  expect(said).toEqual([
    'Service levels Shop Missed · 99.99% Promised: 99.995% over 30 days Fast Kept · 97.5% Promised: 99.995% within 400 ms this month New No data yet Promised: 99.995% over 30 days',
    'Zusagen Shop Nicht eingehalten · 99,99 % Zugesagt: 99,995 % in 30 Tagen Fast Eingehalten · 97,5 % Zugesagt: 99,995 % nach höchstens 400 ms in diesem Monat New Noch keine Daten Zugesagt: 99,995 % in 30 Tagen',
    'Niveaux de service Shop Non respecté · 99,99 % Promis : 99,995 % sur 30 jours Fast Respecté · 97,5 % Promis : 99,995 % en 400 ms au plus ce mois-ci New Pas encore de données Promis : 99,995 % sur 30 jours',
    'Niveles de servicio Shop No cumplido · 99,99 % Prometido: 99,995 % en 30 días Fast Cumplido · 97,5 % Prometido: 99,995 % en 400 ms como máximo este mes New Todavía sin datos Prometido: 99,995 % en 30 días',
  ]);
  expect(JSON.parse(pageJson(publicView(page))).objectives).toEqual([
    { ...promise, percent: 99.99, kept: false },
    { ...promise, name: 'Fast', latency_ms: 400, period: 'month', percent: 97.5, kept: true },
    { ...promise, name: 'New', percent: null, kept: null },
  ]);
});
