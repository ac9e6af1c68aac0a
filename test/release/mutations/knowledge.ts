import { caughtBy, type Mutation } from './mutation.ts';

/** Documents, their other wordings, and the search. */
export const KNOWLEDGE_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/features/knowledge/gaps.test.ts', [
    {
      name: 'a question about one customer is a gap',
      file: 'src/notifications/progress/gaps.ts',
      find: '!question.isPersonal && ',
      replace: '',
      test: 'what was taught, what was resolved, what is personal and what other shops were asked is no gap',
    },
    {
      name: 'a gap stays although a document answers it',
      file: 'src/notifications/progress/gaps.ts',
      find: 'if (documents.length === 0) gaps.push(group);',
      replace: 'if (documents.length < 100) gaps.push(group);',
      test: 'a document about it that was written for another reason closes the gap as well',
    },
  ]),
  ...caughtBy('test/features/knowledge/changes.test.ts', [
    {
      name: 'a document that questions lead to is out of date',
      file: 'src/knowledge/confidence/store.ts',
      find: 'u.document_id = r.document_id and u.day >= r.day`',
      replace: 'u.document_id = r.document_id`',
      test: 'a document is out of date if no question has led to it for 90 days',
    },
    {
      name: 'a page of changes misses those of the same time',
      file: 'src/knowledge/upkeep/changes.ts',
      find: "source > after.source ? '<=' : '<'",
      replace: "source > after.source ? '<' : '<'",
      test: 'pages miss and repeat nothing, even if many changes have the same time',
    },
    {
      name: 'everybody sees who deleted what',
      file: 'src/knowledge/upkeep/changes.ts',
      find: 'from knowledge_removals r where r.merchant_id = $1',
      replace: 'from knowledge_removals r where r.merchant_id > 0 and $1 > 0',
      test: 'every kind of change is listed with its author, newest first',
    },
    {
      name: 'a document that was corrected is still out of date',
      file: 'src/knowledge/upkeep/stale.ts',
      find: 'updated_at <= byId.get(id)!.last',
      replace: "updated_at <= '9' + byId.get(id)!.last",
      test: 'a document is out of date after its answers were judged wrong, until somebody changes it',
    },
  ]),
  ...caughtBy('test/features/knowledge/files.test.ts', [
    {
      name: 'a preview of an import writes the documents',
      file: 'src/knowledge/files/routes.ts',
      find: '        if (preview) {',
      replace:
        '        if (preview) {\n          await importDocuments(database, merchantId, usable.map(({ content }) => content), { now });',
      test: 'a preview tells what an import would do, and writes nothing',
    },
  ]),
  ...caughtBy('test/features/knowledge/knowledge.test.ts', [
    {
      name: 'a document read has no tenant filter',
      file: 'src/knowledge/documents/read.ts',
      find: 'queries.one(`select ${FIELDS} from documents where merchant_id = $1 and id = $2`, [merchantId, id])',
      replace: 'queries.one(`select ${FIELDS} from documents where merchant_id > 0 and id = $1`, [id])',
      test: 'gives the same 404 for another merchant’s document, a missing one, a deleted one and an invalid id',
    },
  ]),
  ...caughtBy('test/features/knowledge/wordings.test.ts', [
    {
      name: 'a wording is removed from any document',
      file: 'src/knowledge/documents/wordingRows.ts',
      find: "'delete from document_wordings where merchant_id = $1 and document_id = $2 and id = $3 returning id'",
      replace: "'delete from document_wordings where merchant_id = $1 and $2 > 0 and id = $3 returning id'",
      test: 'belong to one merchant: to others the document and the wording do not exist',
    },
    {
      name: 'an edit forgets the words of other wordings',
      file: 'src/knowledge/documents/write.ts',
      find: '...wordColumns(content, own)',
      replace: '...wordColumns(content)',
      test: 'an edit and a revert keep them, and the document is still found by them',
    },
    {
      name: 'a long body hides the other wordings from a search',
      file: 'src/knowledge/documents/columns.ts',
      find: "indexed.push(indexWordsOf(wordings.join('\\n')));",
      replace: "indexed[0] = indexWordsOf([title, body, ...wordings].join('\\n'));",
      test: 'an edit and a revert keep them, and the document is still found by them',
    },
    {
      name: 'an answer adds more wordings than a document may have',
      file: 'src/knowledge/documents/wordingRows.ts',
      find: 'added.length > 0 && places > 0 ? [{ document, wordings: added.slice(0, places) }] : []',
      replace: 'added.length > 0 && places > -100 ? [{ document, wordings: added }] : []',
      test: 'at most 100: by hand one more is refused, by an answer it is left out',
    },
    {
      name: 'an answer that was taken from a deleted document is not learned',
      file: 'src/knowledge/learn.ts',
      find: `if (source) return planned(source, source, 'wording');`,
      replace: `if (source) return planned(source, source, 'wording');
  if (sourceId) return { learned: { do: 'wording', documentId: sourceId, version: 1 } } as never;`,
      test: 'an answer that names no document of the merchant is learned as usual',
    },
  ]),
  ...caughtBy('test/database/storage.test.ts', [
    {
      name: 'the bytes of a wording stay when it is removed',
      file: 'src/knowledge/documents/write.ts',
      find: 'wordings_bytes = change.bytes\n',
      replace:
        'wordings_bytes = case when change.bytes > wordings_bytes then change.bytes else wordings_bytes end\n',
      test: 'stores what the database counts, after every kind of write',
    },
    {
      name: 'the bytes of an earlier version stay when the document is deleted',
      file: 'src/knowledge/documents/write.ts',
      find: 'former_bytes = former_bytes + octet_length(title) + octet_length(body)',
      replace: 'former_bytes = former_bytes + octet_length(title)',
      test: 'stores what the database counts, after every kind of write',
    },
  ]),
  ...caughtBy('src/knowledge/search/words.test.ts', [
    {
      name: 'a text is not cut before it is folded',
      file: 'src/knowledge/search/words.ts',
      find: 'const TEXT_LENGTH_MAX = 20_480;',
      replace: 'const TEXT_LENGTH_MAX = Number.POSITIVE_INFINITY;',
      test: 'come from the first 20,480 characters of a text only, also if a character stands for many',
    },
    {
      name: 'marks on a letter are not limited',
      file: 'src/knowledge/search/words.ts',
      find: 'const MARKS_MAX = 30;',
      replace: 'const MARKS_MAX = 30_000;',
      test: 'keep at most 30 marks on a letter, also when removed letters separated them',
    },
  ]),
  ...caughtBy('test/features/knowledge/edit.test.ts', [
    {
      name: 'If-Match is ignored',
      file: 'src/knowledge/routes.ts',
      find: 'if (known !== undefined && !matches(known, tagOf(current))) throw documentChanged();',
      replace: '',
      test: 'with If-Match, refuses to overwrite a change that the caller has not read',
    },
    {
      name: 'two edits at once read the same version',
      file: 'src/knowledge/documents/lock.ts',
      find: '`select ${FIELDS} from documents where merchant_id = $1 and id = $2 ${FOR_UPDATE[tx.engine]}`',
      replace: '`select ${FIELDS} from documents where merchant_id = $1 and id = $2`',
      test: 'keeps both changes when one person edits the title and another the body',
    },
  ]),
];
