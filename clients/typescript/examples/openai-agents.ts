/**
 * OpenAI Agents SDK. Run it:
 *   DESKBELL_URL=… DESKBELL_KEY=dbk_… OPENAI_API_KEY=… node openai-agents.ts "Do you have decaf beans?"
 */
import { type Customer, Deskbell } from '@deskbell/client';
import { Agent, type Model, run, tool } from '@openai/agents';
import { z } from 'zod';
import { ASK_MERCHANT, askMerchant, INSTRUCTIONS } from './askMerchant.ts';

export async function reply(
  model: string | Model,
  deskbell: Deskbell,
  customer: Customer,
  text: string,
): Promise<string> {
  const assistant = new Agent({
    name: 'Shop assistant',
    instructions: INSTRUCTIONS,
    model,
    tools: [
      tool({
        ...ASK_MERCHANT,
        parameters: z.object({ question: z.string() }),
        execute: ({ question }, _context, details) =>
          askMerchant(deskbell, customer, question, details?.signal),
      }),
    ],
  });
  const result = await run(assistant, text);
  return result.finalOutput ?? '';
}

if (import.meta.main) {
  const { DESKBELL_URL = 'http://127.0.0.1:8000', DESKBELL_KEY = '', MODEL = 'gpt-5' } = process.env;
  const deskbell = new Deskbell({ url: DESKBELL_URL, key: DESKBELL_KEY });
  console.log(await reply(MODEL, deskbell, { phone: '+14155550132', name: 'Ana' }, process.argv[2] ?? ''));
}
