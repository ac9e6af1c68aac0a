import { Button } from '@mantine/core';
import { type ReactNode, useRef, useState } from 'react';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import type { Changes, Work } from './useChanges.ts';

/** A double click, or a key held down, must not answer the question. */
const CONFIRM_AFTER_MS = 500;

/** The first click asks, the second one runs the change. The question goes away with the focus. */
export function ConfirmButton(props: {
  name: string;
  changes: Changes;
  work: Work;
  question: string;
  /** For screen readers, if the visible texts say too little. */
  labels?: { button: string; question: string };
  children: ReactNode;
}) {
  const { name, changes, labels } = props;
  const [asking, setAsking] = useState(false);
  const lastClickAt = useRef(0);
  /** The question is shorter. The second of two clicks must not miss the button. */
  const [width, setWidth] = useState<number>();
  return (
    <>
      <Button
        variant={asking ? 'filled' : 'default'}
        className={asking ? 'danger-filled' : ''}
        aria-label={asking ? labels?.question : labels?.button}
        miw={asking ? width : undefined}
        loading={changes.busy === name}
        onBlur={() => setAsking(false)}
        onClick={({ currentTarget, timeStamp }) => {
          const isTooSoon = timeStamp - lastClickAt.current < CONFIRM_AFTER_MS;
          lastClickAt.current = timeStamp;
          if (!asking) {
            // Safari does not focus a button that is clicked.
            currentTarget.focus();
            setWidth(currentTarget.offsetWidth);
            setAsking(changes.checkPassword());
          } else if (!isTooSoon) {
            setAsking(false);
            changes.change(name, props.work);
          }
        }}
      >
        {asking ? props.question : props.children}
      </Button>
      <ErrorNotice text={changes.failureAt(name)?.text} />
    </>
  );
}
