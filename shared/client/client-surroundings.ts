/** What a command ends with; scripts branch on these. */
export const exits = { done: 0, refused: 1, usage: 2, token: 3, notReached: 4, later: 5, interrupted: 130 } as const;
export type Exit = (typeof exits)[keyof typeof exits];

/** The world around a command, so that a test can stand in its place. */
export type Surroundings = {
  readonly given: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly settingsFiles?: readonly string[];
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** The width of the terminal that the output goes to; undefined when it is no terminal. */
  readonly columns: number | undefined;
  /** Whether somebody sees what is written to `err`, and can answer. */
  readonly attended: boolean;
  /** Undefined when they left instead of answering. What is secret is not shown while it is typed. */
  readonly ask: (question: string, secret?: 'secret') => Promise<string | undefined>;
  readonly readText: (path: string) => string;
  readonly now: () => number;
  /** Makes ready to call what is at an address; tells what stands in the way. */
  readonly reach?: (url: string) => string | undefined;
  readonly wait?: (seconds: number) => Promise<void>;
};
