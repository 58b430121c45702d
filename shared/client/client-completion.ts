import { kinds } from '../api/api-config-keys.ts';
import { commandName } from '../base/command-line.ts';
import type { Command } from './client-commands.ts';
import { allConfigKeys } from './client-config-help.ts';

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

/** Flags of the single keys of a config, where a command takes one. */
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
