import { describe, expect, test } from 'vitest';
import type { SeenPing } from '../../../coordinator/core/types.ts';
import { at, inTime, story } from './story.ts';

const heartbeat = () => story(['Europe', 'Asia'], { kind: 'heartbeat', interval_ms: 300_000, sampled: false });
const ping = (second: number, is: SeenPing['is'] = 'good'): { is: 'ping'; ping: SeenPing } => ({
  is: 'ping',
  ping: {
    ...inTime(second),
    is,
    covers_until: at(second + 360),
    cause: is === 'bad' ? { class: 'heartbeat_failed', params: {} } : null,
    evidence: null,
  },
});
const late = (deadline: number, after: number) => ({
  cause: { class: 'heartbeat_late', params: { deadline: at(deadline), after: at(after) } },
});

describe('rule 20: heartbeats', () => {
  test('rule 20: late for two continents is an outage from the deadline on', () => {
    const told = heartbeat();
    told.tell(ping(0), 0);
    told.fail('Europe', 361, late(360, 0));
    told.fail('Asia', 362, late(360, 0));
    expect(told.incidents()).toMatchObject([{ started_at: at(360), confirmed_at: at(362), confirmed: { continent: 'Asia' } }]);
    expect(told.effects('alert')).toMatchObject([{ event: 'down' }]);
  });

  test('rules 15 and 20: what the job said when it failed is kept with the incident, which is seen from nowhere in particular', () => {
    const told = heartbeat();
    const said = { taken_by: 'Frankfurt', exit_code: 3, body: 'disk full' };
    const failed = ping(10, 'bad');
    told.tell({ ...failed, ping: { ...failed.ping, evidence: said } }, 11);
    const [incident] = told.incidents();
    expect(incident).toMatchObject({ seen: null, scope: 'everywhere' });
    expect(told.effects('evidence')).toMatchObject([
      { incident: incident?.id, row: { part: 'seen', continent: null, probe: 'Frankfurt', at: at(10), outcome: 'fail', evidence: said } },
    ]);
    // A probe that judges the same record afterwards makes no place of it.
    told.fail('Europe', 12, { cause: { class: 'heartbeat_failed', params: { deadline: at(10) } } });
    expect(told.incidents().at(-1)).toMatchObject({ scope: 'everywhere' });
  });

  test('rules 15 and 20: what the job said confirms what a probe had read from the record, and is kept beside it', () => {
    const told = heartbeat();
    told.tell(ping(0), 0);
    told.fail('Europe', 12, { cause: { class: 'heartbeat_failed', params: { deadline: at(10) } } });
    const failed = ping(10, 'bad');
    told.tell({ ...failed, ping: { ...failed.ping, evidence: { taken_by: 'coordinator', body: 'why' } } }, 13);
    expect(told.incidents().at(-1)).toMatchObject({ confirmed_at: at(10), scope: 'everywhere' });
    const parts = told.effects('evidence').map(({ row: { part, continent, probe } }) => [part, continent, probe]);
    expect(parts.at(0)?.slice(0, 2)).toEqual(['seen', 'Europe']);
    expect(parts.at(-1)).toEqual(['confirmed', null, 'coordinator']);
  });

  test('rule 20: the next good ping alone closes, dated by the ping', () => {
    const told = heartbeat();
    told.tell(ping(0), 0);
    told.fail('Europe', 361, late(360, 0));
    told.fail('Asia', 362, late(360, 0));
    told.pass('Europe', 400);
    told.pass('Asia', 401);
    expect(told.state().incident?.resolved_at).toBeNull();
    told.tell(ping(450), 451);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(450) }]);
    expect(told.effects('alert').map(({ event }) => event)).toEqual(['down', 'up']);
    told.tick(800);
    expect(told.effects('ledger').flatMap(({ put }) => put)).toEqual([]);
  });

  test('rule 20: a /fail opens and confirms at once, from nowhere', () => {
    const told = heartbeat();
    told.tell(ping(0), 0);
    told.tell(ping(100, 'bad'), 100);
    expect(told.incidents()).toMatchObject([
      { started_at: at(100), confirmed_at: at(100), seen: null, confirmed: null, cause: { class: 'heartbeat_failed' } },
    ]);
    expect(told.effects('alert')).toMatchObject([{ event: 'down' }]);
    told.tell(ping(130, 'mark'), 130);
    told.tell(ping(160), 160);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(160) }]);
  });

  test('rule 20: a judgement from an older ping than the newest good one is void', () => {
    const told = heartbeat();
    told.tell(ping(0), 0);
    told.tell(ping(300), 300);
    told.fail('Europe', 361, late(360, 0));
    expect(told.incidents()).toEqual([]);
  });

  test('rule 20: a ping that came in time and reached us late ends the incident where it began', () => {
    const told = heartbeat();
    told.tell(ping(0), 0);
    told.fail('Europe', 361, late(360, 0));
    told.fail('Asia', 362, late(360, 0));
    told.tell(ping(355), 400);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(362), note: 'the beat had come in time and reached us late' }]);
  });

  test('rule 20: a late one that only one place has judged is judged again until others can', () => {
    const told = heartbeat();
    told.tell(ping(0), 0);
    told.fail('Europe', 361, late(360, 0));
    let next = told.nextTick();
    for (let step = 0; step < 100 && next !== null; step += 1, next = told.nextTick()) {
      const second = (next - at(0)) / 1000;
      told.tick(second);
      told.fail('Europe', second + 0.1, late(360, 0));
    }
    expect(told.state().incident?.confirmed_at).toBeNull();
    expect(told.effects('look').at(-1)?.continents.length).toBeGreaterThan(0);
    const second = ((told.nextTick() ?? 0) - at(0)) / 1000;
    told.fail('Asia', second, late(360, 0));
    expect(told.state().incident?.confirmed_at).toBe(at(second));
  });

  test('rule 20: before its first ping a heartbeat is pending: nothing covers it', () => {
    const told = heartbeat();
    told.pass('Europe', 10);
    told.tick(20);
    expect(told.effects('ledger').flatMap(({ put }) => put)).toMatchObject([{ began_at: at(0), ended_at: null }]);
    told.tell(ping(30), 30);
    expect(told.effects('ledger').at(-1)?.put).toMatchObject([{ began_at: at(0), ended_at: at(30) }]);
  });
});
