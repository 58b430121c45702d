import { version } from '../base/version.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import { readSettings } from './settings.ts';
import { serveMcp } from './stdio-mcp.ts';

/** Starts the local assistant server on the process's own streams; whatever is not a message goes to standard error. */
export const runMcp = async (settingsFiles: readonly string[] = []): Promise<void> => {
  const tell = (text: string) => void process.stderr.write(`antipode-mcp: ${text}\n`);
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
