import { hearTrial } from '../api/inner/inner-trials.ts';
import { isRecord } from '../base/json-record.ts';
import { type Around, type Told, type Tool, ToolFault } from './tool.ts';
import { shortened, toldAsJson } from './tool-answers.ts';

/** A trial of a config (rule 41): begun, and heard until it is over. */

type Values = Readonly<Record<string, unknown>>;

const records = (value: unknown): Values[] => (Array.isArray(value) ? value.filter(isRecord) : []);

export const tried = async ({ ask }: Around, given: Values, { operation }: Pick<Tool, 'operation'>): Promise<Told> => {
  // A private probe reaches into somebody's network: what it sees there is not for an assistant that guesses addresses.
  if (isRecord(given.config) && given.config.probe !== undefined && given.config.probe !== null)
    throw new ToolFault('A trial never asks a private probe: leave config.probe out, or try it in the web interface.');
  const { trial } = await ask(operation, given);
  let heard: Values = {};
  for (let known = 0, isOver = false; !isOver; ) {
    heard = await ask(hearTrial, { trial_id: trial, known });
    const answers = records(heard.answers).length;
    isOver = heard.over === true || answers <= known;
    known = answers;
  }
  const answers = records(heard.answers).map(({ evidence, ...rest }) => ({ ...rest, from_target: shortened(evidence, 800, 12) }));
  const silent = records(heard.asked).filter(({ probe }) => !answers.some((answer) => 'probe' in answer && answer.probe === probe));
  const { texts } = toldAsJson({ answers, did_not_answer: silent, note: 'Nothing was stored.' });
  return { texts };
};
