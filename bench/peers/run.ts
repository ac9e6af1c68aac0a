import { MANY } from '../data.ts';
import { load, loadServer, middle, SLICES, sliceSecondsOf, WARM_UP_SECONDS } from '../measure.ts';
import type { ServiceFigures } from '../report.ts';
import { ROW_KINDS } from '../rows.ts';
import { type Contender, openDeskbell, openPeer } from './contender.ts';
import { ownMegabytes } from './install.ts';
import { PEERS } from './peers.ts';
import type { PeersReport } from './report.ts';

/** How many times faster than the best peer the service must be, all on PostgreSQL. */
const TARGETS: Record<string, number> = { list: 6, me: 5, 'sign-in': 1, request: 3.5, answer: 3.5 };

/** At 20 hashes a second each of 32 connections waits more than a second for its answer. */
const SIGN_IN_SECONDS_MIN = 4;

/** With `sends`, these seconds of answers come before each slice, so that messages go out during the slice. */
const ANSWER_FIRST_SECONDS = 2;

export interface PeersOptions {
  seconds: number;
  /** The ids of the rows to measure. */
  rowIds: readonly string[];
  /** Deskbell runs its worker and sends messages while it is measured, on PostgreSQL only. */
  sends: boolean;
}

/** The same work with the same data on the same PostgreSQL server. In every row they take turns. */
export async function benchPeers(
  postgresUrl: string,
  { seconds, rowIds, sends }: PeersOptions,
): Promise<Pick<PeersReport, 'contenders' | 'rows' | 'nodeMegabytes'>> {
  console.log('Loading the data into Deskbell …');
  const deskbell = await openDeskbell('postgres', postgresUrl, sends);
  const contenders = [deskbell];
  if (!sends) contenders.push(await openDeskbell('sqlite', postgresUrl, false));
  for (const peer of PEERS) contenders.push(await openPeer(peer, postgresUrl, deskbell.poolSize));
  for (const contender of contenders) await checkList(contender);

  const rows: PeersReport['rows'] = [];
  for (const { id, title } of ROW_KINDS.filter((row) => rowIds.includes(row.id))) {
    console.log(`${title} …`);
    const minimum = id === 'sign-in' ? SIGN_IN_SECONDS_MIN : 1;
    const figures = await measure(id, contenders, Math.max(minimum, sliceSecondsOf(seconds)), sends);
    rows.push({ id, title, figures, ...(TARGETS[id] === undefined ? {} : { target: TARGETS[id] }) });
  }
  const { withNode, withoutNode } = await ownMegabytes();
  return {
    rows,
    nodeMegabytes: withNode - withoutNode,
    contenders: contenders.map(({ id, title, server, hash, installMegabytes, poolSize }) => ({
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

async function measure(row: string, contenders: readonly Contender[], seconds: number, sends: boolean) {
  const slices = new Map<Contender, ServiceFigures[]>();
  for (let slice = 0; slice < SLICES; slice += 1) {
    for (const contender of contenders) {
      const plan = contender.plan(row, seconds + WARM_UP_SECONDS);
      if (!plan) continue;
      if (row === 'answer' || sends) await contender.reopen();
      // All contenders do the same, although only Deskbell sends messages.
      const answers = sends && row !== 'answer' ? contender.plan('answer', 1) : undefined;
      if (answers) await load(contender, answers, MANY, ANSWER_FIRST_SECONDS);
      const sentBefore = await contender.sentMessages?.();
      const figures = await loadServer(contender, plan, MANY, seconds);
      if (sentBefore !== undefined) {
        const sent = (await contender.sentMessages!()) - sentBefore;
        console.log(`  ${sent} messages sent during the slice of ${seconds} s`);
        // Otherwise the remaining messages would slow down the others.
        await contender.waitUntilSent!();
      }
      slices.set(contender, [...(slices.get(contender) ?? []), figures]);
    }
  }
  return Object.fromEntries([...slices].map(([{ id }, figures]) => [id, middle(figures)]));
}

/** Makes sure that each lists the merchant's 50 pending notifications, or the comparison is not fair. */
async function checkList({ title, server, tokens, dialect, plan }: Contender): Promise<void> {
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
