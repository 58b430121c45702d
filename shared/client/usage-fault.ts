/** The command line is not one that we know. The message says what would do. */
export class UsageFault extends Error {
  /** The word that was not known, so that a newer service can be asked whether it knows it. */
  readonly unknown: string | undefined;

  constructor(message: string, unknown?: string) {
    super(message);
    this.unknown = unknown;
  }
}
