/** How email addresses are compared. NUL is replaced, because no text column can hold it. */
export function emailKeyOf(email: string): string {
  return email.trim().toWellFormed().replaceAll('\0', '\ufffd').normalize('NFC').toLowerCase();
}
