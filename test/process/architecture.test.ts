import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { EVERYTHING, FOREIGN_TABLES, MAY_IMPORT } from '../support/parts.ts';
import { root } from '../support/process.ts';
import { TABLES } from '../support/tables.ts';

const source = join(root, 'src');
const files = globSync('**/*.ts', { cwd: source }).filter((file) => !file.endsWith('.test.ts'));
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');

/** Static and dynamic imports, of values and of types. */
const importsOf = (file: string) =>
  [...read('src', file).matchAll(/\b(?:from|import)\b\s*\(?\s*'([\w@.][^'\s]*)'/g)].map(([, path]) => path!);

const partOf = (file: string) => (file in MAY_IMPORT ? file : file.split('/')[0]!);

/** The tables in a file's SQL, or in its calls to a function that builds SQL. */
function tablesIn(file: string): string[] {
  const text = read('src', file).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const named = text.matchAll(
    /(?:\b(?:from|join|into|update|table|exists)\s+|\btable: '|\binsert\('|\binsertRows(?:<[^(]*>)?\(\s*\w+,\s*')([a-z]+(?:_[a-z]+)*)\b/gi,
  );
  const known = Object.values(TABLES).flat();
  return [...new Set([...named].map(([, name]) => name!))].filter((name) => known.includes(name)).sort();
}

describe('the source', () => {
  it('has exactly the parts that this test lists', () => {
    assert.deepEqual([...new Set(files.map(partOf))].sort(), Object.keys(MAY_IMPORT).sort());
  });

  it('has parts that import only what test/support/parts.ts allows', () => {
    const refused = files.flatMap((file) => {
      const part = partOf(file);
      const allowed = MAY_IMPORT[part]!;
      if (allowed === EVERYTHING) return [];
      return importsOf(file)
        .filter((path) => path.startsWith('.'))
        .map((path) => normalize(join(dirname(file), path)))
        .filter((target) => partOf(target) !== part && !allowed.some((path) => target.startsWith(path)))
        .map((target) => `${file} imports ${target}`);
    });
    assert.deepEqual(refused, []);
  });

  it('loads the library of MCP only when an assistant uses it, and OpenTelemetry only if it is set up', () => {
    const loaded = new Set(['serve.ts']);
    for (const file of loaded) {
      const imports = read('src', file).matchAll(/^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)';/gm);
      for (const [, path] of imports) {
        assert.doesNotMatch(path!, /modelcontextprotocol|^\.\.?\/telemetry\//, file);
        if (path!.startsWith('.')) loaded.add(normalize(join(dirname(file), path!)));
      }
    }
    assert.ok(loaded.has('mcp/routes.ts') && loaded.has('observe.ts'));
  });

  it('has no cycles between its parts', () => {
    const imports = new Map<string, Set<string>>();
    for (const file of files) {
      const from = file.split('/')[0]!;
      for (const path of importsOf(file).filter((one) => one.startsWith('.'))) {
        const to = normalize(join(dirname(file), path)).split('/')[0]!;
        if (to !== from) imports.set(from, (imports.get(from) ?? new Set()).add(to));
      }
    }
    assert.ok(imports.size > 10);
    // Who imports nothing that is left cannot be in a cycle.
    for (let left = imports.size + 1; left > imports.size; ) {
      left = imports.size;
      for (const [part, used] of imports)
        if (![...used].some((one) => imports.has(one))) imports.delete(part);
    }
    assert.deepEqual([...imports.keys()], []);
  });

  it('uses in each file only the tables of its own feature, and those that test/support/parts.ts lists', () => {
    const foreign = files.flatMap((file) => {
      const own = TABLES[file.split('/')[0]!] ?? [];
      const others = tablesIn(file).filter((table) => !own.includes(table));
      return others.length > 0 ? [[file, others]] : [];
    });
    assert.deepEqual(Object.fromEntries(foreign), FOREIGN_TABLES);
  });

  it('has an owner for every table that the migrations create', () => {
    const created = readdirSync(join(root, 'migrations')).flatMap((name) =>
      [...read('migrations', name).matchAll(/^create table (\w+)/gm)].map(([, table]) => table!),
    );
    const owned = Object.values(TABLES).flat();
    // A table that is rebuilt has another name while its rows are copied.
    for (const table of new Set(created.filter((name) => !name.endsWith('_rebuilt'))))
      assert.ok(owned.includes(table), `${table} has no owner`);
  });

  it('imports only its own files, Node and the production dependencies of package.json', () => {
    const { dependencies } = JSON.parse(read('package.json'));
    for (const file of files) {
      for (const path of importsOf(file).filter((one) => !/^(\.|node:)/.test(one))) {
        const name = path
          .split('/')
          .slice(0, path.startsWith('@') ? 2 : 1)
          .join('/');
        assert.ok(name in dependencies, `${file} imports ${path}`);
      }
    }
  });

  it('starts no other program', () => {
    for (const file of files)
      for (const path of importsOf(file)) assert.doesNotMatch(path, /child_process|node:cluster/, file);
  });

  it('reads the environment only in config.ts', () => {
    const readers = files.filter((file) =>
      /process\.(env|loadEnvFile)|\[['"]env['"]\]/.test(read('src', file)),
    );
    assert.deepEqual(readers, ['config.ts']);
  });
});
