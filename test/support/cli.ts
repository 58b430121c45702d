/**
 * For test files: the command-line client with a world around it that a test can see into; what it
 * calls is the real service.
 */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { runCli } from '../../shared/client/cli.ts';
import { type CommandContext, exits } from '../../shared/client/http.ts';

export type Ran = {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly asked: string[];
};
export type World = {
  readonly token?: string | undefined;
  readonly url?: string;
  readonly terminal?: boolean;
  readonly columns?: number;
  /** Undefined: whoever is asked goes away. */
  readonly answer?: string | undefined;
  readonly now?: () => number;
  readonly environment?: Readonly<Record<string, string>>;
};

export const createCommand = (of: { readonly url: string; readonly token: string }) => {
  const run = async (line: readonly string[], world: World = {}): Promise<Ran> => {
    const {
      token = of.token,
      url = of.url,
      terminal = false,
      columns = 120,
      now = () => Date.now(),
    } = world;
    let [out, err] = ['', ''];
    const asked: string[] = [];
    const around: CommandContext = {
      given: line,
      environment: {
        ANTIPODE_URL: url,
        ANTIPODE_TOKEN: token,
        XDG_CONFIG_HOME: '/nonexistent',
        NO_COLOR: '',
        ...world.environment,
      },
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      columns: terminal ? columns : undefined,
      attended: terminal,
      ask: async (question) => {
        asked.push(question);
        return 'answer' in world ? world.answer : '';
      },
      readText: (path) => readFileSync(path, 'utf8'),
      now,
    };
    const code = await runCli(around);
    if (token !== '') expect(out + err).not.toContain(token);
    return { code, out, err, asked };
  };

  const json = async (...line: string[]): Promise<Record<string, unknown>> => {
    const { code, out, err } = await run(line);
    expect({ code, err }).toEqual({ code: exits.done, err: '' });
    return JSON.parse(out);
  };
  return { run, json, token: of.token };
};
