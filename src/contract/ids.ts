/** A merchant's id, as the guard took it from a verified token. Nothing else makes one by accident. */
export type MerchantId = number & { readonly __brand: 'MerchantId' };
export type UserId = number & { readonly __brand: 'UserId' };
