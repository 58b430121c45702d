import type { OutputOf } from '../../../../../shared/api/operation.ts';
import { hearTrial, type tryMonitor } from '../../../../../shared/api/test-runs.ts';
import { Refusal } from '../../../../../shared/base/errors.ts';
import { trialAnswers, trialBegins, trialBroken, trialEnds } from '../../parts/part-trial-answers.ts';
import type { Html } from '../../web-html.ts';
import type { Ask } from '../../web-page.ts';

/** What the continents see, as it comes. Where the answers cannot be heard any more, because their coordinator was replaced, it says so. */
export async function* hearAll(ask: Ask, { trial, asked }: OutputOf<typeof tryMonitor>): AsyncGenerator<Html> {
  yield trialBegins(asked);
  let known = 0;
  for (;;) {
    const heard = await ask(hearTrial, { trial_id: trial, known }).catch((error: unknown) => {
      if (error instanceof Refusal) return undefined;
      throw error;
    });
    if (!heard) {
      yield trialBroken();
      return;
    }
    yield trialAnswers(asked, heard.answers.slice(known));
    known = heard.answers.length;
    if (heard.over) {
      yield trialEnds(heard);
      return;
    }
  }
}
