/** Cheap 32-bit hashes for spreading and comparing; not for secrets: whoever wants a collision finds one. */

/** Stirs all bits of a 32-bit number (the finisher of MurmurHash3), so that near inputs come out far apart. */
export const stir = (value: number): number => {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
};

/** FNV-1a over the text's characters, stirred. */
export const hashOf = (text: string, seed = 0x811c9dc5): number => {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return stir(hash);
};
