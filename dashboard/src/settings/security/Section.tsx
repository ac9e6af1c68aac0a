import type { ReactNode } from 'react';
import { useFocusWhen } from '../../shell/focus.ts';
import type { Changes, SectionName } from './useChanges.ts';

/** Gets the focus after a change in it. */
export function Section(props: {
  name: SectionName;
  title: string;
  tag?: string;
  changes: Changes;
  children: ReactNode;
}) {
  const { changed } = props.changes;
  const heading = useFocusWhen<HTMLHeadingElement>(changed?.section === props.name && changed);
  return (
    <section className="security">
      <h3 ref={heading} tabIndex={-1}>
        {props.title} {props.tag !== undefined && <span className="tag">{props.tag}</span>}
      </h3>
      {props.children}
    </section>
  );
}
