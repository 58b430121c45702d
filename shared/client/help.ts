import { type ConfigKey, configKeys, defaultWords, isKind, type Kind, kinds, unknownConfigKeys } from '../api/config-keys.ts';
import { commandName, UsageFault } from '../base/env.ts';
import { isRecord } from '../base/json.ts';
import { nearest } from '../base/text.ts';
import { type Command, type Flag, placeholderOf, usageOf } from './commands.ts';
import { harmless, type Paint, padded } from './terminal.ts';

/** The command line's help on the keys of a monitor's config. */

const textWidth = 78;

const wrapped = (text: string, indent: string): string => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > textWidth) {
      lines.push(line);
      line = word;
    } else line += line === '' ? word : ` ${word}`;
  }
  return [...lines, line].map((one) => `${indent}${one}\n`).join('');
};

const plain = (text: string): string => text.replaceAll('`', '');

/** A value as a user would type it after its flag. */
const typed = (value: ConfigKey['example']): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[\w./:-]+$/.test(text) ? text : `'${text}'`;
};

const partOf = (key: string, row: ConfigKey, paint: Paint): string =>
  [
    `  ${paint(key, 'bold')}\n`,
    wrapped(plain(row.meaning), '      '),
    wrapped(plain(`Give ${row.allowed}. Not given: ${defaultWords(row)}.`), '      '),
    `      --config.${key} ${typed(row.example)}\n`,
  ].join('');

/** @throws UsageFault for an unknown type. */
export const configHelp = (kind: string | undefined, paint: Paint): string => {
  if (kind === undefined)
    return `Every key that a monitor's config may have, by its type:\n\n${kinds.map((one) => `  antipode help config ${one}\n`).join('')}`;
  if (!isKind(kind)) {
    const meant = nearest(kind, kinds);
    throw new UsageFault(
      `There is no type "${kind}". ${meant === undefined ? `There are: ${kinds.join(', ')}.` : `Did you mean ${meant}?`}`,
    );
  }
  const parts = Object.entries(configKeys[kind]).map(([key, row]) => partOf(key, row, paint));
  return `The keys of the config of ${kind} monitors, each as its flag of monitors create and update\n\n${parts.join('\n')}`;
};

/** All keys of all types, each once, for completion. */
export const allConfigKeys = (): readonly (readonly [key: string, row: ConfigKey])[] => [
  ...new Map(kinds.flatMap((kind: Kind) => Object.entries(configKeys[kind]))),
];

/** Warnings about a submitted config, once the service has answered with its monitor. */
export const configWarnings = (sent: unknown, answer: unknown): readonly string[] => {
  if (!isRecord(sent) || !isRecord(sent.config) || !isRecord(answer) || !isKind(answer.type)) return [];
  return unknownConfigKeys(answer.type, sent.config).map(({ sentence }) => sentence);
};

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const isShell = (text: unknown): text is Shell => shells.some((shell) => shell === text);

const general = ['--json', '--all', '--fields', '--for', '--yes', '--help', '--no-color'];

const nounsOf = (commands: readonly Command[]): string[] => [
  ...new Set(commands.map(({ words }) => words[0] ?? '')),
  'login',
  'run',
  'completion',
  'help',
];

/** Flags of the single keys of a config, where a command accepts one. */
const keyFlagsOf = (command: Command): { readonly name: string; readonly offered: readonly string[]; readonly hint: string }[] =>
  command.flags.some(({ key }) => key === 'config')
    ? allConfigKeys().map(([key, { choices = [], meaning }]) => ({ name: `config.${key}`, offered: choices, hint: meaning }))
    : [];

const verbsOf = (commands: readonly Command[], noun: string): string[] =>
  commands.filter(({ words }) => words[0] === noun && words.length > 1).map(({ words }) => words[1] ?? '');

const flagsOf = (command: Command): string[] => [...[...command.flags, ...keyFlagsOf(command)].map(({ name }) => `--${name}`), ...general];

const bash = (commands: readonly Command[]): string => {
  const nouns = nounsOf(commands);
  const verbCases = nouns
    .filter((noun) => verbsOf(commands, noun).length > 0)
    .map((noun) => `    ${noun}) words="${verbsOf(commands, noun).join(' ')}" ;;`);
  const flagCases = commands.map((command) => `    "${commandName(command)}"*) words="${flagsOf(command).join(' ')}" ;;`);
  const choiceCases = commands.flatMap((command) =>
    [...command.flags, ...keyFlagsOf(command)]
      .filter(({ offered }) => offered.length > 0)
      .map(({ name, offered }) => `    "${commandName(command)} --${name}") words="${offered.join(' ')}" ;;`),
  );
  return `# Completion of antipode for bash. Add to ~/.bashrc: source <(antipode completion bash)
_antipode() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  local said="\${COMP_WORDS[1]} \${COMP_WORDS[2]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${nouns.join(' ')} --help --version"
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "\${COMP_WORDS[1]}" in
${verbCases.join('\n')}
    completion) words="${shells.join(' ')}" ;;
    help) words="config ${[...new Set(commands.map(({ words: [noun = ''] }) => noun))].join(' ')}" ;;
    esac
  else
    case "$said $previous" in
${choiceCases.join('\n')}
    *) case "$said" in
${flagCases.join('\n')}
    "help config") words="${kinds.join(' ')}" ;;
    esac ;;
    esac
  fi
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
}
complete -F _antipode antipode
`;
};

const quoted = (text: string): string => `'${text.replaceAll("'", `'"'"'`).replaceAll('`', '')}'`;

const zshWords = (commands: readonly Command[], noun: string): readonly string[] => {
  if (noun === 'completion') return shells;
  if (noun === 'run') return ['--beat'];
  return noun === 'help' ? ['config', ...new Set(commands.map(({ words: [first = ''] }) => first))] : verbsOf(commands, noun);
};

const zsh = (commands: readonly Command[]): string => {
  const verbCases = nounsOf(commands)
    .filter((noun) => zshWords(commands, noun).length > 0)
    .map((noun) => `      ${noun}) compadd -- ${zshWords(commands, noun).join(' ')} ;;`);
  const flagCases = commands.map((command) => {
    const [noun = '', verb] = command.words;
    return `      '${noun} '${verb ?? '*'}) compadd -- ${flagsOf(command).join(' ')} ;;`;
  });
  const choiceCases = commands.flatMap((command) =>
    [...command.flags, ...keyFlagsOf(command)]
      .filter(({ offered }) => offered.length > 0)
      .map(({ name, offered }) => `      '${commandName(command)} --${name}') compadd -- ${offered.join(' ')}; return ;;`),
  );
  const lone = commands.filter(({ words }) => words.length === 1).map(({ words }) => words[0] ?? '');
  return `#compdef antipode
# Completion of antipode for zsh. Add to ~/.zshrc, behind compinit: source <(antipode completion zsh)
# Or keep it as a file called _antipode in a folder of $fpath.
_antipode() {
  if (( CURRENT == 2 )); then
    compadd -- ${nounsOf(commands).join(' ')} --help --version
  elif (( CURRENT == 3 )) && [[ $words[2] != (${lone.join('|')}) ]]; then
    case $words[2] in
${verbCases.join('\n')}
    esac
  else
    case "$words[2] $words[3] $words[CURRENT-1]" in
${choiceCases.join('\n')}
    esac
    case "$words[2] $words[3]" in
${flagCases.join('\n')}
      'help config') compadd -- ${kinds.join(' ')} ;;
    esac
  fi
}
if [[ \${(%):-%N} == _antipode ]]; then
  _antipode "$@"
else
  whence compdef > /dev/null || { autoload -Uz compinit && compinit; }
  compdef _antipode antipode
fi
`;
};

const fish = (commands: readonly Command[]): string => {
  const lines = nounsOf(commands).map((noun) => `complete -c antipode -f -n '__fish_use_subcommand' -a ${noun}`);
  for (const command of commands) {
    const [noun = '', verb] = command.words;
    const there =
      verb === undefined
        ? `'__fish_seen_subcommand_from ${noun}'`
        : `'__fish_seen_subcommand_from ${noun}; and __fish_seen_subcommand_from ${verb}'`;
    if (verb !== undefined) {
      const verbs = verbsOf(commands, noun).join(' ');
      lines.push(
        `complete -c antipode -f -n '__fish_seen_subcommand_from ${noun}; and not __fish_seen_subcommand_from ${verbs}' -a ${verb} -d ${quoted(command.operation.summary)}`,
      );
    }
    for (const { name, offered, hint } of [...command.flags, ...keyFlagsOf(command)]) {
      const values = offered.length > 0 ? ` -a ${quoted(offered.join(' '))}` : '';
      lines.push(`complete -c antipode -f -n ${there} -l ${name} -r${values}${hint ? ` -d ${quoted(hint.split('. ')[0] ?? '')}` : ''}`);
    }
  }
  lines.push(`complete -c antipode -f -n '__fish_seen_subcommand_from help' -a 'config'`);
  lines.push(
    `complete -c antipode -f -n '__fish_seen_subcommand_from help; and __fish_seen_subcommand_from config' -a '${kinds.join(' ')}'`,
  );
  lines.push(`complete -c antipode -f -n '__fish_seen_subcommand_from completion' -a '${shells.join(' ')}'`);
  lines.push(...general.map((flag) => `complete -c antipode -f -l ${flag.slice(2)}`));
  return `# Completion of antipode for fish. Run: antipode completion fish > ~/.config/fish/completions/antipode.fish\n${lines.join('\n')}\n`;
};

const writers: Readonly<Record<Shell, (commands: readonly Command[]) => string>> = { bash, zsh, fish };

export const completion = (shell: Shell, commands: readonly Command[]): string => writers[shell](commands);

const exampleId = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';

/** One command to copy, made from what the command needs. */
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
