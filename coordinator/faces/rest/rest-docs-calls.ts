import { commands } from '../../../shared/client/commands.ts';
import { exampleOf } from '../../../shared/client/help.ts';
import { escapeHtml } from './rest-docs-text.ts';

/** How a call is made, for people to copy: with curl, and with the client. */

type Call = {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  /** The names of what its query must say. */
  readonly query: readonly string[];
  /** Left out where the operation takes none. */
  readonly body?: unknown;
};

const exampleId = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';

/** A text as one word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const valuesOfQuery: Readonly<Record<string, string>> = { starts_at: '2027-01-01T02:00', ends_at: '2027-01-01T03:00' };

const queryText = (names: readonly string[]): string => {
  const pairs = names.map((name) => `${name}=${valuesOfQuery[name] ?? name.toUpperCase()}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
};

const curl = ({ method, path, query, body }: Call): string =>
  [
    `curl -sS --fail-with-body${method === 'GET' ? '' : ` -X ${method}`} "$ANTIPODE_URL${path.replaceAll(/\{\w+\}/g, exampleId)}${queryText(query)}"`,
    `-H "Authorization: Bearer $ANTIPODE_TOKEN"`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
  ].join(' \\\n  ');

const examples: ReadonlyMap<string, string> = new Map(commands.map((command) => [command.operation.id, exampleOf(command)]));

/** Text to take as it stands: one click chooses all of it, and where scripts run a button copies it. */
export const copyable = (label: string, text: string, level: 3 | 4 = 3): string =>
  `<h${level}>${escapeHtml(label)}</h${level}><pre class="copy" tabindex="0"><code>${escapeHtml(text)}</code></pre>`;

export const callExamples = (call: Call): string => {
  const client = examples.get(call.operationId);
  return copyable('With curl', curl(call), 4) + (client === undefined ? '' : copyable('With the client', client, 4));
};
