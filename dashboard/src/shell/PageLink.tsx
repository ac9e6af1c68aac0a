import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { follow, pathOf, type Target } from './route.ts';

/** A link to a page of the app that looks like a button. */
export function PageLink({ to, children }: { to: Target; children: ReactNode }) {
  return (
    <Button component="a" variant="default" href={pathOf(to)} onClick={(event) => follow(event, to)}>
      {children}
    </Button>
  );
}
