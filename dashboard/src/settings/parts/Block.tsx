import type { ReactNode } from 'react';

/** A part of a settings section, with a heading and a line that explains it. */
export const Block = ({ title, hint, children }: { title: string; hint?: string; children: ReactNode }) => (
  <section className="settings-block">
    <h3>{title}</h3>
    {hint !== undefined && <p className="muted">{hint}</p>}
    {children}
  </section>
);
