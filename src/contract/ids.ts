/** The merchant's id from a verified token. The brand prevents using any other number by accident. */
export type MerchantId = number & { readonly __brand: 'MerchantId' };
export type UserId = number & { readonly __brand: 'UserId' };

/** Who wrote something: a user or a key, or a user who is gone. */
export type Author =
  | { userId: UserId; keyId: null }
  | { userId: null; keyId: number }
  | { userId: null; keyId: null };
