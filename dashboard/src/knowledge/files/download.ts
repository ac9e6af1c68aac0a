import { calls } from '../../api/calls.ts';
import { send } from '../../api/client.ts';
import { readApiError } from '../../api/error.ts';
import { getAccessToken } from '../../session/session.ts';

/** A link cannot send the token, so the file is fetched and then offered by the browser. */
export async function downloadDocuments(format: 'csv' | 'jsonl' | 'md'): Promise<void> {
  const response = await send(calls.exportDocuments(format), await getAccessToken());
  if (!response.ok) throw await readApiError(response);
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = `knowledge.${format}`;
  link.click();
  // The browser has started to read it by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
