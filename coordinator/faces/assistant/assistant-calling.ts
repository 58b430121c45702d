import { acceptedContent, type CallToolResult, type InputRequiredResult, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { InvalidInput, type Operation, rawInput } from '../../../shared/api/operation.ts';
import { hostedTools, readingTools } from '../../../shared/assistants/list.ts';
import { type Ask, readArguments, refusedWords, type Told, type Tool, ToolFault, unknownTool } from '../../../shared/assistants/tools.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { isRecord, memberOf } from '../../../shared/base/json.ts';
import type { AssistantCaller } from '../../access/access-assistant-connections.ts';
import { isAllowed } from '../../operations/operation-who-may.ts';
import { answerOf } from '../rest/rest-errors.ts';
import type { Asking, AssistantParts } from './assistant-given.ts';

/** How a tool is called at the gate, and how what came of it is told. */

export const tools: readonly Tool[] = [...readingTools, ...hostedTools];

/** What this caller could do at this moment: nobody is offered what would be refused. */
export const toolsFor = (caller: AssistantCaller): readonly Tool[] => tools.filter(({ operation }) => isAllowed(caller, operation));

/** Each operation of a call is asked for whoever the caller is by then. */
export const askingAt = ({ execute }: Pick<AssistantParts, 'execute'>, { caller, again }: Asking): Ask => {
  let first: AssistantCaller | undefined = caller;
  return async (operation: Operation, input) => {
    const now = first ?? (await again());
    first = undefined;
    const { body } = await execute(operation, now, rawInput(operation, input));
    return isRecord(body) ? body : {};
  };
};

const failed = (text: string): CallToolResult => ({ content: [{ type: 'text', text }], isError: true });

/** What somebody is told of a failure, never more than our own words. A fault of ours goes to the log under the id that is told. */
export const failureWords = (error: unknown, log: AssistantParts['log'], what: string): string => {
  if (error instanceof ToolFault) return error.message;
  if (error instanceof InvalidInput)
    return `${error.faults.map(({ loc, msg }) => `${loc.slice(1).join('.') || loc.join('.')}: ${msg}`).join('; ')} (validation_failed)`;
  const { hidden } = answerOf(error);
  if (error instanceof Refusal && hidden === undefined) return `${error.message} (${error.code})`;
  if (hidden) log.error({ err: hidden.error, request_id: hidden.request_id, tool: what }, 'a call of an assistant failed');
  return `Something went wrong on our side. The id of this call is ${hidden?.request_id ?? 'unknown'}. (internal)`;
};

/** By which a question and its answer know each other. */
const question = 'confirm';

const resultOf = ({ texts, structured, question: asked }: Told): CallToolResult | InputRequiredResult =>
  asked === undefined
    ? {
        content: texts.map((text) => ({ type: 'text', text })),
        ...(structured === undefined ? {} : { structuredContent: { ...structured } }),
      }
    : inputRequired({
        inputRequests: {
          [question]: inputRequired.elicit({
            mode: 'form',
            message: asked.message,
            requestedSchema: { type: 'object', properties: { name: { type: 'string', title: asked.title } }, required: ['name'] },
          }),
        },
      });

/** What the protocol tells of the client and of what its person answered, as far as it is of use to a call. */
export type Client = {
  readonly canAsk: boolean;
  readonly inputResponses: Record<string, unknown> | undefined;
};

export const callTool = async (
  parts: Pick<AssistantParts, 'execute' | 'clock' | 'log'>,
  asking: Asking,
  { name, given, client }: { readonly name: string; readonly given: Readonly<Record<string, unknown>>; readonly client: Client },
): Promise<CallToolResult | InputRequiredResult> => {
  // By the whole table: what somebody may not do is refused in the words of the gate, not called unknown.
  const tool = tools.find((one) => one.name === name);
  if (!tool) return failed(unknownTool(name, toolsFor(asking.caller)));
  const read = readArguments(tool, given);
  if ('refused' in read) return failed(refusedWords(tool, read.refused));
  try {
    const said = inputResponse(client.inputResponses, question);
    // Whoever was asked and said no is not asked again.
    if (said.kind === 'elicit' && said.action !== 'accept') return failed('Nothing was done: the person who was asked did not agree.');
    const answer = memberOf(acceptedContent(client.inputResponses, question), 'name');
    const answered = typeof answer === 'string' ? answer : undefined;
    const around = { ask: askingAt(parts, asking), now: parts.clock.now(), canAsk: client.canAsk, answered };
    return resultOf(await tool.run(around, read.values));
  } catch (error) {
    return failed(failureWords(error, parts.log, name));
  }
};
