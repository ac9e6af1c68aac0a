/** PostgreSQL's texts hold neither NUL nor half a surrogate pair; so that both engines keep the same. */
export const storableText = (text: string) => text.toWellFormed().replaceAll('\0', '\ufffd');
