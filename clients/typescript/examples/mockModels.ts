/**
 * Models without a network, for the test: each calls the tool with the customer's words, and then repeats what the tool
 * returned.
 */
import { AIMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { type Model as AgentModel, setTracingDisabled, Usage } from '@openai/agents';
import { MockLanguageModelV4 } from 'ai/test';
import { ASK_MERCHANT } from './askMerchant.ts';
import type { Model as FetchModel } from './plain-fetch.ts';

const { name } = ASK_MERCHANT;
const relay = (answer: string) => `The merchant says: ${answer}`;
const input = (question: string) => JSON.stringify({ question });

export function vercelAi(question: string) {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const last = prompt.at(-1)!;
      const result = last.role === 'tool' ? last.content[0] : undefined;
      const output = result?.type === 'tool-result' ? result.output : undefined;
      return output?.type === 'text'
        ? {
            content: [{ type: 'text', text: relay(output.value) }],
            finishReason: { unified: 'stop', raw: undefined },
            usage,
            warnings: [],
          }
        : {
            content: [{ type: 'tool-call', toolCallId: '1', toolName: name, input: input(question) }],
            finishReason: { unified: 'tool-calls', raw: undefined },
            usage,
            warnings: [],
          };
    },
  });
}

export function openaiAgents(question: string): AgentModel {
  // Otherwise the SDK sends its traces to OpenAI.
  setTracingDisabled(true);
  return {
    async getResponse({ input: items }) {
      const last = typeof items === 'string' ? undefined : items.at(-1);
      if (last?.type !== 'function_call_result') {
        const call = { callId: '1', name, status: 'completed', arguments: input(question) } as const;
        return { usage: new Usage(), output: [{ type: 'function_call', ...call }] };
      }
      const { output } = last;
      const answer =
        typeof output === 'object' && 'text' in output ? String(output.text) : JSON.stringify(output);
      const content = [{ type: 'output_text' as const, text: relay(answer) }];
      const message = { type: 'message', role: 'assistant', status: 'completed', content } as const;
      return { usage: new Usage(), output: [message] };
    },
    async *getStreamedResponse() {
      yield* [];
    },
  };
}

export function langgraph(question: string) {
  return fakeModel()
    .respondWithTools([{ name, args: { question } }])
    .respond((messages) => new AIMessage(relay(messages.at(-1)!.text)));
}

export function plainFetch(question: string): FetchModel {
  return async (messages) => {
    const last = messages.at(-1)!;
    if (last.role === 'tool') return { role: 'assistant', content: relay(last.content) };
    const call = { id: '1', type: 'function', function: { name, arguments: input(question) } } as const;
    return { role: 'assistant', content: null, tool_calls: [call] };
  };
}
