import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { hearTrial as operation } from '../../../shared/api/test-runs.ts';
import { causeSentence } from '../../../shared/checks/causes.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

/** Answers belong to the person who asked, and come only to where he asked. */
export const hearTrial = async (
  { organisation, caller, with: { trials } }: InOrganisation,
  { trial_id: id, known }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { asked, answers, over } = found(
    await trials.hear(id, { organisation: organisation.id, user: caller.user }, known),
    'trial_not_found',
  );
  return {
    asked: asked.map((probe) => ({ ...probe })),
    answers: answers.map(({ at, cause, phases, evidence, ...rest }) => ({
      ...rest,
      at: new Date(at).toISOString(),
      cause: cause === null ? null : causeSentence(cause),
      phases: phases === null ? null : { ...phases },
      evidence: evidence === null ? null : { ...evidence },
    })),
    over,
  };
};
