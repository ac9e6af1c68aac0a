import { useRef, useState } from 'react';
import { readStoredDraft, removeStoredDraft, storeDraft } from '../../shell/draftStorage.ts';
import type { MerchantSettings } from '../merchant.ts';

/** Only what this user has changed: somebody else may change the rest at the same time. */
type ShopEdits = Partial<Omit<MerchantSettings, 'deliver' | 'confident'>>;

const DRAFT = 'shop';

/** The edits that are not the same in `other`. */
const without = (edits: ShopEdits, other: ShopEdits): ShopEdits =>
  Object.fromEntries(
    Object.entries(edits).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(other[name as keyof ShopEdits]),
    ),
  );
const isEmpty = (edits: ShopEdits) => Object.keys(edits).length === 0;

/** What is not saved yet. It is still there after a look at another page. */
export function useShopEdits(saved: MerchantSettings) {
  const [stored, setStored] = useState<ShopEdits>(() => readStoredDraft<ShopEdits>(DRAFT) ?? {});
  const latest = useRef(stored);
  const edits = without(stored, saved);
  const [isReturn, setIsReturn] = useState(!isEmpty(edits));
  const change = (next: ShopEdits) => {
    latest.current = next;
    if (isEmpty(next)) removeStoredDraft(DRAFT);
    else storeDraft(DRAFT, next);
    setStored(next);
  };
  return {
    edits,
    isChanged: !isEmpty(edits),
    /** Whether they are from an earlier visit of this page. */
    isReturn: isReturn && !isEmpty(edits),
    set: (part: ShopEdits) => change(without({ ...edits, ...part }, saved)),
    discard: () => change({}),
    /** Not what was typed meanwhile. */
    forget(sent: ShopEdits) {
      change(without(latest.current, sent));
      setIsReturn(false);
    },
  };
}
