import { continents } from '../base/continents.ts';
import { UsageFault } from '../base/env.ts';
import { isRecord, memberOf } from '../base/json.ts';
import { listInWords, nearest } from '../base/text.ts';
import { alone, flag, inputOf, isTyped, type Line, valuesOf } from './arguments.ts';
import { everywhere } from './calls.ts';
import { type Command, commands } from './commands.ts';
import { type CommandContext, clientOf, type Exit, exits, type HttpClient } from './http.ts';
import { type Item, table } from './output.ts';
import { type Paint, printable } from './terminal.ts';

/**
 * `antipode check TARGET`: one check now, from every continent, made for a step of a deploy. It is
 * `tests create` and `tests get` with exit codes.
 */

const ofTests = commands.find(({ operation }) => operation.id === 'createTest')?.flags ?? [];

const own = [
  flag('from', 'only from there; may be repeated (every continent with a probe when not given)', {
    kind: 'list',
    placeholder: 'all|CONTINENT',
    offered: ['all', ...continents],
  }),
  flag('wait', 'wait until all probes have answered, and exit with what they say', alone),
  flag('fail-on-difference', 'with --wait: exit with 7 when answers differ', {
    ...alone,
    key: 'fail_on_difference',
  }),
];

export const checkCommand: Pick<Command, 'words' | 'flags'> = {
  words: ['check'],
  flags: [
    ...own,
    ...ofTests
      .filter(({ key }) => key !== 'target' && key !== 'wait_s')
      .map((one) => (one.key === 'type' ? { ...one, required: false } : one)),
    ...everywhere.filter(({ name }) => ['json', 'no-color', 'help', 'version'].includes(name)),
  ],
};

export async function runCheck(
  words: readonly string[],
  line: Line,
  world: CommandContext,
  paint: Paint,
): Promise<Exit> {
  const { body, isAwaited, differenceFails } = wantedOf(words, line, world);
  const test = await resultOf(clientOf(world), body, isAwaited);
  print(test, isTyped(line, 'json'), world, paint);
  if (!isAwaited) {
    world.err(`antipode: begun; antipode tests get ${String(memberOf(test, 'id'))} shows more\n`);
    return exits.done;
  }
  const { exit, sentence } = judged(test, differenceFails);
  world.err(`antipode: ${sentence}\n`);
  return exit;
}

type Wanted = {
  readonly body: Readonly<Record<string, unknown>>;
  readonly isAwaited: boolean;
  readonly differenceFails: boolean;
};

function wantedOf(
  [target = '', more]: readonly string[],
  line: Line,
  world: CommandContext,
): Wanted {
  if (target === '')
    throw new UsageFault('check needs a target, as in antipode check https://shop.example/ --wait');
  if (more !== undefined) throw new UsageFault(`check takes one target, not also "${more}".`);
  const { from, wait, fail_on_difference, ...given } = inputOf(
    valuesOf(checkCommand, line, world.readText),
  );
  const isAwaited = wait === true;
  const differenceFails = fail_on_difference === true;
  if (differenceFails && !isAwaited)
    throw new UsageFault('--fail-on-difference needs --wait: before, there is nothing to compare.');
  const among = Object.entries(given).filter(([key]) => ofTests.some((one) => one.key === key));
  const places = placesOf(Array.isArray(from) ? from.map(String) : []);
  const config = isRecord(given.config) ? given.config : {};
  if (places.length > 0 && (config.places ?? config.continents ?? config.probe) !== undefined)
    throw new UsageFault('--from and --config both say from where: leave one out.');
  return {
    isAwaited,
    differenceFails,
    body: {
      ...Object.fromEntries(among),
      type: given.type ?? typeOf(target),
      target,
      ...(places.length > 0 && { config: { ...config, continents: places } }),
      ...(!isAwaited && { wait_s: 0 }),
    },
  };
}

function typeOf(target: string): string {
  if (/^https?:\/\//i.test(target)) return 'https';
  if (/^wss?:\/\//i.test(target)) return 'websocket';
  if (/^grpcs?:\/\//i.test(target)) return 'grpc';
  throw new UsageFault(
    `check needs --type for ${target}; only a target that begins with http(s)://, ws(s):// or grpc(s):// has one already.`,
  );
}

/** None: all. */
function placesOf(from: readonly string[]): readonly string[] {
  const places = from.filter((one) => one !== 'all');
  if (places.length > 0 && places.length < from.length)
    throw new UsageFault('--from all is from every continent: leave the others out.');
  return places.map((place) => {
    const known = continents.find((one) => one.toLowerCase() === place.toLowerCase());
    if (known !== undefined) return known;
    const meant = nearest(place, continents);
    throw new UsageFault(
      `--from takes all, ${continents.join(', ')}; not "${place}".${meant === undefined ? '' : ` Did you mean ${meant}?`}`,
    );
  });
}

async function resultOf(client: HttpClient, body: object, isAwaited: boolean): Promise<unknown> {
  let { body: test } = await client.call({ method: 'POST', path: '/api/v1/tests', body });
  while (isAwaited && memberOf(test, 'over') !== true) {
    const id = encodeURIComponent(String(memberOf(test, 'id')));
    ({ body: test } = await client.call({ method: 'GET', path: `/api/v1/tests/${id}` }));
  }
  return test;
}

function print(test: unknown, asJson: boolean, world: CommandContext, paint: Paint): void {
  if (world.columns === undefined || asJson) {
    world.out(`${JSON.stringify(test)}\n`);
    return;
  }
  const answers = itemsOf(test, 'answers').map(
    ({ outcome, continent, probe, took_ms, phases, cause }) => ({
      outcome,
      continent,
      probe,
      took_ms,
      dns: memberOf(phases, 'dns') ?? null,
      tcp: memberOf(phases, 'tcp') ?? null,
      tls: memberOf(phases, 'tls') ?? null,
      first_byte: memberOf(phases, 'first_byte') ?? null,
      cause,
    }),
  );
  const rows = [
    ...answers,
    ...silentOf(test).map(({ continent, probe }) => ({ outcome: 'no answer', continent, probe })),
  ];
  const listed = Object.keys(answers[0] ?? rows[0] ?? {});
  world.out(table(rows, { columns: world.columns, paint, now: world.now(), listed }));
}

function itemsOf(test: unknown, key: 'asked' | 'answers'): readonly Item[] {
  const items = memberOf(test, key);
  return Array.isArray(items) ? items.filter(isRecord) : [];
}

/** Asked, and without an answer so far. */
function silentOf(test: unknown): readonly Item[] {
  return itemsOf(test, 'asked').filter(({ probe }) =>
    itemsOf(test, 'answers').every((answer) => answer.probe !== probe),
  );
}

function judged(
  test: unknown,
  differenceFails: boolean,
): { readonly exit: Exit; readonly sentence: string } {
  const from = (outcome: string): readonly string[] => [
    ...new Set(
      itemsOf(test, 'answers')
        .filter((answer) => answer.outcome === outcome)
        .map(({ continent }) => printable(String(continent))),
    ),
  ];
  const [passes, fails] = [from('ok'), from('fail')];
  if (passes.length === 0 && fails.length === 0)
    return {
      exit: exits.nothing,
      sentence: 'no probe had a result: this says nothing of the target',
    };
  if (fails.length === 0)
    return { exit: exits.done, sentence: `it passes from ${listInWords(passes)}` };
  const both = passes.length === 0 ? '' : `, and passes from ${listInWords(passes)}`;
  const sentence = `it fails from ${listInWords(fails)}${both}`;
  // As an outage counts: a second continent sees it, or nobody sees anything else.
  if (fails.length > 1 || passes.length === 0) return { exit: exits.down, sentence };
  return { exit: differenceFails ? exits.differs : exits.done, sentence };
}
