import type {
  DeleteStmt,
  InsertStmt,
  JoinExpr,
  Node,
  RangeVar,
  SelectStmt,
  SubLink,
  UpdateStmt,
  WithClause,
} from 'libpg-query';
import { type Equality, sourcesWithMerchantOf, type Term, valueOfColumn } from './equalities.ts';
import type { Layout } from './layout.ts';
import {
  type Level,
  mayHave,
  type Restricts,
  restrictedBy,
  type Scope,
  type Source,
  sourceOf,
} from './scopes.ts';
import { columnOf, functionOf, isOperator, isPlain, pairsOf, textsOf, valueIn, walk } from './tree.ts';

interface Insert {
  source: Source;
  isInCte: boolean;
  hasCtes: boolean;
  hasSelects: boolean;
  isReturning: boolean;
  columns: readonly string[];
  /** Undefined for INSERT … SELECT. */
  rows: readonly Node[][] | undefined;
  /** `on conflict (…)`, if it has columns. */
  conflict: readonly string[] | undefined;
}

interface Call {
  name: string;
  args: number;
  part: Part;
}

/** Which part of a statement it is: what is changed and where, what the write is `returning`, or anything else. */
type Part = 'change' | 'returning' | 'read';

/** Where a query is: the CTEs that it can use, and the query around it. */
interface Place {
  ctes: ReadonlySet<string>;
  isInCte: boolean;
  outer: Scope | undefined;
  part: Part;
}

/** Finds in a parsed statement what the rules ask for: every table, in sub-selects too, and the merchant of each. */
export class Statement {
  readonly scopes: Scope[] = [];
  readonly sources: Source[] = [];
  readonly inserts: Insert[] = [];
  readonly calls: Call[] = [];
  readonly columns: Set<string> = new Set();
  /** The columns that an update or `on conflict` sets. */
  readonly changed: Set<string> = new Set();
  /** The right sides of `= any(…)`. */
  readonly arrays: Node[] = [];
  /** `(merchant_id, …) in (select …)` */
  comparesRows = false;
  isRecursive = false;
  isMerge = false;
  readonly #layout: Layout;
  readonly #equalities: Equality[] = [];

  constructor(node: Node, layout: Layout) {
    this.#layout = layout;
    this.#query(node, { ctes: new Set(), isInCte: false, outer: undefined, part: 'read' });
  }

  /** The parameter or number that is the merchant of all rows of this source. */
  merchantOf(source: Source): string | undefined {
    return valueOfColumn(source.scope.level, source, 'merchant_id');
  }

  /** The sources whose rows are of the same merchant as this one's. */
  sameMerchant(source: Source): Set<Source> {
    return sourcesWithMerchantOf(this.#equalities, source);
  }

  #query(node: Node, place: Place): void {
    if ('SelectStmt' in node) this.#select(node.SelectStmt, place);
    else if ('InsertStmt' in node) this.#insert(node.InsertStmt, place);
    else if ('UpdateStmt' in node) this.#change(node.UpdateStmt, 'update', place);
    else if ('DeleteStmt' in node) this.#change(node.DeleteStmt, 'delete', place);
    else this.isMerge = true;
  }

  #ctes(clause: WithClause | undefined, place: Place): Place {
    const ctes = new Set(place.ctes);
    const all = (clause?.ctes ?? []).flatMap((node) =>
      'CommonTableExpr' in node ? [node.CommonTableExpr] : [],
    );
    if (clause?.recursive) {
      this.isRecursive = true;
      for (const { ctename } of all) ctes.add(ctename!);
    }
    for (const { ctename, ctequery } of all) {
      this.#query(ctequery!, { ctes: new Set(ctes), isInCte: true, outer: place.outer, part: 'read' });
      ctes.add(ctename!);
    }
    return { ...place, ctes };
  }

  #scope(outer: Scope | undefined, level: Level = []): Scope {
    const scope = { sources: [], level, outer, isCorrelated: false };
    this.scopes.push(scope);
    return scope;
  }

  /** `joined`: it is an `exists`, which is planned together with the query around it. */
  #select(select: SelectStmt, around: Place, joined?: Restricts): void {
    const place = this.#ctes(select.withClause, around);
    const scope = this.#scope(place.outer, joined && place.outer?.level);
    const before = this.sources.length;
    for (const node of select.fromClause ?? []) this.#from(node, scope, place);
    const read = this.sources.slice(before);
    if (joined instanceof Set) for (const source of scope.sources) joined.add(source);
    for (const side of [select.larg, select.rarg]) if (side) this.#select(side, place);
    this.#condition(select.whereClause, scope, place, joined ?? 'all');
    const { targetList, valuesLists, groupClause, havingClause, windowClause, sortClause } = select;
    const { limitCount, limitOffset, distinctClause } = select;
    const selected = [targetList, valuesLists, groupClause, havingClause, windowClause, sortClause];
    this.#expressions([...selected, distinctClause, limitCount, limitOffset], scope, place);
    for (const node of select.lockingClause ?? []) {
      if (!('LockingClause' in node)) continue;
      const names = node.LockingClause.lockedRels?.map((rel) => 'RangeVar' in rel && rel.RangeVar.relname);
      for (const source of read) if (names?.includes(source.name) ?? true) source.isLocked = true;
    }
  }

  #insert(insert: InsertStmt, around: Place): void {
    const place = this.#ctes(insert.withClause, around);
    const { cols = [], relation, selectStmt, onConflictClause, returningClause } = insert;
    const scope = this.#scope(undefined);
    const source = this.#add(scope, relation!, place, 'insert');
    const columns = cols.flatMap((node) => ('ResTarget' in node ? [node.ResTarget.name!] : []));
    const lists = selectStmt && 'SelectStmt' in selectStmt ? selectStmt.SelectStmt.valuesLists : undefined;
    const rows = lists?.map((list) => ('List' in list ? (list.List.items ?? []) : []));
    let hasSelects = false;
    walk([lists, onConflictClause, returningClause], (node) => {
      hasSelects ||= 'SubLink' in node;
      return false;
    });
    const conflict = onConflictClause?.infer?.indexElems?.flatMap((node) =>
      'IndexElem' in node ? [node.IndexElem.name!] : [],
    );
    this.inserts.push({
      ...{ source, columns, rows, hasSelects, conflict },
      ...{ isInCte: place.isInCte, hasCtes: insert.withClause !== undefined },
      isReturning: returningClause !== undefined,
    });
    if (selectStmt) this.#query(selectStmt, place);
    const merchants = new Set(rows?.map((row) => valueIn(row[columns.indexOf('merchant_id')])));
    const [merchant] = merchants;
    if (merchants.size === 1 && merchant !== undefined) {
      this.#equal(scope.level, { source, column: 'merchant_id' }, { value: merchant }, 'all');
    }
    this.#sets(onConflictClause?.targetList);
    this.#expressions([onConflictClause, returningClause], scope, { ...place, part: 'returning' });
  }

  #change(change: UpdateStmt & DeleteStmt, use: 'update' | 'delete', around: Place): void {
    const place: Place = { ...this.#ctes(change.withClause, around), part: 'change' };
    const scope = this.#scope(undefined);
    this.#add(scope, change.relation!, place, use);
    for (const node of change.fromClause ?? change.usingClause ?? []) this.#from(node, scope, place);
    this.#condition(change.whereClause, scope, place, 'all');
    this.#sets(change.targetList);
    this.#expressions(change.targetList, scope, place);
    this.#expressions(change.returningClause, scope, { ...place, part: 'returning' });
  }

  #sets(targets: readonly Node[] = []): void {
    for (const node of targets) if ('ResTarget' in node) this.changed.add(node.ResTarget.name!);
  }

  #add(scope: Scope, range: RangeVar, { ctes }: Place, use: Source['use'] = 'read'): Source {
    const table = range.relname!;
    const name = range.alias?.aliasname ?? table;
    const isCte = use === 'read' && range.schemaname === undefined && ctes.has(table);
    const known = isCte ? undefined : this.#layout.tables.get(table);
    return this.#push(scope, { name, ...(!isCte && { table }), ...(known && { known }), use });
  }

  #push(scope: Scope, found: Omit<Source, 'isLocked' | 'scope'>): Source {
    const source = { ...found, isLocked: false, scope };
    scope.sources.push(source);
    this.sources.push(source);
    return source;
  }

  #from(node: Node, scope: Scope, place: Place): Source[] {
    if ('RangeVar' in node) return [this.#add(scope, node.RangeVar, place)];
    if ('JoinExpr' in node) return this.#join(node.JoinExpr, scope, place);
    if ('RangeSubselect' in node) {
      const { subquery, lateral, alias } = node.RangeSubselect;
      const outer = lateral ? scope : scope.outer;
      this.#query(subquery!, { ...place, outer, part: 'read' });
      return [this.#push(scope, { name: alias?.aliasname ?? '', use: 'read' })];
    }
    this.#expressions(node, scope, { ...place, part: 'read' });
    const alias = 'RangeFunction' in node ? node.RangeFunction.alias?.aliasname : undefined;
    return [this.#push(scope, { name: alias ?? '', use: 'read' })];
  }

  #join(join: JoinExpr, scope: Scope, place: Place): Source[] {
    const left = this.#from(join.larg!, scope, place);
    const right = this.#from(join.rarg!, scope, place);
    const restricts = restrictedBy(join, left, right);
    this.#condition(join.quals, scope, place, restricts);
    for (const column of textsOf(join.usingClause)) {
      const [one, other] = [left, right].map((side) => side.find((source) => mayHave(source, column)));
      if (one && other) {
        this.#equal(scope.level, { source: one, column }, { source: other, column }, restricts);
      }
    }
    return [...left, ...right];
  }

  /** A condition that must be true for every row: the parts of an `and`, one by one. */
  #condition(node: Node | undefined, scope: Scope, place: Place, restricts: Restricts): void {
    if (!node) return;
    if ('BoolExpr' in node && node.BoolExpr.boolop === 'AND_EXPR') {
      for (const part of node.BoolExpr.args ?? []) this.#condition(part, scope, place, restricts);
      return;
    }
    if (restricts === 'all') {
      if ('SubLink' in node && this.#joinExists(node.SubLink, scope, place, 'all')) return;
      const negated = 'BoolExpr' in node && node.BoolExpr.boolop === 'NOT_EXPR' && node.BoolExpr.args?.[0];
      // The planner derives a restriction for what must not exist, but none from it.
      if (negated && 'SubLink' in negated && this.#joinExists(negated.SubLink, scope, place, new Set()))
        return;
    }
    if (isOperator(node, '=')) {
      for (const [one, other] of pairsOf(node)) {
        const [left, right] = [this.#term(one, scope), this.#term(other, scope)];
        if (left && right) this.#equal(scope.level, left, right, restricts);
      }
    }
    this.#expressions(node, scope, place);
  }

  #joinExists(
    { subLinkType, subselect }: SubLink,
    scope: Scope,
    place: Place,
    restricts: Restricts,
  ): boolean {
    const select = subselect && 'SelectStmt' in subselect ? subselect.SelectStmt : undefined;
    if (subLinkType !== 'EXISTS_SUBLINK' || !select || !isPlain(select)) return false;
    this.#select(select, { ...place, outer: scope, part: 'read' }, restricts);
    return true;
  }

  #equal(level: Level, left: Term, right: Term, restricts: Restricts): void {
    const equality: Equality = { sides: [left, right], restricts };
    level.push(equality);
    this.#equalities.push(equality);
  }

  #term(node: Node, scope: Scope): Term | undefined {
    const value = valueIn(node);
    if (value !== undefined) return { value };
    if (!('ColumnRef' in node)) return undefined;
    const source = sourceOf(node.ColumnRef, scope);
    return source && { source, column: columnOf(node.ColumnRef)!.at(-1)! };
  }

  #expressions(value: unknown, scope: Scope, place: Place): void {
    walk(value, (node) => {
      if ('ColumnRef' in node) {
        sourceOf(node.ColumnRef, scope);
        const column = columnOf(node.ColumnRef)?.at(-1);
        if (column !== undefined) this.columns.add(column);
      } else if ('FuncCall' in node) {
        const { args = [] } = node.FuncCall;
        this.calls.push({ name: functionOf(node.FuncCall), args: args.length, part: place.part });
      } else if ('A_Expr' in node && /^AEXPR_OP_(ANY|ALL)$/.test(node.A_Expr.kind!)) {
        this.arrays.push(node.A_Expr.rexpr!);
      } else if ('SubLink' in node) {
        const { testexpr, subselect } = node.SubLink;
        this.comparesRows ||= testexpr !== undefined && 'RowExpr' in testexpr && namesMerchant(testexpr);
        this.#expressions(testexpr, scope, place);
        // What is returned must be the same on every node, to its last part.
        const part = place.part === 'returning' ? 'returning' : 'read';
        this.#query(subselect!, { ...place, outer: scope, part });
        return true;
      }
      return false;
    });
  }
}

function namesMerchant(node: Node): boolean {
  let found = false;
  walk(node, (each) => {
    if ('ColumnRef' in each) found ||= columnOf(each.ColumnRef)?.at(-1) === 'merchant_id';
    return false;
  });
  return found;
}
