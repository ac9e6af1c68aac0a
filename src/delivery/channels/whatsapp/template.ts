import type { ChannelTemplate } from '../../../contract/channel.ts';

/** What Meta says about the template that reaches customers outside the window. */

type Found = Pick<ChannelTemplate, 'state' | 'reason' | 'text'>;

interface MetaTemplate {
  name?: unknown;
  language?: unknown;
  status?: unknown;
  components?: { type?: unknown; text?: unknown }[];
}

/** By Meta's status. One that is not here is shown as it is. */
const STATES: Readonly<Record<string, Pick<ChannelTemplate, 'state' | 'reason'>>> = {
  APPROVED: { state: 'approved', reason: null },
  PENDING: { state: 'pending', reason: 'WhatsApp has not approved it yet.' },
  IN_APPEAL: { state: 'pending', reason: 'WhatsApp has not decided about your appeal yet.' },
  REJECTED: { state: 'rejected', reason: 'WhatsApp has rejected it.' },
  PAUSED: { state: 'paused', reason: 'WhatsApp has paused it, because customers did not like it.' },
  DISABLED: { state: 'disabled', reason: 'WhatsApp has disabled it.' },
  LIMIT_EXCEEDED: { state: 'unknown', reason: 'The business account has too many templates.' },
};

const PLACEHOLDER = /\{\{\s*\w+\s*\}\}/g;
const placeholdersIn = (text: string) =>
  new Set(text.match(PLACEHOLDER)?.map((one) => one.replace(/\s/g, '')));

/** `body` is Meta's answer. It may list other templates: their names contain this one. */
export function templateIn(body: unknown, name: string, language: string): Found {
  const { data } = (body ?? {}) as { data?: unknown };
  const templates = (Array.isArray(data) ? data : []).filter(
    (one): one is MetaTemplate => typeof one === 'object' && one !== null && one.name === name,
  );
  const found = templates.find((one) => one.language === language);
  if (!found) {
    const languages = templates.map((one) => String(one.language)).join(', ');
    const reason =
      templates.length === 0
        ? 'The business account has no template with this name.'
        : `The template does not exist in the language ${language}, only in ${languages}.`;
    return { state: 'missing', reason, text: null };
  }
  const components = Array.isArray(found.components) ? found.components : [];
  const textOf = (type: string) => String(components.find((one) => one?.type === type)?.text ?? '');
  const text = textOf('BODY');
  const status = String(found.status);
  const known = STATES[status] ?? { state: 'unknown', reason: `WhatsApp says: ${status}.` };
  const count = placeholdersIn(text).size;
  if (
    known.state === 'approved' &&
    (count !== 1 || !text.includes('{{1}}') || placeholdersIn(textOf('HEADER')).size > 0)
  ) {
    const reason =
      'It must have exactly one placeholder, {{1}}, in its body: Deskbell writes the answer there.';
    return { state: 'unusable', reason, text };
  }
  return { ...known, text };
}
