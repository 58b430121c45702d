import manifest from '../../package.json' with { type: 'json' };

/** The version of everything in this package; it travels in user agents, presence and documents. */
export const version: string = manifest.version;
