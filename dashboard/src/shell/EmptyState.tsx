import type { ReactNode } from 'react';
import { Icon, type IconName } from './Icon.tsx';

export function EmptyState(props: { icon: IconName; title: string; hint?: ReactNode; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon name={props.icon} size={32} />
      <p className="empty-title">{props.title}</p>
      {props.hint && <p className="empty-hint">{props.hint}</p>}
      {props.children}
    </div>
  );
}
