import { queryOptions } from '@tanstack/react-query';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import type { Proposal } from './decide.ts';

/** What an answer could teach. */
export const proposalOf = (id: number) =>
  queryOptions({
    queryKey: ['teaching', id],
    // Not cancelled when the form closes: an answer that is being sent may wait for it.
    queryFn: () => request<Proposal>(calls.teaching(id)),
  });
