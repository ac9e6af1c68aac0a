import type { Document } from '../api/types.ts';
import { dropKept, keep, readKept } from '../shell/kept.ts';

/** An edit that is not saved yet, and the version that it began with. */
export type DocumentDraft = Pick<Document, 'title' | 'body' | 'version'>;

const nameOf = (id: number) => `document.${id}`;

export function readDocumentDraft(id: number): DocumentDraft | undefined {
  const { title, body, version } = readKept<DocumentDraft>(nameOf(id)) ?? {};
  return title !== undefined && body !== undefined && version !== undefined
    ? { title, body, version }
    : undefined;
}

export const saveDocumentDraft = (id: number, draft: DocumentDraft): void => keep(nameOf(id), draft);

export const dropDocumentDraft = (id: number): void => dropKept(nameOf(id));
