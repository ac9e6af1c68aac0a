import { calls } from '../../api/calls.ts';
import { send } from '../../api/client.ts';
import { readApiError } from '../../api/error.ts';
import { getAccessToken } from '../../session/session.ts';
import { offerFile } from '../../shell/offerFile.ts';

export async function downloadDocuments(format: 'csv' | 'jsonl' | 'md'): Promise<void> {
  const response = await send(calls.exportDocuments(format), await getAccessToken());
  if (!response.ok) throw await readApiError(response);
  await offerFile(response, `knowledge.${format}`);
}
