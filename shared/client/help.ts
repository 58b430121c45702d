import {
  type ConfigKey,
  configKeys,
  defaultWords,
  isKind,
  kinds,
  unknownConfigKeys,
} from '../api/config-keys.ts';
import { commandName, UsageFault } from '../base/env.ts';
import { isRecord } from '../base/json.ts';
import { nearest } from '../base/text.ts';
import type { Flag } from './arguments.ts';
import { everywhere } from './calls.ts';
import { checkCommand } from './check.ts';
import { type Command, commands, usageOf, withPlaceholder } from './commands.ts';
import { discoverCommand } from './discover/command.ts';
import { type FileCommand, fileCommands } from './files/run.ts';
import { type Paint, padded, printable } from './terminal.ts';

/**
 * Completion in shells. The script that a shell reads in asks this program, with `completion words`
 * and the line so far, what may stand at its end.
 */

const shells = ['bash', 'zsh', 'fish'] as const;

/** `completion SHELL`, and `completion words LINE…`, whose last word is the one to complete. */
export function completion(of: string | undefined, line: readonly string[]): string {
  if (of === 'words')
    return offersFor(line)
      .map(([word, hint]) => `${word}\t${hint}\n`)
      .join('');
  const shell = shells.find((one) => one === of);
  if (shell) return scripts[shell];
  const meant = nearest(of ?? '', shells);
  throw new UsageFault(
    `completion takes ${shells.join(', ')}.${meant ? ` Did you mean ${meant}?` : ''}`,
  );
}

const scripts: Readonly<Record<(typeof shells)[number], string>> = {
  bash: `# Completion of antipode for bash. Add to ~/.bashrc: source <(antipode completion bash)
_antipode() {
  local IFS=$'\\n'
  COMPREPLY=( $(antipode completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" | cut -f 1) )
}
complete -F _antipode antipode
`,
  zsh: `#compdef antipode
# Completion of antipode for zsh. Add to ~/.zshrc, behind compinit: source <(antipode completion zsh)
# Or keep it as a file called _antipode in a folder of $fpath.
_antipode() {
  compadd -- \${\${(f)"$(antipode completion words -- "\${(@)words[2,CURRENT]}")"}%%$'\\t'*}
}
if [[ \${(%):-%N} == _antipode ]]; then
  _antipode "$@"
else
  whence compdef > /dev/null || { autoload -Uz compinit && compinit; }
  compdef _antipode antipode
fi
`,
  fish: `# Completion of antipode for fish. Run: antipode completion fish > ~/.config/fish/completions/antipode.fish
complete -c antipode -f -a '(set -l line (commandline -opc) (commandline -ct); antipode completion words -- $line[2..])'
`,
};

type Offer = readonly [word: string, hint: string];

const fileWords = fileCommands.flatMap(({ words }) => words);

function offersFor(line: readonly string[]): readonly Offer[] {
  const before = line.slice(0, -1);
  return offersAfter(before).filter(([word]) => word.startsWith(line.at(-1) ?? ''));
}

function offersAfter(before: readonly string[]): readonly Offer[] {
  const [noun, verb] = before;
  const nouns = new Set(commands.map(({ words: [first = ''] }) => first));
  if (noun === undefined)
    return plain([
      ...nouns,
      'check',
      'discover',
      ...fileWords,
      'login',
      'run',
      'completion',
      'help',
      '--help',
      '--version',
    ]);
  if (noun === 'completion') return plain(shells);
  if (noun === 'run') return plain(['--ping']);
  if (noun === 'check') return offersOf(checkCommand, before.at(-1) ?? '');
  if (noun === 'discover')
    return verb === undefined
      ? plain(['kubernetes'])
      : offersOf(discoverCommand, before.at(-1) ?? '');
  const ofFiles = fileCommands.find(({ words }) => words[0] === noun);
  if (ofFiles) return offersOf(ofFiles, before.at(-1) ?? '');
  if (noun === 'help') return plain(verb === 'config' ? kinds : ['config', ...nouns]);
  const ofNoun = commands.filter(({ words }) => words[0] === noun);
  const command = ofNoun.find(({ words }) => words.length === 1 || words[1] === verb);
  if (command) return offersOf(command, before.at(-1) ?? '');
  return ofNoun.map(({ words, operation }) => [words[1] ?? '', operation.summary]);
}

function plain(words: Iterable<string>): readonly Offer[] {
  return [...words].map((word) => [word, '']);
}

/** The words of the flag that stands before, or the flags that the command takes. */
function offersOf(command: Pick<Command, 'flags'>, previous: string): readonly Offer[] {
  const flags = [
    ...command.flags,
    ...(command.flags.some(({ key }) => key === 'config') ? keyFlags() : []),
    ...everywhere.filter(({ name }) => command.flags.every((one) => one.name !== name)),
  ];
  const { offered = [] } = flags.find(({ name }) => `--${name}` === previous) ?? {};
  return offered.length > 0
    ? plain(offered)
    : flags.map(({ name, hint }) => [`--${name}`, hint.split('. ')[0]?.replaceAll('`', '') ?? '']);
}

/** Flags of the single keys of a config. */
function keyFlags() {
  return kinds.flatMap((kind) =>
    Object.entries(configKeys[kind]).map(([key, { choices = [], meaning }]) => ({
      name: `config.${key}`,
      offered: choices,
      hint: meaning,
    })),
  );
}

/** @throws UsageFault for an unknown type. */
export function configHelp(kind: string | undefined, paint: Paint): string {
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
}

function partOf(key: string, row: ConfigKey, paint: Paint): string {
  return [
    `  ${paint(key, 'bold')}\n`,
    wrapped(helpPlain(row.meaning), '      '),
    wrapped(helpPlain(`Enter ${row.allowed}. Left out: ${defaultWords(row)}.`), '      '),
    `      --config.${key}${typed(row.example)}\n`,
  ].join('');
}

const textWidth = 78;

function wrapped(text: string, indent: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > textWidth) {
      lines.push(line);
      line = word;
    } else line += line === '' ? word : ` ${word}`;
  }
  return [...lines, line].map((one) => `${indent}${one}\n`).join('');
}

function helpPlain(text: string): string {
  return text.replaceAll('`', '');
}

/** A value as a user would type it right after its flag. */
function typed(value: ConfigKey['example']): string {
  // A text that is JSON itself would be read as what it means.
  const text = typeof value === 'string' && !/^[[{]/.test(value) ? value : JSON.stringify(value);
  // With "=", because a PEM text begins like a flag.
  if (text.includes('\n')) return '="$(cat FILE)"';
  return /^[\w./:-]+$/.test(text) ? ` ${text}` : ` '${text}'`;
}

/** Warnings about a submitted config, once the service has answered with its monitor. */
export function configWarnings(sent: unknown, answer: unknown): readonly string[] {
  if (!isRecord(sent) || !isRecord(sent.config) || !isRecord(answer) || !isKind(answer.type))
    return [];
  return unknownConfigKeys(answer.type, sent.config).map(({ sentence }) => sentence);
}

export function checkHelp(): string {
  return `Check a target once, now, from every continent; nothing is stored

Usage
  antipode check TARGET [FLAGS]

  A target that begins with http(s)://, ws(s):// or grpc(s):// needs no --type. Without --wait the test is begun, and
  antipode tests get ID shows its results.

Flags
${flagLines(checkCommand.flags)}
Exit codes with --wait, besides those of every command: 0 it passes, 6 it is down (it fails from two continents, or from everywhere),
7 answers differ (with --fail-on-difference), 8 no probe had a result

Example
  antipode check https://shop.example/ --from Europe --from Asia --wait --fail-on-difference
`;
}

const aboutFiles = `A file, antipode.yaml by default:

  name: shop
  defaults: { monitors: { interval_s: 30 } }
  groups: { web: {} }
  monitors:
    checkout: { type: https, target: https://shop.example/checkout, group: web }
    "{each}-front": { for_each: [de, fr], type: https, target: "https://{each}.shop.example/" }
  channels:
    pager: { kind: slack, config: { url: "\${SLACK_URL}" }, covers: chosen, groups: [web] }

  Every field of the API is a field here; monitors and groups are named by their keys. Secrets are \${NAME}
  (the environment) or file:PATH. What is left out has its default.

Exit codes of plan: 0 nothing to do, 1 a fault, 2 changes
`;

export function fileHelp({
  words,
  summary,
  flags,
  usage,
  details = aboutFiles,
}: Omit<FileCommand, 'run'>): string {
  return `${summary}

Usage
  antipode ${words.join(' ')} ${usage === undefined ? '' : `${usage} `}[FLAGS]

Flags
${flagLines(flags)}
${details}`;
}

const exampleId = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';

/** One command to copy, made from what the command needs. */
export function exampleOf(command: Command): string {
  const isOfChannel = command.flags.some(({ key }) => key === 'kind');
  const values: Readonly<Record<string, string>> = {
    kind: 'webhook',
    type: 'https',
    target: 'https://example.org/',
    name: "'Shop'",
    interval_s: '60',
    config: isOfChannel
      ? `'{"url": "https://hooks.example.org/antipode"}'`
      : `'{"expected_status": ["2xx"]}'`,
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
    : [
        'type',
        'target',
        'name',
        'starts_at',
        'ends_at',
        'monitor',
        'monitors',
        'display_name',
        'state',
        'days',
      ];
  const chosen = command.flags
    .filter((flag) => flag.required || wanted.includes(flag.key))
    .filter(
      (flag) => !(isUpdate && flag.key === 'enabled') && !(isOfChannel && flag.key === 'monitors'),
    );
  const text = (flag: Flag): string => {
    const value =
      values[flag.key] ?? (/^(monitors?|groups?)$/.test(flag.key) ? exampleId : undefined);
    return value === undefined ? withPlaceholder(flag) : `--${flag.name} ${value}`;
  };
  return [
    'antipode',
    ...command.words,
    ...command.positionals.map(() => exampleId),
    ...chosen.map(text),
  ].join(' ');
}

export function generalHelp(paint: Paint): string {
  const others = [
    ['check TARGET --wait', 'Check a target once, now, from every continent'],
    ['validate', 'Check a configuration file, without a service'],
    ['plan --file antipode.yaml', 'Show what applying a configuration file would change'],
    ['apply --file antipode.yaml', 'Make everything as a configuration file says'],
    ['export --name NAME', 'Print everything that there is as a configuration file'],
    ['import SOURCE', 'Make a configuration file of what another service has'],
    ['discover kubernetes', 'Monitor what a Kubernetes cluster exposes'],
    ['login [ADDRESS]', 'Save the address of the service and your token'],
    ['run --ping … -- COMMAND', 'Run a job and report its result to a heartbeat'],
    ['help config TYPE', "Every key of a monitor's config, by its type"],
    ['completion SHELL', 'Completion for bash, zsh or fish'],
  ] as const;
  return `${paint('antipode', 'bold')}: one command, one call of the Antipode API

${paint('Usage', 'bold')}
  antipode NOUN VERB [ID] [--flag value]

  Instead of an ID you can enter its end, as tables show it, or an exact name: the list is read first.
  Times may be now, +10m or -2h.

${paint('Commands', 'bold')}
${inColumns([...commands.map((command) => [commandName(command), command.operation.summary] as const), ...others])}
${paint('Flags of every command', 'bold')}
${flagLines(everywhere)}
${paint('Settings', 'bold')}
  antipode login writes them. ANTIPODE_URL and ANTIPODE_TOKEN, or ~/.config/antipode/settings.json
  (mode 600) with {"url": "https://…", "token": "svc_…"}

${paint('Example', 'bold')}
  antipode monitors create --type https --target https://example.org/ --interval-s 60

Exit codes: 0 done, 1 refused by the API, 2 wrong usage, 3 no or no valid token, 4 service not reached,
5 try later (over the rate, or the service is not ready), 130 cancelled; check has three more
`;
}

export function commandHelp(command: Command, paint: Paint): string {
  const flags = command.flags.filter((flag) => !(command.paged && flag.key === 'cursor'));
  const described = command.operation.description
    ? `\n${printable(command.operation.description.replaceAll('`', ''))}\n`
    : '';
  const listed = flags.length > 0 ? `\n${paint('Flags', 'bold')}\n${flagLines(flags)}` : '';
  const keys =
    command.operation.path.startsWith('/api/v1/monitors') &&
    flags.some(({ key }) => key === 'config')
      ? '  antipode help config TYPE lists every key of --config\n'
      : '';
  const onward = command.flags.some(({ key }) => key === 'cursor') ? 'cursor' : 'after';
  const paging = command.paged
    ? `  --all walks all pages; --${onward} goes on where a page ended\n`
    : '';
  return `${command.operation.summary}
${described}
${paint('Usage', 'bold')}
  ${usageOf(command)}
${listed}${keys}${paging}
${paint('Example', 'bold')}
  ${exampleOf(command)}
`;
}

/** What each flag takes and means, one a line. */
export function flagLines(flags: readonly Flag[]): string {
  const hint = (flag: Flag): string => {
    const notes = [
      flag.required ? 'required' : '',
      flag.kind === 'list' ? 'may be repeated' : '',
      flag.kind === 'objects'
        ? 'a JSON array or one JSON object a line; @- reads what is piped in'
        : '',
      flag.kind === 'object' ? `single keys as --${flag.name}.KEY VALUE` : '',
    ];
    return [flag.hint.replaceAll('`', ''), notes.filter(Boolean).join(', ')]
      .filter(Boolean)
      .map(printable)
      .join(' – ');
  };
  return inColumns(flags.map((flag) => [withPlaceholder(flag), hint(flag)]));
}

/** Two columns, indented. */
export function inColumns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  return rows
    .map(([left, right]) => `  ${padded(left, width)}  ${right}`.trimEnd())
    .map((line) => `${line}\n`)
    .join('');
}
