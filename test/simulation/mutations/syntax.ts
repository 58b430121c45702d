import { ts } from '../../client/parser.ts';
import type { Edit } from './types.ts';

/**
 * The source with this edit. Nodes of its syntax are compared, so that its layout and what stands
 * around them make no difference. @throws when what is to be changed is not there exactly once.
 */
export function edited(source: string, of: string, { find, instead }: Edit): string {
  const names = of.split('.');
  const within = names.reduce<ts.Node>(
    (scope, name) => only(name, nodesIn(scope), (node) => node !== scope && nameOf(node) === name),
    parse(source),
  );
  if (find === null) return replaced(source, initializerOf(within), instead);
  const wanted = shapeOf(syntaxOf(find));
  const found = only(find, nodesIn(within), (node) => !isName(node) && shapeOf(node) === wanted);
  return instead === null
    ? replaced(source, ...withoutNode(found))
    : replaced(source, found, instead);
}

function parse(text: string): ts.SourceFile {
  return ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
}

/** An expression, in brackets where it would be a block, or a statement. */
function syntaxOf(text: string): ts.Node {
  const [statement, ...more] = parse(text).statements;
  if (!statement || more.length > 0) throw new Error(`is no expression or statement: ${text}`);
  if (!ts.isExpressionStatement(statement)) return statement;
  const { expression } = statement;
  return ts.isParenthesizedExpression(expression) ? expression.expression : expression;
}

function nodesIn(node: ts.Node): ts.Node[] {
  const nodes = [node];
  ts.forEachChild(node, (child) => {
    nodes.push(...nodesIn(child));
  });
  return nodes;
}

function only(what: string, nodes: readonly ts.Node[], is: (node: ts.Node) => boolean): ts.Node {
  const [found, ...more] = nodes.filter(is);
  if (!found || more.length > 0)
    throw new Error(`${what} is there ${found ? more.length + 1 : 0} times, not once`);
  return found;
}

/** Two nodes of the same shape read the same. */
function shapeOf(node: ts.Node): string {
  const text = 'text' in node && !ts.isSourceFile(node) ? String(node.text) : '';
  const operator = 'operator' in node ? String(node.operator) : '';
  const children: string[] = [];
  ts.forEachChild(node, (child) => {
    children.push(shapeOf(child));
  });
  return `${node.kind}${JSON.stringify(text)}${operator}(${children.join()})`;
}

function nameOf(node: ts.Node): string | undefined {
  const isNamed =
    ts.isVariableDeclaration(node) || ts.isFunctionDeclaration(node) || isProperty(node);
  return isNamed && node.name && ts.isIdentifier(node.name) ? node.name.text : undefined;
}

function isProperty(node: ts.Node): node is ts.PropertyAssignment | ts.ShorthandPropertyAssignment {
  return ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node);
}

function isName(node: ts.Node): boolean {
  return 'name' in node.parent && node.parent.name === node;
}

/** What a declaration gives to its name. */
function initializerOf(node: ts.Node): ts.Node {
  const initializer =
    ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) ? node.initializer : undefined;
  if (!initializer) throw new Error(`${nameOf(node)} has no value`);
  return initializer;
}

function withoutNode(node: ts.Node): [ts.Node, string] {
  const { parent } = node;
  if (ts.isExpressionStatement(parent)) return [parent, '{}'];
  const joins: readonly ts.SyntaxKind[] = [
    ts.SyntaxKind.AmpersandAmpersandToken,
    ts.SyntaxKind.BarBarToken,
  ];
  if (!ts.isBinaryExpression(parent) || !joins.includes(parent.operatorToken.kind))
    throw new Error(`cannot be left out: ${node.getText()}`);
  return [parent, (parent.left === node ? parent.right : parent.left).getText()];
}

function replaced(source: string, node: ts.Node, text: string): string {
  const isWhole = ts.isStatement(node) && !ts.isExpression(node);
  return source.slice(0, node.getStart()) + (isWhole ? text : `(${text})`) + source.slice(node.end);
}
