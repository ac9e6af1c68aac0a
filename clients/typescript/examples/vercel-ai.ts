/**
 * Vercel AI SDK. Run it:
 *   DESKBELL_URL=… DESKBELL_KEY=dbk_… AI_GATEWAY_API_KEY=… node vercel-ai.ts "Do you have decaf beans?"
 */
import { type Customer, Deskbell } from '@deskbell/client';
import { generateText, isStepCount, type LanguageModel, tool } from 'ai';
import { z } from 'zod';
import { ASK_MERCHANT, askMerchant, INSTRUCTIONS } from './askMerchant.ts';

export async function reply(
  model: LanguageModel,
  deskbell: Deskbell,
  customer: Customer,
  text: string,
): Promise<string> {
  const ask_merchant = tool({
    description: ASK_MERCHANT.description,
    inputSchema: z.object({ question: z.string() }),
    execute: ({ question }, { abortSignal }) => askMerchant(deskbell, customer, question, abortSignal),
  });
  const result = await generateText({
    model,
    instructions: INSTRUCTIONS,
    prompt: text,
    tools: { ask_merchant },
    stopWhen: isStepCount(5),
  });
  return result.text;
}

if (import.meta.main) {
  const { DESKBELL_URL = 'http://127.0.0.1:8000', DESKBELL_KEY = '', MODEL = 'openai/gpt-5' } = process.env;
  const deskbell = new Deskbell({ url: DESKBELL_URL, key: DESKBELL_KEY });
  console.log(await reply(MODEL, deskbell, { phone: '+14155550132', name: 'Ana' }, process.argv[2] ?? ''));
}
