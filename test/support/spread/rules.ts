import { type Node, parseSync } from 'libpg-query';
import type { Layout, Overload } from './layout.ts';
import type { Scope, Source } from './scopes.ts';
import { Statement } from './statement.ts';
import { valueIn } from './tree.ts';

/**
 * What a statement must be like where the tables are spread by merchant over a cluster of Citus: see docs/scale.md. Some
 * rules are what Citus refuses, some what is slow there. They are stricter than Citus where its planner decides.
 */
type Rule = (statement: Statement, layout: Layout) => string[];

const QUERIES = ['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt'];
const WITHOUT_TABLES = [
  ...['TransactionStmt', 'VariableSetStmt', 'VariableShowStmt'],
  ...['ListenStmt', 'UnlistenStmt', 'NotifyStmt'],
];

/** What is wrong with a statement, in words for its author. */
interface Findings {
  problems: string[];
  /** Why it reads the rows of many merchants. That visits every node: only the background may do that. */
  readsAcross: string[];
}

export function check(sql: string, layout: Layout): Findings {
  const nodes = (parseSync(sql).stmts ?? []).map(({ stmt }) => stmt!);
  const kinds = nodes.map((each) => Object.keys(each)[0]!).filter((kind) => !WITHOUT_TABLES.includes(kind));
  if (kinds.length === 0) return { problems: [], readsAcross: [] };
  const [node] = nodes;
  if (!node || nodes.length > 1)
    return { problems: ['several statements in one string: send each on its own'], readsAcross: [] };
  if (!QUERIES.includes(kinds[0]!))
    return { problems: [`${kinds[0]}: no rule for this kind of statement`], readsAcross: [] };
  const statement = new Statement(node, layout);
  const problems = RULES.flatMap((rule) => rule(statement, layout));
  const across = acrossMerchants(statement);
  const isRead = statement.sources.every((source) => !isWritten(source) && !source.isLocked);
  return isRead && across.length > 0
    ? { problems: [...problems, ...eachNodeAlone(statement)], readsAcross: across }
    : { problems: [...problems, ...across], readsAcross: [] };
}

const isSpread = ({ known }: Source) => known?.placement === 'spread';
const isEverywhere = ({ known }: Source) => known?.placement === 'everywhere';
/** Tables of the catalog, too. */
const isLocal = (source: Source) => source.table !== undefined && !isSpread(source) && !isEverywhere(source);
const isWritten = ({ use }: Source) => use !== 'read';
const list = (sources: readonly Source[]) =>
  [...new Set(sources.map(({ table, name }) => (table === name ? table : `${table} ${name}`)))].join(', ');

const HOW: Readonly<Record<Source['use'], string>> = {
  read: 'is read',
  insert: 'is inserted into',
  update: 'is updated',
  delete: 'is deleted from',
};

/** Citus finds the node by `merchant_id = $n`, for each table in the query that reads or writes it. */
function acrossMerchants(statement: Statement): string[] {
  const spread = statement.sources.filter(isSpread);
  const problems = spread
    .filter((source) => statement.merchantOf(source) === undefined)
    .map((source) =>
      source.use === 'insert'
        ? `${list([source])}: give merchant_id as the same $n in each row`
        : `${list([source])} ${source.isLocked ? 'is locked' : HOW[source.use]} across merchants: add merchant_id = $n to its own query`,
    );
  const merchants = new Set(spread.map((source) => statement.merchantOf(source)).filter((each) => each));
  if (merchants.size > 1) problems.push(`several merchants (${[...merchants].join(', ')}): use the same $n`);
  return [...new Set(problems)];
}

/** A read of all merchants: each node must be able to do its part alone. */
function eachNodeAlone(statement: Statement): string[] {
  const apart = statement.scopes.flatMap(({ sources, isCorrelated, outer }) => {
    const spread = sources.filter(isSpread);
    const [first] = spread;
    if (!first) return [];
    const same = statement.sameMerchant(first);
    const alone = spread.filter((source) => !same.has(source));
    return !isCorrelated || around(outer).some((source) => isSpread(source) && same.has(source))
      ? alone
      : spread;
  });
  return [
    ...(apart.length > 0
      ? [`${list(apart)} is not joined by merchant_id with a spread table around it`]
      : []),
    ...(statement.isRecursive ? ['with recursive across merchants'] : []),
  ];
}

/** The sources of all queries around one. */
const around = (outer: Scope | undefined): Source[] =>
  outer ? [...outer.sources, ...around(outer.outer)] : [];

const RULES: readonly Rule[] = [
  function mixedPlaces({ sources }) {
    const [spread, local] = [sources.filter(isSpread), sources.filter(isLocal)];
    if (spread.length === 0 || local.length === 0) return [];
    return [`mixes spread tables (${list(spread)}) with tables on the coordinator (${list(local)})`];
  },
  function writesEverywhere({ sources }) {
    const written = sources.filter((source) => isEverywhere(source) && isWritten(source));
    const others = sources.filter((source) => source.table !== undefined && !isEverywhere(source));
    if (written.length === 0 || others.length === 0) return [];
    return [`writes ${list(written)}, which is on every node, together with ${list(others)}`];
  },
  function locksEverywhere({ sources, scopes }) {
    const locked = scopes.filter((scope) => scope.sources.some(({ isLocked }) => isLocked));
    const everywhere = locked.flatMap((scope) => scope.sources.filter(isEverywhere));
    if (everywhere.length === 0 || !sources.some(isSpread)) return [];
    return [`locks rows in a query with ${list(everywhere)}, which is on every node`];
  },
  function insertedRows({ inserts }) {
    return inserts.filter(({ source }) => isSpread(source)).flatMap(insertProblems);
  },
  function functions({ calls, sources }, layout) {
    if (!sources.some((source) => isSpread(source) || isEverywhere(source))) return [];
    const problems = calls.flatMap(({ name, args, part }) => {
      const overloads = (layout.functions.get(name) ?? []).filter(
        ({ argsMin, argsMax }) => args >= argsMin && args <= argsMax,
      );
      const is = (test: (overload: Overload) => boolean) => overloads.some(test);
      if (is(({ volatility }) => volatility === 'v'))
        return [`${name}() runs on the node of the table: call it in a statement of its own`];
      if (is(({ isOwn }) => isOwn)) return [`${name}() is not on the nodes: write what it does`];
      const isMutable = part !== 'read' && is(({ volatility }) => volatility !== 'i');
      return isMutable ? [`${name}() is not immutable: Citus refuses it in ${WHERE[part]}`] : [];
    });
    return [...new Set(problems)];
  },
  function idLists({ arrays, sources, comparesRows }) {
    if (!sources.some(isSpread)) return [];
    return [
      ...(arrays.every(isBound) ? [] : ['any(…) of an expression: bind an array, any(cast($n as bigint[]))']),
      ...(comparesRows
        ? ['(merchant_id, …) in (select …): write merchant_id = $n and id = any(cast($m as bigint[]))']
        : []),
    ];
  },
  function changesMerchant({ changed, sources }) {
    const written = sources.filter((source) => isSpread(source) && isWritten(source));
    return changed.has('merchant_id') && written.length > 0 ? ['sets merchant_id: rows cannot move'] : [];
  },
  function rowPlaces(statement) {
    const isAcross = statement.sources.some((each) => isSpread(each) && !statement.merchantOf(each));
    return isAcross && statement.columns.has('ctid') ? ['ctid is a place on one node: use the key'] : [];
  },
  ({ isMerge }) => (isMerge ? ['merge: use insert, update or delete'] : []),
];

const WHERE = { change: 'set and where', returning: 'returning and on conflict', read: '' };

function insertProblems(insert: Statement['inserts'][number]): string[] {
  const { source, rows, columns, conflict } = insert;
  const { table, known } = source;
  const id = known?.identity;
  const isNumbered = rows?.every((row) => {
    const value = row[columns.indexOf(id!)];
    return value !== undefined && !('SetToDefault' in value);
  });
  const isCombined = insert.isInCte || insert.hasCtes;
  const problems: [applies: boolean, problem: string][] = [
    [!rows, '… select: insert values'],
    [insert.hasSelects, 'with a sub-select: read it before'],
    [isCombined, 'combined with other queries: insert in a statement of its own'],
    [isCombined && !insert.isReturning, 'combined without returning: a violation would come as XX000'],
    [id !== undefined && rows !== undefined && !isNumbered, `without ${id}: draw it before`],
    [conflict?.includes('merchant_id') === false, 'on conflict of columns without merchant_id'],
  ];
  return problems.flatMap(([applies, problem]) => (applies ? [`insert into ${table} ${problem}`] : []));
}

/** A parameter, or a select: `any(array(select …))`. */
const isBound = (node: Node): boolean =>
  'SubLink' in node ||
  'A_ArrayExpr' in node ||
  valueIn(node) !== undefined ||
  ('TypeCast' in node && valueIn(node.TypeCast.arg) !== undefined);
