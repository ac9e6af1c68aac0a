import { MANY } from '../data.ts';
import { loadServer, middle, SLICES, sliceSecondsOf, WARM_UP_SECONDS } from '../measure.ts';
import type { ServiceFigures } from '../report.ts';
import { ROW_KINDS } from '../rows.ts';
import { ownMegabytes } from './install.ts';
import { PEERS } from './peers.ts';
import type { PeersReport } from './report.ts';
import { openDeskbell, openPeer, type Subject } from './subject.ts';

/** How often the best of the peers the service must be, on PostgreSQL as they are. */
const TARGETS: Record<string, number> = { list: 6, me: 5, 'sign-in': 1, request: 3.5, answer: 3.5 };

/** At 20 hashes a second each of 32 connections waits longer than a second for its answer. */
const SIGN_IN_SECONDS_MIN = 4;

/** The same work on the same cluster, with the same data; in every row all take turns. */
export async function benchPeers(
  postgresUrl: string,
  seconds: number,
): Promise<Pick<PeersReport, 'subjects' | 'rows' | 'nodeMegabytes'>> {
  console.log('The data into Deskbell …');
  const deskbell = await openDeskbell('postgres', postgresUrl);
  const subjects = [deskbell, await openDeskbell('sqlite', postgresUrl)];
  for (const peer of PEERS) subjects.push(await openPeer(peer, postgresUrl, deskbell.poolSize));
  for (const subject of subjects) await checkList(subject);

  const rows: PeersReport['rows'] = [];
  for (const { id, title } of ROW_KINDS) {
    console.log(`${title} …`);
    const least = id === 'sign-in' ? SIGN_IN_SECONDS_MIN : 1;
    const figures = await measure(id, subjects, Math.max(least, sliceSecondsOf(seconds)));
    rows.push({ id, title, figures, ...(TARGETS[id] === undefined ? {} : { target: TARGETS[id] }) });
  }
  const { withNode, withoutNode } = await ownMegabytes();
  return {
    rows,
    nodeMegabytes: withNode - withoutNode,
    subjects: subjects.map(({ id, title, server, hash, installMegabytes, poolSize }) => ({
      id,
      title,
      hash,
      poolSize,
      installMegabytes,
      readySeconds: server.readySeconds,
      memoryMegabytes: server.residentMegabytes(),
    })),
  };
}

async function measure(row: string, subjects: readonly Subject[], seconds: number) {
  const slices = new Map<Subject, ServiceFigures[]>();
  for (let slice = 0; slice < SLICES; slice += 1) {
    for (const subject of subjects) {
      const plan = subject.plan(row, seconds + WARM_UP_SECONDS);
      if (!plan) continue;
      if (row === 'answer') await subject.reopen();
      const figures = await loadServer(subject, plan, MANY, seconds);
      slices.set(subject, [...(slices.get(subject) ?? []), figures]);
    }
  }
  return Object.fromEntries([...slices].map(([{ id }, figures]) => [id, middle(figures)]));
}

/** Whoever lists anything but the merchant's 50 pending does other work. */
async function checkList({ title, server, tokens, dialect, plan }: Subject): Promise<void> {
  const request = plan('list', 1)?.requests[0];
  if (!request) return;
  const lines = [dialect.tokenHeader + tokens[0], ...(dialect.headers ?? [])];
  const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]));
  const text = await (await fetch(server.url + request.path, { headers })).text();
  const answer = JSON.parse(text);
  const count = (Array.isArray(answer) ? answer : answer.results)?.length;
  if (count !== 50) throw new Error(`${title} lists ${count}: ${text.slice(0, 200)}`);
  console.log(`${title}: the list has ${text.length} bytes`);
}
