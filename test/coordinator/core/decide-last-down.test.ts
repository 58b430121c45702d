import { describe, expect, test } from 'vitest';
import { type Seen, told } from './restarted-story.ts';

describe('rule 3: what comes late from within a confirmed outage that is over lies beside it', () => {
  const over: readonly Seen[] = [
    ['Asia', 100],
    ['Africa', 101],
    ['Asia', 137, 'ok'],
    ['Africa', 138, 'ok'],
  ];
  const outage = ['Asia', 100, 'Africa', 101, 137];

  test('and is not confirmed by what was that outage', () => {
    const life = told();
    life.tell(...over, ['Europe', 135], ['Asia', 135.3], ['Europe', 136]);
    expect(life.dates()).toEqual([outage, ['Europe', 135, null, null, null]]);
    life.tell(['Asia', 151], ['Europe', 139, 'ok'], ['Europe', 152]);
    expect(life.dates()).toEqual([outage, ['Asia', 151, 'Europe', 152, null]]);
  });

  test('and confirms no later one, also after a restart', () => {
    for (const isRestarted of [false, true]) {
      const life = told();
      life.tell(...over, ['Europe', 136]);
      if (isRestarted) life.restart();
      life.tell(['Asia', 151]);
      expect(life.dates()).toEqual([outage, ['Europe', 136, null, null, null]]);
      life.tell(['Europe', 139, 'ok'], ['Europe', 152]);
      expect(life.dates()).toEqual([outage, ['Asia', 151, 'Europe', 152, null]]);
    }
  });

  test('also when the next has begun by then', () => {
    for (const isRestarted of [false, true]) {
      const life = told();
      life.tell(...over, ['Asia', 151]);
      if (isRestarted) life.restart();
      life.tell(['Europe', 136], ['Asia', 135.3]);
      expect(life.dates()).toEqual([outage, ['Asia', 151, null, null, null]]);
      life.tell(['Europe', 139, 'ok'], ['Europe', 152]);
      expect(life.dates()).toEqual([outage, ['Asia', 151, 'Europe', 152, null]]);
    }
  });
});
