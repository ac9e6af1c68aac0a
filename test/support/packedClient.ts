import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { newFolder, root } from './process.ts';

export type Client = typeof import('../../clients/typescript/src/index.ts');

const execute = promisify(execFile);
const SOURCE = join(root, 'clients', 'typescript');
const PACKED = ['package.json', 'tsconfig.json', 'src', 'README.md', 'LICENSE'];

/** The compiler and npm, for the packages of the client. */
export async function runTool(program: string, args: string[], cwd: string): Promise<string> {
  const path = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`;
  try {
    return (await execute(program, args, { cwd, env: { ...process.env, PATH: path } })).stdout;
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout: string; stderr: string };
    return assert.fail(`${message}\n${stdout}${stderr}`);
  }
}

/** Packs the client as it would be published, in a copy of its folder, and returns the path of the tarball. */
export async function packClient(): Promise<string> {
  const folder = newFolder();
  for (const name of PACKED) cpSync(join(SOURCE, name), join(folder, name), { recursive: true });
  await runTool('npm', ['pack', '--silent'], folder);
  const { version } = JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8'));
  return join(folder, `deskbell-client-${version}.tgz`);
}

/** A folder with nothing but the client, installed from the tarball without a network. */
export async function installClient(): Promise<{ folder: string; client: Client }> {
  const folder = newFolder();
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  await runTool('npm', ['install', '--offline', '--no-audit', '--no-fund', await packClient()], folder);
  const entry = join(folder, 'node_modules/@deskbell/client/dist/index.js');
  return { folder, client: await import(pathToFileURL(entry).href) };
}

/** A program of this major version of Node on this machine. */
export async function findNode(major: number): Promise<string | undefined> {
  const programs = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  for (const program of programs.filter((one) => existsSync(one))) {
    const { stdout } = await execute(program, ['--version']);
    if (stdout.startsWith(`v${major}.`)) return program;
  }
  return undefined;
}
