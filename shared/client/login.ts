import { UsageFault } from '../base/env.ts';
import { memberOf } from '../base/json.ts';
import { version } from '../base/process.ts';
import { type CommandContext, createHttpClient, type Exit, exits } from './http.ts';
import { checkedToken, checkedUrl, readSettings, settingsFile, writeSettings } from './settings.ts';
import { printable } from './terminal.ts';

export const loginHelp = `Write the settings file: where the service is, and your token

Usage
  antipode login [ADDRESS]

  The token is made on the page Tokens of your account, pasted here, tried once and written to the settings file (mode 600).
  It is never taken from the command line, where other users of the machine see it; where nobody can be asked it is read from
  standard input.

Example
  antipode login https://antipode.example
`;

export async function login(words: readonly string[], world: CommandContext): Promise<Exit> {
  if (words.length > 1)
    throw new UsageFault(
      `login does not take "${words[1]}": the token is asked for, never given on the command line.`,
    );
  const left = (): Exit => {
    world.err('\nNothing was written.\n');
    return exits.interrupted;
  };
  const place = await address(words[0], world);
  if (place === undefined) return left();
  const url = checkedUrl(place);
  const token = await tokenFor(url, world);
  if (token === undefined) return left();
  const settings = { url, token: checkedToken(token) };
  const obstacle = world.reach?.(url);
  if (obstacle !== undefined) world.err(`antipode: ${obstacle}\n`);
  const { body } = await createHttpClient({ settings, userAgent: `antipode/${version}` }).call({
    method: 'GET',
    path: '/api/v1/me',
  });
  const file = settingsFile(world.environment);
  writeSettings(file, settings);
  const organisation = memberOf(memberOf(body, 'organisation'), 'name');
  const may = memberOf(body, 'scope') === 'read' ? 'can read' : 'can read and write';
  world.out(
    `You act in ${printable(String(organisation))} as ${printable(String(memberOf(body, 'role')))}; this token ${may}. Written to ${file}\n`,
  );
  return exits.done;
}

/** Undefined when the user went away. */
async function address(
  given: string | undefined,
  world: CommandContext,
): Promise<string | undefined> {
  if (given !== undefined) return given;
  const known = knownUrl(world);
  if (!world.attended) {
    if (known === undefined)
      throw new UsageFault(
        'login needs the address of the service, as in antipode login https://antipode.example',
      );
    return known;
  }
  const answer = await world.ask(
    `Address of the service${known === undefined ? '' : ` [${known}]`}: `,
  );
  return answer === undefined ? undefined : answer.trim() || known || '';
}

function knownUrl(world: CommandContext): string | undefined {
  try {
    return readSettings({ ...world.environment, ANTIPODE_TOKEN: 'unknown' }, world.settingsFiles)
      .url;
  } catch {
    // There are no settings yet, or none that work: this command makes them.
    return undefined;
  }
}

async function tokenFor(url: string, world: CommandContext): Promise<string | undefined> {
  if (!world.attended) return world.readText('-').trim();
  world.err(`Make a token here, then paste it: ${url}/tokens/new\n`);
  return (await world.ask('Token (not shown): ', 'secret'))?.trim();
}
