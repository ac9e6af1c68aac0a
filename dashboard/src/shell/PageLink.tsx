import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { navigate, pathOf, type Target } from './route.ts';

/** A link to a page of the app that looks like a button. */
export function PageLink({ to, children }: { to: Target; children: ReactNode }) {
  return (
    <Button
      component="a"
      variant="default"
      href={pathOf(to)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        navigate(to);
      }}
    >
      {children}
    </Button>
  );
}
