import { createSocket } from 'node:dgram';

/** A DNS server with one name, whose addresses a test changes. */
export interface NameServer {
  port: number;
  addresses: string[];
  stop(): void;
}

const TYPE_A = 1;
const NO_SUCH_NAME = 3;
/** Like Docker's: programs that believe it ask again after ten minutes. */
const TTL_SECONDS = 600;

export async function startNameServer(name: string): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked = Buffer.from([name.length, ...Buffer.from(name), 0]);
  const server: NameServer = { port: 0, addresses: [], stop: () => socket.close() };
  socket.on('message', (query, { port, address }) => {
    // The question follows the head of twelve bytes: name, type, class.
    const question = query.subarray(12, 12 + query.subarray(12).indexOf(0) + 5);
    const isKnown = question.subarray(0, -4).equals(asked);
    const isA = question.readUInt16BE(question.length - 4) === TYPE_A;
    const found = isKnown && isA ? server.addresses : [];
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | (isKnown ? 0 : NO_SUCH_NAME), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(found.length, 6);
    const answers = found.map((one) => {
      const answer = Buffer.alloc(16);
      // The name is the one of the question.
      answer.writeUInt16BE(0xc00c, 0);
      answer.writeUInt16BE(TYPE_A, 2);
      answer.writeUInt16BE(1, 4);
      answer.writeUInt32BE(TTL_SECONDS, 6);
      answer.writeUInt16BE(4, 10);
      Buffer.from(one.split('.').map(Number)).copy(answer, 12);
      return answer;
    });
    socket.send(Buffer.concat([head, question, ...answers]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  server.port = socket.address().port;
  socket.unref();
  return server;
}
