import type { ColumnRef, FuncCall, Node, SelectStmt } from 'libpg-query';

/** Calls `visit` for every typed node. If it returns true, the nodes below are left out. */
export function walk(value: unknown, visit: (node: Node) => boolean): void {
  if (Array.isArray(value)) for (const each of value) walk(each, visit);
  else if (typeof value === 'object' && value !== null) {
    if (isNode(value) && visit(value)) return;
    for (const each of Object.values(value)) walk(each, visit);
  }
}

/** A node is an object with its type as the only name, and all types begin with a capital. */
const isNode = (value: object): value is Node => {
  const names = Object.keys(value);
  return names.length === 1 && /^[A-Z]/.test(names[0]!);
};

/** The texts of a list of names. */
export const textsOf = (nodes: readonly Node[] = []): string[] =>
  nodes.flatMap((node) => ('String' in node ? [node.String.sval ?? ''] : []));

export const functionOf = ({ funcname }: FuncCall): string => textsOf(funcname).at(-1)!;

/** `a.id` as ['a', 'id'], `id` as ['id']. Undefined for `a.*`. */
export const columnOf = ({ fields = [] }: ColumnRef): string[] | undefined =>
  fields.some((field) => 'A_Star' in field) ? undefined : textsOf(fields);

/** A parameter or a number, as it is written. */
export function valueIn(node: Node | undefined): string | undefined {
  if (!node) return undefined;
  if ('ParamRef' in node) return `$${node.ParamRef.number}`;
  if ('A_Const' in node && node.A_Const.ival) return String(node.A_Const.ival.ival ?? 0);
  if (!('TypeCast' in node)) return undefined;
  const { arg, typeName } = node.TypeCast;
  const isBigint = textsOf(typeName?.names).at(-1) === 'int8' && !typeName?.arrayBounds;
  return isBigint ? valueIn(arg) : undefined;
}

/** PostgreSQL plans an `exists` with such a select as a join. */
export const isPlain = (select: SelectStmt): boolean =>
  select.op === 'SETOP_NONE' &&
  select.fromClause !== undefined &&
  !select.withClause &&
  !select.groupClause &&
  !select.havingClause &&
  !select.distinctClause &&
  !select.limitCount &&
  !select.limitOffset &&
  !select.lockingClause;

export const isOperator = (node: Node, name: string): boolean =>
  'A_Expr' in node && node.A_Expr.kind === 'AEXPR_OP' && textsOf(node.A_Expr.name).at(-1) === name;

/** The sides of `a = b`. `(a, b) = ($1, $2)` is `a = $1 and b = $2`. */
export function pairsOf(node: Node): [Node, Node][] {
  const { lexpr, rexpr } = 'A_Expr' in node ? node.A_Expr : {};
  if (!lexpr || !rexpr) return [];
  if (!('RowExpr' in lexpr && 'RowExpr' in rexpr)) return [[lexpr, rexpr]];
  const others = rexpr.RowExpr.args ?? [];
  return (lexpr.RowExpr.args ?? []).flatMap((each, n): [Node, Node][] =>
    others[n] ? [[each, others[n]]] : [],
  );
}
