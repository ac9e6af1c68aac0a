/** PostgreSQL stores neither NUL nor half a surrogate pair. With this, both engines store the same text. */
export const storableText = (text: string) => text.toWellFormed().replaceAll('\0', '\ufffd');
