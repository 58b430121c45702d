import { commandName } from '../base/command-line.ts';
import { type Command, type Flag, placeholderOf, usageOf } from './client-commands.ts';
import { harmless, type Paint, padded } from './client-terminal.ts';

const exampleId = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';

/** One command that somebody can copy, made from what the command needs. */
export const exampleOf = (command: Command): string => {
  const isOfChannel = command.flags.some(({ key }) => key === 'kind');
  const values: Readonly<Record<string, string>> = {
    kind: 'webhook',
    type: 'https',
    target: 'https://example.org/',
    name: "'Shop'",
    interval_s: '60',
    config: isOfChannel ? `'{"url": "https://hooks.example.org/antipode"}'` : `'{"expected_status": ["2xx"]}'`,
    items: '@monitors.jsonl',
    starts_at: '+1h',
    ends_at: '+2h',
    days: '30',
    state: 'open',
    limit: '50',
    enabled: 'false',
    display_name: "'Web shop'",
    description: "'All that customers see'",
  };
  const isUpdate = command.operation.method === 'PATCH';
  const wanted = isUpdate
    ? ['interval_s', 'enabled', 'name']
    : ['type', 'target', 'name', 'starts_at', 'ends_at', 'monitor', 'monitors', 'display_name', 'state', 'days'];
  const chosen = command.flags
    .filter((flag) => flag.required || wanted.includes(flag.key))
    .filter((flag) => !(isUpdate && flag.key === 'enabled') && !(isOfChannel && flag.key === 'monitors'));
  const text = (flag: Flag): string =>
    `--${flag.name} ${values[flag.key] ?? (/^(monitors?|groups?)$/.test(flag.key) ? exampleId : placeholderOf(flag))}`;
  return ['antipode', ...command.words, ...command.positionals.map(() => exampleId), ...chosen.map(text)].join(' ');
};

export const generalHelp = (commands: readonly Command[], paint: Paint): string => {
  const width = Math.max(...commands.map((command) => commandName(command).length));
  const nouns = [...new Set(commands.map((command) => command.words[0] ?? ''))];
  const lines = nouns.map((noun) =>
    commands
      .filter((command) => command.words[0] === noun)
      .map((command) => `  ${padded(commandName(command), width)}  ${command.operation.summary}`)
      .join('\n'),
  );
  return `${paint('antipode', 'bold')}: one command, one call of the Antipode API

${paint('Usage', 'bold')}
  antipode NOUN VERB [ID] [--flag value]

  For an ID its end (as tables show it) or an exact name serves as well: the list is read first, to find it.
  Times may be now, +10m or -2h.

${paint('Commands', 'bold')}
${lines.join('\n')}
  ${padded('login [ADDRESS]', width)}  Write down where the service is, and your token
  ${padded('run --beat … -- COMMAND', width)}  Run a job and tell its heartbeat how it went
  ${padded('help config TYPE', width)}  Every key of a monitor's config, for https, dns or heartbeat
  ${padded('completion SHELL', width)}  Completion for bash, zsh or fish

${paint('Flags of every command', 'bold')}
  --fields A,B  only these fields, as name,config.timeout_ms; on a terminal they are the columns
  --for 10m     the end of a window: so long from --starts-at, or from now (s, m, h, d, w)
  --json        one JSON document as the API gives it (the default when piped)
  --all         walk all pages of a list into one document
  --yes         delete a monitor, or end a probe, without asking; needed where nobody can be asked
  --no-color    no colours (NO_COLOR does the same)
  --help        what a command takes, with an example
  --version     the version of this client

${paint('Settings', 'bold')}
  antipode login writes them. ANTIPODE_URL and ANTIPODE_TOKEN, or ~/.config/antipode/settings.json
  (mode 600) with {"url": "https://…", "token": "svc_…"}

${paint('Example', 'bold')}
  antipode monitors create --type https --target https://example.org/ --interval-s 60

Exit codes: 0 done, 1 refused by the API, 2 wrong usage, 3 no or no valid token, 4 service not reached,
5 try later (over the rate, or the service is not ready), 130 left at a question
`;
};

export const commandHelp = (command: Command, paint: Paint): string => {
  const flags = command.flags.filter((flag) => !(command.paged && flag.key === 'cursor'));
  const left = (flag: Flag): string => `--${flag.name} ${placeholderOf(flag)}`;
  const width = Math.max(0, ...flags.map((flag) => left(flag).length));
  const hint = (flag: Flag): string => {
    const notes = [
      flag.required ? 'required' : '',
      flag.kind === 'list' ? 'may be repeated' : '',
      flag.kind === 'objects' ? 'a JSON array or one JSON object a line; @- reads what is piped in' : '',
      flag.kind === 'object' ? `single keys as --${flag.name}.KEY VALUE` : '',
    ];
    return [flag.hint.replaceAll('`', ''), notes.filter(Boolean).join(', ')].filter(Boolean).map(harmless).join(' – ');
  };
  const described = command.operation.description ? `\n${harmless(command.operation.description.replaceAll('`', ''))}\n` : '';
  const listed =
    flags.length > 0
      ? `\n${paint('Flags', 'bold')}\n${flags.map((flag) => `  ${padded(left(flag), width)}  ${hint(flag)}`.trimEnd()).join('\n')}\n`
      : '';
  const keys =
    command.operation.path.startsWith('/api/v1/monitors') && flags.some(({ key }) => key === 'config')
      ? '  antipode help config TYPE lists every key of --config\n'
      : '';
  const onward = command.flags.some(({ key }) => key === 'cursor') ? 'cursor' : 'after';
  const paging = command.paged ? `  --all walks all pages; --${onward} goes on where a page ended\n` : '';
  return `${command.operation.summary}
${described}
${paint('Usage', 'bold')}
  ${usageOf(command)}
${listed}${keys}${paging}
${paint('Example', 'bold')}
  ${exampleOf(command)}
`;
};
