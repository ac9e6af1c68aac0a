/**
 * LangGraph. Run it:
 *   DESKBELL_URL=… DESKBELL_KEY=dbk_… OPENAI_API_KEY=… node langgraph.ts "Do you have decaf beans?"
 */
import { type Customer, Deskbell } from '@deskbell/client';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { ASK_MERCHANT, askMerchant, INSTRUCTIONS } from './askMerchant.ts';

export async function reply(
  model: BaseChatModel,
  deskbell: Deskbell,
  customer: Customer,
  text: string,
): Promise<string> {
  const ask = tool(({ question }, config) => askMerchant(deskbell, customer, question, config?.signal), {
    ...ASK_MERCHANT,
    schema: z.object({ question: z.string() }),
  });
  const withTools = model.bindTools!([ask]);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('assistant', async ({ messages }) => ({ messages: [await withTools.invoke(messages)] }))
    .addNode('tools', new ToolNode([ask]))
    .addEdge(START, 'assistant')
    .addConditionalEdges('assistant', toolsCondition)
    .addEdge('tools', 'assistant')
    .compile();
  const { messages } = await graph.invoke({
    messages: [new SystemMessage(INSTRUCTIONS), new HumanMessage(text)],
  });
  return messages.at(-1)?.text ?? '';
}

if (import.meta.main) {
  const { DESKBELL_URL = 'http://127.0.0.1:8000', DESKBELL_KEY = '', MODEL = 'gpt-5' } = process.env;
  const deskbell = new Deskbell({ url: DESKBELL_URL, key: DESKBELL_KEY });
  const model = new ChatOpenAI({ model: MODEL });
  console.log(await reply(model, deskbell, { phone: '+14155550132', name: 'Ana' }, process.argv[2] ?? ''));
}
