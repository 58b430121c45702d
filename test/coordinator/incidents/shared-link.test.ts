import { beforeAll, describe, expect, test } from 'vitest';
import { createShares, type Shares } from '../../../coordinator/incidents/shared-link.ts';
import {
  addIncidentNote,
  getIncidentEvidence,
  shareIncident,
  withdrawIncidentShare,
} from '../../../shared/api/incidents.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { testResults } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

describe('sharing', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  let shares: Shares;

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql);
    shares = createShares(bench.sql, testResults(), { now: () => bench.now });
  });

  const incident = async (): Promise<string> => {
    const { id: monitor } = await bench.call(createMonitor, house.owner, {
      type: 'https',
      name: 'Checkout',
      target: 'https://shop.example/secret-path?token=hidden',
    });
    const id = newId();
    await bench.sql`
    insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_probe, seen_continent, cause, scope, layer)
    values (${id}, ${house.organisation}, ${monitor}, now() - interval '5 minutes', now() - interval '4 minutes', 'own-probe-7', 'Europe',
      '{"class":"unexpected_status","params":{"status":503,"expected":"2xx"}}', 'everywhere', 'http')`;
    await bench.sql`
    insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms, cause, evidence)
    values (${id}, 'seen', 'Europe', 'own-probe-7', now() - interval '5 minutes', 1, 12, '{"class":"unexpected_status","params":{"status":503,"expected":"2xx"}}',
      '{"status":503,"address":"203.0.113.10","body":"upstream leaked","headers":{"server":"nginx"}}')`;
    return id;
  };

  const textOf = (link: string): string => link.slice(link.lastIndexOf('/') + 1);

  describe('a share link', () => {
    test('says how many addresses the places got, and not which', async () => {
      const id = await incident();
      await bench.sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome,
          took_ms, evidence)
        values (${id}, 'matrix', 'Asia', 'Singapore', now(), 0, 12, '{"address":"203.0.113.77"}'),
          (${id}, 'confirmed', 'Africa', 'Lagos', now(), 1, 12, '{"address":"203.0.113.10"}')`;
      const { link } = await bench.call(shareIncident, house.member, { incident_id: id });
      const seen = await shares.read(textOf(link));
      expect(seen?.addresses).toBe(2);
      expect(JSON.stringify(seen)).not.toContain('203.0.113');
    });

    test('says that places inside answer, and not whose they are', async () => {
      const [id, place] = [await incident(), newId()];
      await bench.sql`insert into places (id, organisation_id, name, continent)
        values (${place}, ${house.organisation}, 'Office Berlin', 'Europe')`;
      const across = { failed: [], passed: [place] };
      const seenBy = { failed: ['Europe', 'Asia'], passed: [], asked: ['Europe', 'Asia'], across };
      await bench.sql`update incidents set
        progress = ${JSON.stringify({ progress: seenBy })}::text::jsonb where id = ${id}`;
      const { link } = await bench.call(shareIncident, house.member, { incident_id: id });
      const seen = await shares.read(textOf(link));
      expect(seen?.sides).toEqual({
        verdict: 'way_in',
        sentence: 'Up inside, down from two continents: check edge, firewall or DNS.',
        inside: { failing: [], passing: [] },
        outside: { failing: ['Europe', 'Asia'], passing: [] },
      });
      expect(JSON.stringify(seen)).not.toMatch(new RegExp(`Office Berlin|${place}`));
    });

    test('shows verdict, times, causes and continents, and no content of the target, no address, no note, no person', async () => {
      const id = await incident();
      await bench.call(addIncidentNote, house.member, {
        incident_id: id,
        text: 'We deployed at noon',
      });
      const { link } = await bench.call(shareIncident, house.member, { incident_id: id });
      expect(link).toMatch(/^https:\/\/antipode\.test\/shared\/incidents\/[A-Za-z0-9_-]{32}$/);
      const seen = await shares.read(textOf(link));
      expect(seen).toMatchObject({
        name: 'Checkout',
        scope: 'everywhere',
        layer: 'http',
        resolved_at: null,
        cause: expect.stringContaining('503'),
        checks: [{ part: 'seen', continent: 'Europe', outcome: 'fail' }],
      });
      const text = JSON.stringify(seen);
      for (const hidden of [
        '203.0.113.10',
        'upstream',
        'nginx',
        'secret-path',
        'hidden',
        'noon',
        'own-probe',
        house.member.email,
      ])
        expect(text).not.toContain(hidden);
    });

    test('shows nothing any more once it was withdrawn, or another was made', async () => {
      const id = await incident();
      const first = textOf(
        (await bench.call(shareIncident, house.member, { incident_id: id })).link,
      );
      const second = textOf(
        (await bench.call(shareIncident, house.member, { incident_id: id })).link,
      );
      expect(await shares.read(first)).toBeUndefined();
      expect(await shares.read(second)).toBeDefined();
      expect(
        (await bench.call(getIncidentEvidence, house.viewer, { incident_id: id })).share,
      ).toMatchObject({ by: house.member.email });
      await bench.call(withdrawIncidentShare, house.member, { incident_id: id });
      expect(await shares.read(second)).toBeUndefined();
      expect(await bench.refusal(withdrawIncidentShare, house.member, { incident_id: id })).toBe(
        'share_not_found',
      );
    });

    test('that does not exist shows nothing, however it is written', async () => {
      for (const text of [
        '',
        'x',
        'A'.repeat(32),
        `${'A'.repeat(31)}\u0000`,
        '../../etc',
        'A'.repeat(5_000),
      ])
        expect(await shares.read(text)).toBeUndefined();
    });

    test('is stored as a hash alone', async () => {
      const { link } = await bench.call(shareIncident, house.member, {
        incident_id: await incident(),
      });
      const rows = await bench.sql<
        { row: string }[]
      >`select row_to_json(s)::text as row from shares s`;
      for (const { row } of rows) expect(row).not.toContain(textOf(link));
    });
  });

  describe('a note on an incident', () => {
    test('is read by all, oldest first', async () => {
      const id = await incident();
      for (const [who, text] of [
        [house.member, 'First'],
        [house.owner, '  Second\nline  '],
      ] as const) {
        bench.now += 1_000;
        expect(await bench.call(addIncidentNote, who, { incident_id: id, text })).toMatchObject({
          by: who.email,
          at: new Date(bench.now).toISOString(),
          text: text.trim(),
        });
      }
      expect(
        (await bench.call(getIncidentEvidence, house.viewer, { incident_id: id })).notes,
      ).toMatchObject([
        { by: house.member.email, text: 'First' },
        { by: house.owner.email, text: 'Second\nline' },
      ]);
      for (const text of ['', '   ', 'x'.repeat(5_001), 'a\u0000b'])
        expect(await bench.refusal(addIncidentNote, house.member, { incident_id: id, text })).toBe(
          'note_invalid',
        );
    });
  });
});
