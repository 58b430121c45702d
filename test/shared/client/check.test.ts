import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  TestAnswer,
  TestRunRequest,
  TestRunsPart,
} from '../../../coordinator/monitors/test-run.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { exits } from '../../../shared/client/http.ts';
import { type Api, openApi } from '../../support/api.ts';
import { createCommand, type Ran, type World } from '../../support/cli.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

const places = ['Europe', 'Asia', 'Africa'] as const;
type Outcome = TestAnswer['outcome'] | 'silent';

/** What each of the places sees; the first question about a test comes before its end. */
const world: { sees: readonly Outcome[]; wanted: TestRunRequest[]; questions: number } = {
  sees: [],
  wanted: [],
  questions: 0,
};

const trials: TestRunsPart = {
  begin: (wanted) => {
    world.wanted.push(wanted);
    world.questions = 0;
    return newId();
  },
  hear: async () => {
    const over = world.questions > 0;
    world.questions += 1;
    const answers = places.flatMap((continent, index): TestAnswer[] => {
      const outcome = world.sees[index] ?? 'silent';
      if (outcome === 'silent') return [];
      const cause =
        outcome === 'fail'
          ? { class: 'unexpected_status' as const, params: { status: 503, expected: '2xx' } }
          : null;
      const phases = { dns: 1, tcp: 2, tls: 3, first_byte: 4, total: 10 };
      return [
        {
          continent,
          probe: `p-${continent}`,
          at: 0,
          took_ms: 10,
          outcome,
          cause,
          phases,
          evidence: null,
        },
      ];
    });
    return {
      asked: places.map((continent) => ({ continent, probe: `p-${continent}` })),
      answers: over ? answers : answers.slice(0, 1),
      over,
    };
  },
};

let database: TestDatabase;
let api: Api;
let command: ReturnType<typeof createCommand>;

beforeAll(async () => {
  database = await createDatabase();
  api = await openApi(database.url, { trials });
  const house = await createTestOrganisation(api.sql);
  command = createCommand({ url: await api.listen(), token: house.member.readWrite });
});

afterAll(async () => {
  await api.close();
  await database.drop();
});

const check = async (
  sees: readonly Outcome[],
  flags: readonly string[],
  around?: World,
): Promise<Ran> => {
  world.sees = sees;
  // Ten a minute are a limit of organisations, not of this test.
  await api.sql`delete from trials`;
  return command.run(['check', 'https://shop.example/', ...flags], around);
};

describe('antipode check', () => {
  test.each([
    [['ok', 'ok', 'ok'], [], exits.done, 'it passes from Europe, Asia and Africa'],
    [['ok', 'silent', 'unknown'], [], exits.done, 'it passes from Europe'],
    [['ok', 'fail', 'ok'], [], exits.done, 'it fails from Asia, and passes from Europe and Africa'],
    [
      ['ok', 'fail', 'ok'],
      ['--fail-on-difference'],
      exits.differs,
      'it fails from Asia, and passes',
    ],
    [['ok', 'ok', 'ok'], ['--fail-on-difference'], exits.done, 'it passes'],
    [
      ['ok', 'fail', 'fail'],
      [],
      exits.down,
      'it fails from Asia and Africa, and passes from Europe',
    ],
    [['fail', 'fail', 'fail'], ['--fail-on-difference'], exits.down, 'it fails from Europe, Asia'],
    [['fail', 'silent', 'silent'], [], exits.down, 'it fails from Europe'],
    [['unknown', 'silent', 'silent'], [], exits.nothing, 'no probe had a result'],
  ] as const)('of %j with %j exits with %i', async (sees, flags, code, sentence) => {
    const ran = await check(sees, ['--wait', ...flags]);
    expect([ran.code, ran.err]).toEqual([code, expect.stringContaining(sentence)]);
    const answered = sees.filter((one) => one !== 'silent');
    expect(JSON.parse(ran.out)).toMatchObject({
      over: true,
      answers: answered.map((outcome) => ({ outcome })),
    });
  });

  test('shows each probe with its times and its cause on a terminal, and who did not answer', async () => {
    const { out } = await check(['ok', 'fail', 'silent'], ['--wait'], { terminal: true });
    expect(out).toMatch(/ok +Europe +p-Europe +10 +1 +2 +3 +4/);
    expect(out).toMatch(/fail +Asia .*503/);
    expect(out).toMatch(/no answer +Africa/);
  });

  test('asks the places that are named, with the config that is given', async () => {
    await check(
      ['ok'],
      ['--wait', '--from', 'europe', '--from', 'Asia', '--config.timeout_ms', '5000'],
    );
    expect(world.wanted.at(-1)).toMatchObject({
      kind: 'https',
      config: { continents: ['Europe', 'Asia'], timeout_ms: 5000 },
    });
    await check(['ok'], ['--wait', '--from', 'all']);
    expect(world.wanted.at(-1)?.config).not.toHaveProperty('continents');
  });

  test('of a WebSocket needs no type either, and a probe that makes such checks', async () => {
    await api.sql`delete from trials`;
    const { err } = await command.run(['check', 'wss://shop.example/live', '--wait']);
    expect(err).toContain('no probe that could check it makes websocket checks');
  });

  test('without --wait only begins it, and says how to go on', async () => {
    const { code, out, err } = await check(['ok', 'ok', 'ok'], []);
    expect([code, JSON.parse(out).over]).toEqual([exits.done, false]);
    expect(err).toContain(`antipode tests get ${JSON.parse(out).id}`);
  });

  test.each([
    [['check'], 'check needs a target'],
    [['check', 'db.example:5432', '--wait'], '--type'],
    [['check', 'https://a.example/', 'https://b.example/'], 'one target'],
    [['check', 'https://a.example/', '--from', 'Europa'], 'Did you mean Europe?'],
    [['check', 'https://a.example/', '--from', 'all', '--from', 'Asia'], '--from all'],
    [['check', 'https://a.example/', '--fail-on-difference'], 'needs --wait'],
    [['check', 'https://a.example/', '--fail-on-diff'], 'no flag --fail-on-diff'],
    [
      ['check', 'https://a.example/', '--from', 'Asia', '--config.continents', '["Europe"]'],
      'leave one out',
    ],
  ])('%j is refused with what to do', async (line, words) => {
    const { code, out, err } = await command.run(line);
    expect([code, out, err]).toEqual([exits.usage, '', expect.stringContaining(words)]);
  });

  test('is refused by the API like every command', async () => {
    const { code, err } = await command.run(['check', 'backup', '--type', 'heartbeat', '--wait']);
    expect([code, err]).toEqual([exits.refused, expect.stringContaining('test_impossible')]);
  });

  test('has a help of its own, and is completed', async () => {
    const { out } = await command.run(['help', 'check']);
    expect(out).toContain('--fail-on-difference');
    expect((await command.run(['completion', 'words', '--', 'check', '--f'])).out).toMatch(
      /^--from\t.*\n--fail-on-difference\t/,
    );
    expect((await command.run(['completion', 'words', '--', 'check', '--from', 'E'])).out).toBe(
      'Europe\t\n',
    );
  });
});
