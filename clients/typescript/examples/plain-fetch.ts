/**
 * Only `fetch`: no client, no framework. The model is any server with OpenAI's chat completions. Run it:
 *   DESKBELL_URL=… DESKBELL_KEY=dbk_… OPENAI_API_KEY=… node plain-fetch.ts "Do you have decaf beans?"
 */
import { ASK_MERCHANT, INSTRUCTIONS } from './askMerchant.ts';

interface Desk {
  url: string;
  key: string;
}

interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

type ChatMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string | null; tool_calls?: ToolCall[] }
  | { role: 'tool'; content: string; tool_call_id: string };

/** Sends the messages and the tools to the model, and returns its message. */
export type Model = (
  messages: readonly ChatMessage[],
  tools: readonly object[],
) => Promise<Extract<ChatMessage, { role: 'assistant' }>>;

const TOOLS = [
  {
    type: 'function',
    function: {
      ...ASK_MERCHANT,
      parameters: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
    },
  },
];

/** The merchant has two minutes: 4 polls of 30 seconds. */
const POLLS_MAX = 4;

export async function reply(
  model: Model,
  desk: Desk,
  customer: { phone: string; name: string },
  text: string,
): Promise<string> {
  const messages: ChatMessage[] = [
    { role: 'system', content: INSTRUCTIONS },
    { role: 'user', content: text },
  ];
  for (;;) {
    const message = await model(messages, TOOLS);
    messages.push(message);
    if (!message.tool_calls?.length) return message.content ?? '';
    for (const { id, function: called } of message.tool_calls) {
      const { question } = JSON.parse(called.arguments);
      messages.push({
        role: 'tool',
        tool_call_id: id,
        content: await askMerchant(desk, customer, question),
      });
    }
  }
}

async function askMerchant(desk: Desk, customer: object, question: string): Promise<string> {
  let state = await send<Ask>(desk, 'POST', '/ask', { question, customer, deliver: 'assistant' });
  for (let polls = 0; isOpen(state.status) && polls < POLLS_MAX; polls += 1) {
    state = await send<Ask>(desk, 'GET', `/ask/${state.id}?wait=30`);
  }
  if (isOpen(state.status)) return 'The merchant has not answered yet.';
  return state.answer ?? 'The merchant cannot answer this.';
}

/** The parts of the responses that this program uses. With the status `known` there is an answer at once. */
interface Ask {
  status: string;
  id?: number;
  answer?: string;
}

const isOpen = (status: string) => status === 'asked' || status === 'waiting';

async function send<T>({ url, key }: Desk, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      // A request that is sent again with the same key does not ask twice.
      ...(body ? { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const json = await response.json();
  if (!response.ok) throw new Error(`${json.code}: ${json.detail}`);
  return json;
}

if (import.meta.main) {
  const {
    DESKBELL_URL = 'http://127.0.0.1:8000',
    DESKBELL_KEY = '',
    OPENAI_BASE_URL = 'https://api.openai.com/v1',
    OPENAI_API_KEY = '',
    MODEL = 'gpt-5',
  } = process.env;
  const model: Model = async (messages, tools) => {
    const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${OPENAI_API_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, messages, tools }),
    });
    if (!response.ok) throw new Error(`The model responded with status ${response.status}.`);
    return (await response.json()).choices[0].message;
  };
  const desk = { url: DESKBELL_URL, key: DESKBELL_KEY };
  console.log(await reply(model, desk, { phone: '+14155550132', name: 'Ana' }, process.argv[2] ?? ''));
}
