import type { ReactNode } from 'react';
import { Icon, type IconName } from './Icon.tsx';

export function EmptyState(props: {
  icon: IconName;
  title: string;
  hint?: ReactNode;
  /** Nothing else is on the page, so its title is that of the page. */
  isPage?: boolean;
  children?: ReactNode;
}) {
  const Title = props.isPage ? 'h1' : 'p';
  return (
    <div className="empty">
      <Icon name={props.icon} size={32} />
      <Title className="empty-title">{props.title}</Title>
      {props.hint && <p className="empty-hint">{props.hint}</p>}
      {props.children}
    </div>
  );
}
