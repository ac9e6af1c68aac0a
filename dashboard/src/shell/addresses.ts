/** The settings page has these sections. */
export const SETTINGS_SECTIONS = [
  'shop',
  'connection',
  'team',
  'account',
  'assistant',
  'developer',
  'data',
] as const;
export type SettingsSection = (typeof SETTINGS_SECTIONS)[number];

export interface Target {
  page:
    | 'inbox'
    | 'knowledge'
    | 'overview'
    | 'settings'
    | 'testPhone'
    | 'invite'
    | 'resetPassword'
    | 'unknown';
  id?: number | undefined;
  section?: SettingsSection | undefined;
}

type Detail = 'id' | 'section' | 'none';

/** The first part of each address, its page, and what may follow. Keep in sync with `src/http/dashboard.ts`. */
const ADDRESSES: readonly (readonly [segment: string, page: Target['page'], detail: Detail])[] = [
  ['inbox', 'inbox', 'id'],
  ['knowledge', 'knowledge', 'id'],
  ['overview', 'overview', 'none'],
  ['settings', 'settings', 'section'],
  ['test-phone', 'testPhone', 'id'],
  ['invite', 'invite', 'none'],
  ['reset-password', 'resetPassword', 'none'],
];

export function readAddress(path: string): Target {
  const [segment = '', given, ...more] = path.split('/').filter(Boolean);
  if (segment === '') return { page: 'inbox' };
  const [, page, detail] = ADDRESSES.find(([name]) => name === segment) ?? [];
  if (!page || more.length > 0) return { page: 'unknown' };
  if (given === undefined) return { page };
  if (detail === 'id' && /^\d{1,15}$/.test(given)) return { page, id: Number(given) };
  const section = SETTINGS_SECTIONS.find((name) => name === given);
  return detail === 'section' && section ? { page, section } : { page: 'unknown' };
}

export function writeAddress({ page, id, section }: Target): string {
  const [segment = ''] = ADDRESSES.find(([, name]) => name === page) ?? [];
  const detail = id ?? section;
  return detail === undefined ? `/${segment}` : `/${segment}/${detail}`;
}
