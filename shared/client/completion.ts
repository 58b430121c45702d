import { type Command, commandName } from './commands.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const isShell = (text: unknown): text is Shell => shells.some((shell) => shell === text);

const general = ['--json', '--all', '--yes', '--help', '--no-color'];

const nounsOf = (commands: readonly Command[]): string[] => [...new Set(commands.map(({ words }) => words[0] ?? '')), 'completion'];

const verbsOf = (commands: readonly Command[], noun: string): string[] =>
  commands.filter(({ words }) => words[0] === noun && words.length > 1).map(({ words }) => words[1] ?? '');

const flagsOf = (command: Command): string[] => [...command.flags.map(({ name }) => `--${name}`), ...general];

const bash = (commands: readonly Command[]): string => {
  const nouns = nounsOf(commands);
  const verbCases = nouns
    .filter((noun) => verbsOf(commands, noun).length > 0)
    .map((noun) => `    ${noun}) words="${verbsOf(commands, noun).join(' ')}" ;;`);
  const flagCases = commands.map((command) => `    "${commandName(command)}"*) words="${flagsOf(command).join(' ')}" ;;`);
  const choiceCases = commands.flatMap((command) =>
    command.flags
      .filter(({ choices }) => choices.length > 0)
      .map(({ name, choices }) => `    "${commandName(command)} --${name}") words="${choices.join(' ')}" ;;`),
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
    esac
  else
    case "$said $previous" in
${choiceCases.join('\n')}
    *) case "$said" in
${flagCases.join('\n')}
    esac ;;
    esac
  fi
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
}
complete -F _antipode antipode
`;
};

const quoted = (text: string): string => `'${text.replaceAll("'", `'"'"'`).replaceAll('`', '')}'`;

const zsh = (commands: readonly Command[]): string => {
  const verbCases = nounsOf(commands).map(
    (noun) => `      ${noun}) compadd -- ${(noun === 'completion' ? shells : verbsOf(commands, noun)).join(' ')} ;;`,
  );
  const flagCases = commands.map((command) => `      "${commandName(command)}") compadd -- ${flagsOf(command).join(' ')} ;;`);
  return `#compdef antipode
# Completion of antipode for zsh. Add to ~/.zshrc: source <(antipode completion zsh)
_antipode() {
  if (( CURRENT == 2 )); then
    compadd -- ${nounsOf(commands).join(' ')} --help --version
  elif (( CURRENT == 3 )); then
    case "$words[2]" in
${verbCases.join('\n')}
    esac
  else
    case "$words[2] $words[3]" in
${flagCases.join('\n')}
      "whoami "*) compadd -- ${general.join(' ')} ;;
    esac
  fi
}
compdef _antipode antipode
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
    for (const { name, choices, hint } of command.flags) {
      const values = choices.length > 0 ? ` -a ${quoted(choices.join(' '))}` : '';
      lines.push(`complete -c antipode -f -n ${there} -l ${name} -r${values}${hint ? ` -d ${quoted(hint.split('. ')[0] ?? '')}` : ''}`);
    }
  }
  lines.push(`complete -c antipode -f -n '__fish_seen_subcommand_from completion' -a '${shells.join(' ')}'`);
  lines.push(...general.map((flag) => `complete -c antipode -f -l ${flag.slice(2)}`));
  return `# Completion of antipode for fish. Run: antipode completion fish > ~/.config/fish/completions/antipode.fish\n${lines.join('\n')}\n`;
};

const writers: Readonly<Record<Shell, (commands: readonly Command[]) => string>> = { bash, zsh, fish };

export const completion = (shell: Shell, commands: readonly Command[]): string => writers[shell](commands);
