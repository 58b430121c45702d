import { configKeys, kinds } from '../api/config-keys.ts';
import { UsageFault } from '../base/env.ts';
import { nearest } from '../base/text.ts';
import { everywhere } from './calls.ts';
import { type Command, commands } from './commands.ts';

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
  throw new UsageFault(`completion takes ${shells.join(', ')}.${meant ? ` Did you mean ${meant}?` : ''}`);
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

const plain = (words: Iterable<string>): readonly Offer[] => [...words].map((word) => [word, '']);

function offersFor(line: readonly string[]): readonly Offer[] {
  const before = line.slice(0, -1);
  return offersAfter(before).filter(([word]) => word.startsWith(line.at(-1) ?? ''));
}

function offersAfter(before: readonly string[]): readonly Offer[] {
  const [noun, verb] = before;
  const nouns = new Set(commands.map(({ words: [first = ''] }) => first));
  if (noun === undefined) return plain([...nouns, 'login', 'run', 'completion', 'help', '--help', '--version']);
  if (noun === 'completion') return plain(shells);
  if (noun === 'run') return plain(['--beat']);
  if (noun === 'help') return plain(verb === 'config' ? kinds : ['config', ...nouns]);
  const ofNoun = commands.filter(({ words }) => words[0] === noun);
  const command = ofNoun.find(({ words }) => words.length === 1 || words[1] === verb);
  if (command) return offersOf(command, before.at(-1) ?? '');
  return ofNoun.map(({ words, operation }) => [words[1] ?? '', operation.summary]);
}

/** The words of the flag that stands before, or the flags that the command takes. */
function offersOf(command: Command, previous: string): readonly Offer[] {
  const flags = [...command.flags, ...(command.flags.some(({ key }) => key === 'config') ? keyFlags() : []), ...everywhere];
  const { offered = [] } = flags.find(({ name }) => `--${name}` === previous) ?? {};
  return offered.length > 0 ? plain(offered) : flags.map(({ name, hint }) => [`--${name}`, hint.split('. ')[0]?.replaceAll('`', '') ?? '']);
}

/** Flags of the single keys of a config. */
const keyFlags = () =>
  kinds.flatMap((kind) =>
    Object.entries(configKeys[kind]).map(([key, { choices = [], meaning }]) => ({
      name: `config.${key}`,
      offered: choices,
      hint: meaning,
    })),
  );
