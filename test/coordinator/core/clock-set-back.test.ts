import { describe, expect, test } from 'vitest';
import { at, story } from './story.ts';

/** A coordinator's clock, by which all probes go, was an hour ahead and is put right. */
const hour = 3_600;

describe('a clock that is set back', () => {
  test('does not hide what is seen from then on: an outage is confirmed at once, and not in an hour', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', hour);
    told.pass('Asia', hour + 30);
    told.fail('Europe', 60);
    told.fail('Asia', 61);
    expect(told.state().incident).toMatchObject({ started_at: at(60), confirmed_at: at(61) });
  });

  test('does not keep an outage open that began by it: it is over when both have seen so', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', hour);
    told.fail('Asia', hour + 1);
    for (const second of [60, 180]) {
      told.pass('Europe', second);
      told.pass('Asia', second + 1);
    }
    expect(told.state().incident).toBeNull();
    expect(told.incidents()).toMatchObject([{ started_at: at(60.1), confirmed_at: at(60.1), resolved_at: at(60.1) }]);
  });

  test('covers nothing until then: who hears nothing from now on knows nothing', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', hour);
    told.pass('Asia', 60);
    told.tick(600);
    expect(told.effects('ledger').at(-1)).toMatchObject({ kind: 'unknown', put: [{ ended_at: null }] });
  });

  test('by a moment only changes nothing: clocks differ by so much every day', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', 64);
    told.fail('Europe', 60, { arrives: 60 });
    expect(told.state().incident).toBeNull();
  });
});
