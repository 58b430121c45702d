import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import { operations } from '../../../shared/api/index.ts';
import { oneLine } from '../../../shared/assistants/answers.ts';
import { readingTools } from '../../../shared/assistants/list.ts';
import { readArguments } from '../../../shared/assistants/tools.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { askingAt } from './assistant-calling.ts';
import type { Asking, AssistantParts } from './assistant-given.ts';

/** Incidents as things that a person can hand to their assistant: each has an address, and reads as get_incident tells it. */

const begin = 'antipode://incidents/';
const mimeType = 'application/json';

export const incidentTemplate = {
  uriTemplate: `${begin}{id}`,
  name: 'incident',
  title: 'An incident',
  description: 'An outage with its evidence: the cause, what the failing checks and the other continents saw, who was told.',
  mimeType,
};

/** As many as anybody picks from. */
const most = 50;

export const recentIncidents = async (parts: AssistantParts, asking: Asking) => {
  const { items } = await askingAt(parts, asking)(operations.listIncidents, { days: 7, limit: most });
  const incidents = (Array.isArray(items) ? items : []).filter(isRecord);
  return incidents.map(({ id, monitor_name, started_at, open }) => ({
    uri: `${begin}${String(id)}`,
    name: `incident ${String(started_at).slice(0, 16)}Z`,
    title: `${oneLine(monitor_name, 80)}, ${String(started_at).slice(0, 16)}Z${open === true ? ', still open' : ''}`,
    mimeType,
  }));
};

/** @throws ResourceNotFoundError for what this caller cannot see, whether it is there or not. */
export const readIncident = async (parts: AssistantParts, asking: Asking, uri: string) => {
  const tool = readingTools.find(({ name }) => name === 'get_incident');
  const read =
    tool && uri.startsWith(begin) ? readArguments(tool, { id: uri.slice(begin.length) }) : { refused: 'no address of an incident' };
  if (!tool || 'refused' in read) throw new ResourceNotFoundError(uri);
  const around = { ask: askingAt(parts, asking), now: parts.clock.now(), canAsk: false };
  const { texts } = await tool.run(around, read.values).catch((error: unknown) => {
    if (error instanceof Refusal && error.kind === 'not_found') throw new ResourceNotFoundError(uri);
    throw error;
  });
  return { contents: texts.map((text, nth) => ({ uri, mimeType: nth === 0 ? mimeType : 'text/plain', text })) };
};
