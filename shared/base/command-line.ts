/** What the command lines of the client and of the operator have in common. */

/** The command line is not one that we know. The message says what would do. */
export class UsageFault extends Error {
  /** The word that was not known, so that a newer service can be asked whether it knows it. */
  readonly unknown: string | undefined;

  constructor(message: string, unknown?: string) {
    super(message);
    this.name = 'UsageFault';
    this.unknown = unknown;
  }
}

/** Whatever is named by a noun and a verb, or by one word. */
export type Named = { readonly words: readonly string[] };

export const commandName = ({ words }: Named): string => words.join(' ');

/** The command that the first words of a line name, and what is left of the line; undefined when there is none. */
export const commandNamed = <Command extends Named>(
  commands: readonly Command[],
  line: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } | undefined => {
  for (const length of [2, 1]) {
    const name = line.slice(0, length).join(' ');
    const command = line.length >= length ? commands.find((one) => commandName(one) === name) : undefined;
    if (command) return { command, rest: line.slice(length) };
  }
  return undefined;
};
