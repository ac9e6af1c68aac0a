import { queryOptions } from '@tanstack/react-query';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import type { Proposal } from './decide.ts';

/** What an answer could teach. */
export const proposalOf = (id: number) =>
  queryOptions({
    queryKey: ['teaching', id],
    queryFn: ({ signal }) => request<Proposal>(calls.teaching(id), { signal }),
  });
