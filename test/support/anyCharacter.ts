import fc from 'fast-check';

/** Any character of Unicode. fast-check's own (`unit: 'binary'`) takes a second to prepare. */
export const anyCharacter = fc.nat(0x10ffff).map((code) => String.fromCodePoint(code).toWellFormed());
