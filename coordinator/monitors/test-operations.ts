import type { InputOf } from '../../shared/api/operation.ts';
import * as api from '../../shared/api/test-runs.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { causeSentence } from '../../shared/checks/causes.ts';
import { inTransaction } from '../database/sql.ts';
import type { AnswerOf } from '../gate/answer.ts';
import { handle } from '../gate/bind.ts';
import { type Early, type OrganisationScope, orNotFound } from '../gate/context.ts';
import { lockOrganisation } from '../gate/records.ts';
import { countTrial } from '../gate/trials.ts';
import { checkersOf } from '../probes/places.ts';
import { draftMonitor, unsaved } from './model.ts';
import { monitorForChange } from './queries.ts';
import { openSecrets } from './secrets.ts';
import { type TestRunState, verdictOf } from './test-run.ts';

type Test = AnswerOf<typeof api.getTest>;

/**
 * A test run asks every continent at once, so the limit protects a target from someone who keeps
 * pressing the button.
 */
const maxAMinute = 10;

/** Tests before the transaction, because answers may take half a minute. */
export const createTest = handle(api.createTest)({
  before: async (early, { wait_s, ...input }) => {
    const { organisation, caller, with: dependencies } = early;
    const owner = { organisation: organisation.id, user: caller.user };
    const id = await begin(early, input);
    const waited = { known: everyAnswer, waitMs: wait_s * 1_000 };
    return testJson(
      id,
      orNotFound(await dependencies.trials.hear(id, owner, waited), 'test_not_found'),
    );
  },
  act: async ({ note }, _input, test) => {
    note({ after: { verdict: test.verdict } });
    return test;
  },
});

/** Answers belong to the user who asked. */
export const getTest = handle(api.getTest)(
  async ({ organisation, caller, with: { trials } }, { test_id: id, known, wait_s }) => {
    const owner = { organisation: organisation.id, user: caller.user };
    const waited = { known: known ?? everyAnswer, waitMs: wait_s * 1_000 };
    return testJson(id, orNotFound(await trials.hear(id, owner, waited), 'test_not_found'));
  },
);

/** More than any test run has: only its end is waited for. */
const everyAnswer = Number.MAX_SAFE_INTEGER;

async function begin(
  {
    pool,
    organisation,
    caller,
    now,
    with: { secrets: atRest, trials, registries },
  }: Early<OrganisationScope>,
  { monitor: id, ...input }: Omit<InputOf<typeof api.createTest>, 'wait_s'>,
): Promise<string> {
  const { id: of, plan } = organisation;
  const row = id === null ? undefined : await monitorForChange(pool, of, id);
  const stored = row && {
    secrets: await openSecrets(atRest, pool, row.id, row.secrets),
    target: row.target,
  };
  const { kind, target, interval_s, config, places, secrets } = draftMonitor(
    { ...unsaved, ...input },
    of,
    { plan, checkers: await checkersOf(pool, of), registries: await registries(pool) },
    stored,
  );
  if (kind === 'heartbeat')
    throw new Refusal(
      'test_impossible',
      'A heartbeat cannot be tested: it waits for a ping of your job.',
    );
  await inTransaction(pool, async (transaction) => {
    // Two at once are counted one after the other, and one that is refused does not count.
    await lockOrganisation(transaction, of);
    if ((await countTrial(transaction, of, 'config', { now, withinMs: 60_000 })) > maxAMinute)
      throw new Refusal(
        'test_limit',
        `An organisation may run ${maxAMinute} tests a minute. Wait a moment, or save without a test.`,
      );
  });
  const like = row && { id: row.id, key: row.key };
  const owner = { organisation: of, user: caller.user };
  const begun = trials.begin({ ...owner, kind, target, interval_s, config, places, secrets, like });
  if (begun === undefined)
    throw new Refusal(
      'test_impossible',
      'No probe can be asked now. Try again, or save without a test.',
    );
  return begun;
}

function testJson(id: string, { asked, answers, over }: TestRunState): Test {
  return {
    id,
    over,
    verdict: over ? verdictOf(answers) : null,
    asked,
    answers: answers.map(({ at, cause, phases, evidence, ...rest }) => ({
      ...rest,
      at,
      cause: cause === null ? null : causeSentence(cause),
      phases,
      evidence,
    })),
  };
}
