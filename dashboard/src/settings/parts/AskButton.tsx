import { Button } from '@mantine/core';
import { type ReactNode, useRef, useState } from 'react';

/** A double click, or a key held down, must not answer the question. */
const CONFIRM_AFTER_MS = 500;

/** The first click asks, the second one does it. The question goes away with the focus. */
export function AskButton(props: {
  label: string;
  question: string;
  loading: boolean;
  onConfirm: () => void;
  children: ReactNode;
}) {
  const [asking, setAsking] = useState(false);
  const lastClickAt = useRef(0);
  return (
    <Button
      variant={asking ? 'filled' : 'default'}
      className={asking ? 'danger-filled' : ''}
      aria-label={asking ? `${props.question} ${props.label}` : props.label}
      loading={props.loading}
      onBlur={() => setAsking(false)}
      onClick={({ currentTarget, timeStamp }) => {
        const isTooSoon = timeStamp - lastClickAt.current < CONFIRM_AFTER_MS;
        lastClickAt.current = timeStamp;
        if (!asking) {
          // Safari does not focus a button that is clicked.
          currentTarget.focus();
          setAsking(true);
        } else if (!isTooSoon) {
          setAsking(false);
          props.onConfirm();
        }
      }}
    >
      {asking ? props.question : props.children}
    </Button>
  );
}
