/** Inserts a text where the cursor is, as if it were typed, so that undo and drafts know of it. */
export function insertText(field: HTMLTextAreaElement | null | undefined, text: string): void {
  if (!field || field.readOnly) return;
  field.focus();
  const { selectionStart, selectionEnd } = field;
  field.setRangeText(text, selectionStart, selectionEnd, 'end');
  field.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertText', data: text }));
}

/** The text of a saved reply for this customer. */
export const forCustomer = (text: string, name: string): string =>
  text.replaceAll(/\{\{\s*name\s*\}\}/g, () => name);
