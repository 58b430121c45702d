import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram, type Said } from './processes.ts';

const run = (program: string, ...given: string[]): Promise<Said> =>
  runProgram([
    process.execPath,
    // Mutations strip types by themselves, which Node calls an experiment.
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, '..', program),
    ...given,
  ]);

const programs = [
  ['bench/main.ts', 'bench'],
  ['simulation/simulate.ts', 'simulate'],
  ['network/torment.ts', 'torment'],
] as const;

test.each(programs)(
  '%s shows its usage on request, and for an invalid flag or number',
  async (program, name) => {
    const number = program === 'simulation/simulate.ts' ? '--years' : '--seconds';
    const [asked, ...wrong] = await Promise.all(
      [['--help'], ['--nonsense'], [`${number}=often`]].map((given) => run(program, ...given)),
    );
    expect(asked).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining(`npm run ${name} -- [`),
    });
    for (const said of wrong) {
      expect(said).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringContaining(`npm run ${name} -- [`),
      });
      expect(said.err).not.toMatch(/\n\s+at /);
    }
  },
);

test('an unknown bench is refused with a list of the known ones', async () => {
  expect(await run('bench/main.ts', 'nothing')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/There is no bench nothing[\s\S]*\n {2}alerts /),
  });
});

test('a simulation of nothing, or of an impossible seed, is refused: it would prove nothing', async () => {
  const wrong = [
    ['--years', '0'],
    ['--stories', '0'],
    ['--stories', '1.5'],
    ['--seed', '1.5'],
    ['--seed', '99999999999999999999'],
  ];
  for (const said of await Promise.all(
    wrong.map((given) => run('simulation/simulate.ts', ...given)),
  )) {
    expect(said).toMatchObject({ code: 2, out: '', err: expect.stringContaining('must be') });
  }
});

test('a simulation ends with what is reached first, years or stories', async () => {
  const few = run('simulation/simulate.ts', '--seed', '3', '--years', '1000', '--stories', '1');
  const short = run(
    'simulation/simulate.ts',
    '--seed',
    '3',
    '--years',
    '0.0001',
    '--stories',
    '1000',
  );
  for (const said of [await few, await short]) {
    expect(said).toMatchObject({ code: 0, err: '', out: expect.stringContaining(' in 1 stories') });
  }
});

test('a failing simulation prints its seed, replays exactly from it, and prints the shortest failing story', async () => {
  const simulate = (seed: string, stories: string) =>
    run(
      'simulation/mutations/simulate.ts',
      'maintenance holds no "down" (rule 25)',
      ...['--seed', seed, '--stories', stories],
    );
  const found = await simulate('1', '60');
  expect(found).toMatchObject({ code: 1, err: '' });
  const [, seed = '', violation = ''] = /^seed (\d+) ended badly: (.+)$/m.exec(found.out) ?? [];
  expect(found.out).toContain(`replay: npm run simulate -- --seed ${seed} --stories 1\n`);
  const [, shortest = ''] = found.out.split('the shortest story that ends so:\n');
  expect(shortest).toContain('sent inside cover');
  const replayed = await simulate(seed, '1');
  expect(replayed.code).toBe(1);
  expect(replayed.out).toContain(`seed ${seed} ended badly: ${violation}\n`);
  expect(replayed.out).toContain(shortest);
});
