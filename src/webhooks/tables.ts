import { plain, SECRETS, type Table } from '../database/tables.ts';

export const WEBHOOK_TABLES: readonly Table[] = [
  plain(
    'webhook_endpoints',
    'id',
    'id sealed_settings events description include_content enabled stopped_at stop_reason failing_since position ' +
      'replay_position replay_until replay_since created_at updated_at',
    SECRETS,
  ),
];
