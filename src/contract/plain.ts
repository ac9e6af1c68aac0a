/** What the dashboard needs of the contract when it runs. No schemas are here: with them it would load their library. */

/** Characters of a new password, and of any password that is sent. */
export const PASSWORD_LENGTH_MIN = 10;
export const PASSWORD_LENGTH_MAX = 1024;

export const INBOX_TABS = ['open', 'attention', 'answered', 'resolved', 'all'] as const;
export type InboxTab = (typeof INBOX_TABS)[number];

export const NOTE_MAX = 4000;
