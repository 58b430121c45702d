import { operations } from '../api/api-index.ts';
import { type Around, type Told, type Tool, ToolFault } from './tool.ts';
import { oneLine } from './tool-lines.ts';

/** What cannot be undone is done to the monitor that was meant: its name is repeated, or the person is asked. */

type Values = Readonly<Record<string, unknown>>;

const mostIncidents = 200;
const yearDays = 365;

const historyOf = async ({ ask }: Around, monitor: unknown): Promise<string> => {
  const incidents = await ask(operations.listIncidents, { monitor, days: yearDays, limit: mostIncidents });
  const count = Array.isArray(incidents.items) ? incidents.items.length : 0;
  const andMore = typeof incidents.next_cursor === 'string' ? ' and more' : '';
  return `${count}${andMore} ${count === 1 ? 'incident' : 'incidents'} of the last year, every result and its uptime`;
};

export const deletedMonitor = async (around: Around, given: Values, { operation }: Pick<Tool, 'operation'>): Promise<Told> => {
  const { confirm_name, ...input } = given;
  const monitor = await around.ask(operations.getMonitor, input);
  const name = String(monitor.name);
  const shown = `“${oneLine(name, 120)}” (${oneLine(monitor.target || monitor.type, 120)})`;
  const history = await historyOf(around, monitor.id);
  const repeated = confirm_name ?? around.answered;
  if (repeated === undefined && around.canAsk) {
    const message = `Delete the monitor ${shown}, watched since ${String(monitor.created_at).slice(0, 10)}? With it go ${history}. This cannot be undone. Type its name to go on.`;
    return { texts: [], question: { message, title: 'Name of the monitor' } };
  }
  if (repeated === undefined)
    throw new ToolFault(
      'Nothing was deleted: give confirm_name, the name of the monitor letter for letter. Ask the person first; it cannot be undone.',
    );
  if (repeated !== name)
    throw new ToolFault(
      'Nothing was deleted: confirm_name is not the name of this monitor. See get_monitor, and ask the person which one is meant.',
    );
  await around.ask(operation, input);
  return {
    texts: [`Deleted the monitor ${shown}, which was watched since ${String(monitor.created_at).slice(0, 10)}. With it went ${history}.`],
  };
};
