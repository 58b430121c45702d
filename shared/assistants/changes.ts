import { operations } from '../api/index.ts';
import { publicPlace } from '../api/places.ts';
import { isRecord } from '../base/json.ts';
import { oneLine } from './columns.ts';
import { answerAsJson, shortened } from './lines.ts';
import { type Around, type Row, type Tool, type ToolAnswer, ToolFault } from './tools.ts';

/** Tools that change something. */

type Values = Readonly<Record<string, unknown>>;

/** For operations without an answer: one sentence confirms the success. */
export function confirming(sentence: string) {
  return async (
    { ask }: Around,
    input: Values,
    { operation }: Pick<Tool, 'operation'>,
  ): Promise<ToolAnswer> => {
    await ask(operation, input);
    return { texts: [sentence] };
  };
}

/** A change of a monitor that the tool's name already says. */
export function withFixedArguments(
  fixed: Values,
): Pick<Row, 'effect' | 'idempotent' | 'without' | 'run'> {
  return {
    effect: 'changes',
    idempotent: true,
    without: Object.keys(operations.updateMonitor.body?.shape ?? {}),
    run: async ({ ask }, given, { operation }) =>
      answerAsJson(await ask(operation, { ...given, ...fixed })),
  };
}

export async function deletedMonitor(
  around: Around,
  given: Values,
  { operation }: Pick<Tool, 'operation'>,
): Promise<ToolAnswer> {
  const { confirm_name, ...input } = given;
  const monitor = await around.ask(operations.getMonitor, input);
  const name = String(monitor.name);
  const shown = `“${oneLine(name, 120)}” (${oneLine(monitor.target || monitor.type, 120)})`;
  const history = await historyOf(around, monitor.id);
  const repeated = confirm_name ?? around.answered;
  if (repeated === undefined && around.canAsk) {
    const message =
      `Delete the monitor ${shown}, watched since ${String(monitor.created_at).slice(0, 10)}? ` +
      `With it go ${history}. It can be restored for 7 days. Type its name to go on.`;
    return { texts: [], question: { message, title: 'Name of the monitor' } };
  }
  if (repeated === undefined)
    throw new ToolFault(
      'Nothing was deleted. Ask the person to type the name of the monitor, and delete it again ' +
        'with that name (confirm_name).',
    );
  if (repeated !== name)
    throw new ToolFault(
      'Nothing was deleted: this monitor has another name. Ask the person which monitor is ' +
        'meant, and see get_monitor.',
    );
  await around.ask(operation, input);
  return {
    texts: [
      `Deleted the monitor ${shown}, which was watched since ` +
        `${String(monitor.created_at).slice(0, 10)}. With it went ${history}. ` +
        'For 7 days restore_monitor brings it back.',
    ],
  };
}

const yearDays = 365;

const maxIncidents = 200;

async function historyOf({ ask }: Around, monitor: unknown): Promise<string> {
  const incidents = await ask(operations.listIncidents, {
    monitor,
    days: yearDays,
    limit: maxIncidents,
  });
  const count = Array.isArray(incidents.items) ? incidents.items.length : 0;
  const andMore = typeof incidents.next_cursor === 'string' ? ' and more' : '';
  return `${count}${andMore} ${count === 1 ? 'incident' : 'incidents'} of the last year, every result and its uptime`;
}

export async function tried(
  { ask }: Around,
  input: Values,
  { operation }: Pick<Tool, 'operation'>,
): Promise<ToolAnswer> {
  // A private probe reaches into a private network: an assistant that guesses addresses must not
  // see it.
  if (isRecord(input.config) && namesPrivate(input.config))
    throw new ToolFault(
      'A trial never asks a private probe. Choose public locations, such as Europe/Frankfurt or continent:Europe (config.places, and no config.probe), or test it on its page.',
    );
  let heard = await ask(operation, input);
  // Whoever answers may do so before it is over.
  while (heard.over !== true) heard = await ask(operations.getTest, { test_id: heard.id });
  const answers = records(heard.answers).map(({ evidence, ...rest }) => ({
    ...rest,
    from_target: shortened(evidence, 800, 12),
  }));
  const silent = records(heard.asked).filter(
    ({ probe }) => !answers.some((answer) => 'probe' in answer && answer.probe === probe),
  );
  const { verdict } = heard;
  const { texts } = answerAsJson({
    verdict,
    answers,
    did_not_answer: silent,
    note: 'Nothing was stored.',
  });
  return { texts };
}

function namesPrivate({ probe = null, places }: Values): boolean {
  return probe !== null || (Array.isArray(places) && !places.every(isPublic));
}

/** Only these ways to write a place are those of public ones alone. */
function isPublic(place: unknown): boolean {
  return (
    typeof place === 'string' &&
    publicPlace(
      place
        .trim()
        .replace(/^continent:/, '')
        .trim(),
    ) !== undefined
  );
}

function records(value: unknown): Values[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
