import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml';

/** A YAML document as a value, with the place of everything in it. */

type Place = { readonly line: number; readonly column: number };
export type Path = readonly (string | number)[];
export type FileFault = Place & {
  readonly file: string;
  readonly path: Path;
  readonly message: string;
};

/** What stands in a file, and where. */
export type Source = {
  readonly file: string;
  readonly value: unknown;
  readonly placeOf: (path: Path) => Place;
  readonly faults: readonly FileFault[];
};

const maxBytes = 2 * 1024 * 1024;
/** More than any file that can be applied has, with room for aliases. */
const maxNodes = 200_000;
const maxDepth = 60;
const beginning: Place = { line: 1, column: 1 };

/** Ends a walk through nodes that will not get better. */
class Hopeless extends Error {
  readonly node: Node;

  constructor(node: Node, message: string) {
    super(message);
    this.node = node;
  }
}

/** Never throws: whatever is wrong with the text is a fault with its place. */
export function readDocument(file: string, text: string): Source {
  const hopeless = (message: string, place = beginning): Source => ({
    file,
    value: undefined,
    placeOf: () => place,
    faults: [{ ...place, file, path: [], message }],
  });
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    return hopeless(
      `it has ${(bytes / 1024 / 1024).toFixed(1)} MiB; 2 MiB are the most. Split it into several files.`,
    );
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    strict: true,
    // It would compare each key with all before it; `mapOf` remembers them.
    uniqueKeys: false,
  });
  const placeAt = (offset: number | undefined): Place => {
    const { line, col } = lines.linePos(offset ?? 0);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const faults = document.errors.map(({ message, pos: [offset] }) => ({
    ...placeAt(offset),
    file,
    path: [],
    message: message.split(/ at line \d+, column \d+|\n/)[0]?.replace(/:$/, '') ?? message,
  }));
  if (faults.length > 0) return { ...hopeless(''), faults };
  const places = new Map<string, number>();
  const walk = walkOf(document.contents, targetsOf(document), places);
  try {
    return {
      file,
      value: walk(),
      faults: [],
      placeOf: (path) => {
        // What is missing has the place of what it is missing from.
        for (let length = path.length; length >= 0; length -= 1) {
          const offset = places.get(nameOf(path.slice(0, length)));
          if (offset !== undefined) return placeAt(offset);
        }
        return beginning;
      },
    };
  } catch (error) {
    if (error instanceof Hopeless) return hopeless(error.message, placeAt(error.node.range?.[0]));
    throw error;
  }
}

function nameOf(path: Path): string {
  return JSON.stringify(path);
}

/** What each alias stands for: the last anchor of its name before it. Read once, if at all. */
function targetsOf(document: Document): (alias: Alias) => Node | undefined {
  let targets: Map<Alias, Node | undefined> | undefined;
  const read = (): Map<Alias, Node | undefined> => {
    const found = new Map<Alias, Node | undefined>();
    const anchors = new Map<string, Node>();
    visit(document, {
      Node: (_key, node) => {
        if (isAlias(node)) found.set(node, anchors.get(node.source));
        else if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined)
          anchors.set(node.anchor, node);
      },
    });
    return found;
  };
  return (alias) => {
    targets ??= read();
    return targets.get(alias);
  };
}

/** The value of a document. Aliases are followed by hand, so that a cycle or a bomb has a place. */
function walkOf(
  root: Node | null,
  resolve: (alias: Alias) => Node | undefined,
  places: Map<string, number>,
): () => unknown {
  const open = new Set<Node>();
  let count = 0;
  const enter = <Result>(node: Node, depth: number, work: () => Result): Result => {
    count += 1;
    if (count > maxNodes)
      throw new Hopeless(node, 'its aliases make more of it than any file can have; write less.');
    if (depth > maxDepth) throw new Hopeless(node, `nest at most ${maxDepth} levels deep.`);
    if (open.has(node)) throw new Hopeless(node, 'an alias leads back to what it stands in.');
    open.add(node);
    const result = work();
    open.delete(node);
    return result;
  };
  const read = (node: unknown, path: Path): unknown => {
    if (isAlias(node)) {
      const target = resolve(node);
      if (target === undefined) throw new Hopeless(node, `there is no anchor "${node.source}".`);
      return enter(node, path.length, () => read(target, path));
    }
    if (isScalar(node)) {
      count += 1;
      note(path, node);
      return node.value;
    }
    if (isSeq(node))
      return enter(node, path.length, () => {
        note(path, node);
        return node.items.map((item, index) => read(item, [...path, index]));
      });
    if (isMap(node))
      return enter(node, path.length, () => {
        note(path, node);
        return mapOf(node.items, path);
      });
    return null;
  };
  const note = (path: Path, node: Node): void => {
    const name = nameOf(path);
    if (node.range && !places.has(name)) places.set(name, node.range[0]);
  };
  const mapOf = (items: readonly { key: unknown; value: unknown }[], path: Path): unknown => {
    const own: Record<string, unknown> = {};
    const merged: Record<string, unknown> = {};
    const keys = new Set<unknown>();
    for (const { key, value } of items) {
      const name = isScalar(key) ? String(key.value) : undefined;
      if (name === undefined) {
        if (isScalar(value) || isMap(value) || isSeq(value))
          throw new Hopeless(value, 'a key must be a word.');
        continue;
      }
      if (isScalar(key) && keys.has(key.value)) throw new Hopeless(key, 'Map keys must be unique');
      if (isScalar(key)) keys.add(key.value);
      if (name === '<<') {
        const sources = isSeq(value) ? value.items : [value];
        for (const source of sources) Object.assign(merged, read(source, path));
        continue;
      }
      if (isScalar(key)) note([...path, name], key);
      define(own, name, read(value, [...path, name]));
    }
    return { ...merged, ...own };
  };
  return () => read(root, []);
}

/** Also for a key that objects have by themselves. */
function define(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
