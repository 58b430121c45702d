import { readingTools as tools } from '../assistants/tool-list-reading.ts';
import { version } from '../base/own-version.ts';
import { createHttpClient, type HttpClient } from './client-http-client.ts';
import { serveMcp } from './client-mcp-stdio.ts';
import { readSettings } from './client-settings.ts';

const help = `antipode-mcp: the local assistant server of Antipode; it only reads

It takes no arguments: an assistant starts it and speaks the Model Context Protocol with it, one JSON-RPC message a line, over standard
input and output. Where the service is, and with which token, stands in ANTIPODE_URL and ANTIPODE_TOKEN or in ~/.config/antipode/settings.json.

Tools: ${tools.map(({ name }) => name).join(', ')}
`;

const tell = (text: string): void => void process.stderr.write(`antipode-mcp: ${text}\n`);

/** Answers a word on the command line, which no assistant gives; the exit code. */
const answer = (word: string): number => {
  if (word === '--help' || word === '-h' || word === 'help') process.stdout.write(help);
  else if (word === '--version') process.stdout.write(`antipode-mcp ${version}\n`);
  else {
    tell(`"${word}" is not understood; see antipode-mcp --help.`);
    return 2;
  }
  return 0;
};

/** Starts the local assistant server on the process's own streams; whatever is not a message goes to standard error. */
export const runMcp = async (settingsFiles: readonly string[] = []): Promise<void> => {
  const [word] = process.argv.slice(2);
  if (word !== undefined) {
    process.exitCode = answer(word);
    return;
  }
  if (process.stdin.isTTY) tell('waiting for the messages of an assistant; see antipode-mcp --help.');
  let client: HttpClient | undefined;
  await serveMcp({
    input: process.stdin,
    output: process.stdout,
    client: () => {
      client ??= createHttpClient({
        settings: readSettings(process.env, settingsFiles),
        userAgent: `antipode-mcp/${version}`,
        onWait: (seconds) => tell(`over the rate of calls; going on in ${seconds} s`),
      });
      return client;
    },
    onError: (error) => tell(error.message),
  });
};
