import { describe, expect, test } from 'vitest';
import { at, rosterOf, story } from './story.ts';

describe('rules 8 and 9: the first failure', () => {
  test('rule 8: an incident opens at once, unconfirmed, and nobody is alerted', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10);
    expect(told.incidents()).toMatchObject([
      {
        started_at: at(10),
        confirmed_at: null,
        seen: { name: 'europe', continent: 'Europe' },
        confirmed: null,
        cause: { class: 'connection_refused' },
      },
    ]);
    expect(told.effects('alert')).toEqual([]);
  });

  test('rule 9: in the same moment every other continent that may check is asked to look', () => {
    const told = story(['Europe', 'Asia', 'Africa', 'Oceania'], { continents: ['Europe', 'Asia', 'Africa'] });
    told.fail('Europe', 10);
    expect(told.effects('look')).toMatchObject([{ continents: ['Africa', 'Asia'], why: 'first' }]);
  });

  test('rule 9: lost continents are not asked', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.network(rosterOf(['Europe', 'Asia', 'Africa'], ['Africa']));
    told.fail('Europe', 10);
    expect(told.effects('look')).toMatchObject([{ continents: ['Asia'] }]);
  });

  test('rule 15: the answers are the matrix, one for each continent, unknown included; what the failing check saw is the evidence', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10);
    const look = told.effects('look')[0]?.look ?? null;
    told.pass('Asia', 10.3, { look });
    told.result('unknown', 'Africa', 10.4, { look });
    told.pass('Asia', 10.6, { look });
    expect(told.effects('evidence').map(({ row }) => [row.part, row.continent, row.outcome])).toEqual([
      ['seen', 'Europe', 'fail'],
      ['matrix', 'Asia', 'ok'],
      ['matrix', 'Africa', 'unknown'],
    ]);
    expect(told.effects('evidence')[0]?.row.evidence).toEqual({ from: 'Europe', second: 10 });
  });
});

describe('rule 10: confirmed from another continent', () => {
  test('rule 10: a second continent within a minute confirms, dated by its check, and alerts', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.fail('Asia', 10.4);
    expect(told.incidents()).toMatchObject([
      { started_at: at(10), confirmed_at: at(10.4), confirmed: { continent: 'Asia' }, scope: 'everywhere', layer: 'tcp' },
    ]);
    expect(told.effects('alert')).toMatchObject([{ event: 'down', due_at: at(10.4) }]);
    expect(told.effects('evidence').map(({ row }) => row.part)).toEqual(['seen', 'confirmed']);
  });

  test('rule 10: a second probe of the same continent never confirms', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.fail('Europe', 11, { probe: 'second' });
    told.fail('Europe', 12);
    expect(told.state().incident?.confirmed_at).toBeNull();
  });

  test.each([
    [60, true],
    [60.001, false],
  ])('rule 10: failures %d s apart confirm: %s', (distance, confirms) => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.fail('Asia', 10 + distance);
    expect(told.state().incident?.confirmed_at !== null).toBe(confirms);
  });

  test('rule 10: a check that started before the first failure is the beginning, which that confirms', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', 5);
    told.fail('Europe', 10);
    told.fail('Asia', 4, { arrives: 12 });
    expect(told.incidents()).toMatchObject([
      { started_at: at(4), seen: { continent: 'Asia' }, confirmed_at: at(10), confirmed: { continent: 'Europe' } },
    ]);
  });

  test('rule 10: after a refutation the lonely failure closes, and the confirmed incident is a new one from its latest failure', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10);
    told.pass('Asia', 10.4);
    told.fail('Europe', 190);
    told.fail('Europe', 370);
    told.fail('Asia', 375);
    expect(told.incidents()).toMatchObject([
      { started_at: at(10), confirmed_at: null, resolved_at: at(370), note: 'seen from one continent only' },
      { started_at: at(370), confirmed_at: at(375), resolved_at: null, seen: { continent: 'Europe' }, confirmed: { continent: 'Asia' } },
    ]);
    expect(told.effects('alert').map(({ event }) => event)).toEqual(['down']);
  });

  test('rule 10: a refutation of the very first failure parts nothing: it is its own latest', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.pass('Asia', 10.4);
    told.fail('Asia', 15);
    expect(told.incidents()).toMatchObject([{ started_at: at(10), confirmed_at: at(15) }]);
  });

  test('rule 10: a failure that comes late may be refuted already when it opens', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.pass('Africa', 20);
    told.fail('Europe', 10, { arrives: 30 });
    told.fail('Europe', 40);
    told.fail('Asia', 41);
    expect(told.incidents()).toMatchObject([
      { started_at: at(10), resolved_at: at(40), note: 'seen from one continent only' },
      { started_at: at(40), confirmed_at: at(41) },
    ]);
  });

  test('rule 10: two that see it while the first no longer does confirm it from the other of them', () => {
    const told = story(['Europe', 'Asia', 'Africa'], { sampled: false });
    told.fail('Europe', 10);
    told.fail('Asia', 100);
    expect(told.state().incident?.confirmed_at).toBeNull();
    told.fail('Europe', 130);
    expect(told.incidents()).toMatchObject([{ started_at: at(10), confirmed_at: at(100), confirmed: { continent: 'Asia' } }]);
  });
});

describe('rule 11: the lonely failure', () => {
  test('rule 11: it stays open while its continent keeps failing, each failure asks again, and nobody is alerted', () => {
    const told = story(['Europe', 'Asia']);
    for (let second = 10; second < 610; second += 120) {
      told.fail('Europe', second);
      told.pass('Asia', second + 1);
    }
    expect(told.incidents()).toMatchObject([{ started_at: at(10), confirmed_at: null, resolved_at: null, scope: 'one_continent' }]);
    expect(told.effects('look').filter(({ why }) => why === 'again')).toHaveLength(4);
    expect(told.effects('alert')).toEqual([]);
  });

  test('rule 11: it closes when a probe of that continent passes', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.pass('Asia', 11);
    told.pass('Europe', 130, { probe: 'second' });
    expect(told.incidents()).toMatchObject([{ confirmed_at: null, resolved_at: at(130), note: null }]);
  });

  test('rule 11: when nobody of that continent has reported for two turns it closes as no longer observed', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.tick(249);
    expect(told.state().incident).not.toBeNull();
    told.tick(251);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(250), note: 'no longer observed' }]);
  });
});
