/**
 * Where each table is on a cluster. A table whose primary key begins with `merchant_id` is spread by merchant: all rows of
 * a merchant are on one node. These few are the same on every node. All others are on the coordinator.
 */
export const EVERYWHERE = ['merchants', 'users', 'answer_schemas'] as const;
