import { readFileSync } from 'node:fs';

const root = new URL('../../../', import.meta.url).pathname;
/** These run statements for others. */
const FOR_OTHERS = /^src\/database\/\w+\.ts$|^test\/support\/statements\/|node_modules/;
/** They write another text where the tables are spread. */
const ADAPTING = /^src\/database\/(insert|ofMerchants|expiry|lookup|deleteBatch|pages)\.ts$/;
const FRAMES_MAX = 50;

export interface Caller {
  /** The file under src/ and its function, with those of the same file that have called it: `file inner outer`. */
  by: string;
  /** Its text is another one where the tables are spread. */
  isAdapted: boolean;
}

interface Frame {
  file: string;
  name?: string;
}

/** What of the program runs a statement. Undefined: a test runs it. */
export function caller(): Caller | undefined {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES_MAX;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  const all = stack.split('\n').flatMap(frameIn);
  const frames = all.filter(({ file }) => !FOR_OTHERS.test(file));
  const first = frames[0] ?? all.find(({ file }) => file.startsWith('src/'));
  if (!first?.file.startsWith('src/') || first.file.endsWith('.test.ts')) return undefined;
  const names = frames.flatMap(({ file, name }) => (file === first.file && name !== undefined ? [name] : []));
  return {
    by: [first.file, ...new Set(names)].join(' '),
    isAdapted: all.some(({ file }) => ADAPTING.test(file)),
  };
}

function frameIn(line: string): Frame[] {
  const [, name, path, row] =
    /^ +at (?:async )?(?:(.+?) \()?(?:file:\/\/)?(\/.+?):(\d+):\d+\)?$/.exec(line) ?? [];
  if (path === undefined) return [];
  const file = path.endsWith('.js') ? sourceIn(path, Number(row)) : path.replace(root, '');
  // A bundle appends `$1` to a name that several sources have.
  const known = name
    ?.split('.')
    .at(-1)
    ?.replace(/\$\d+$/, '');
  return [{ file, ...(known && known !== '<anonymous>' && { name: known }) }];
}

const BEGIN = /^\/\/ [\w@./-]+\.\w+$/;
const bundled = new Map<string, string[]>();

/** The bundle of the tests says where each source begins. */
function sourceIn(path: string, row: number): string {
  let lines = bundled.get(path);
  if (!lines) {
    lines = readFileSync(path, 'utf8').split('\n');
    bundled.set(path, lines);
  }
  const begin = lines.slice(0, row).findLast((line) => BEGIN.test(line));
  return begin?.slice('// '.length) ?? path;
}
