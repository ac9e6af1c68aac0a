import { ActionIcon, NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import type { SimulatorMessage } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { EmptyState } from '../shell/EmptyState.tsx';
import { Icon } from '../shell/Icon.tsx';
import { explain } from '../shell/problems.ts';
import { useCustomers, useMessages, useTelephoneMissing } from './messages.ts';
import { Ticks } from './Ticks.tsx';

interface TelephoneProps {
  /** Whose telephone, unless another is chosen here. */
  conversationId: number | undefined;
  onClose?: () => void;
}

/** The customer's side of the conversation, for the demo. */
export function TelephonePane({ conversationId, onClose }: TelephoneProps) {
  const { t } = useWording();
  const customers = useCustomers();
  const [chosen, setChosen] = useState<number>();
  // Another notification, another customer.
  useEffect(() => {
    if (conversationId !== undefined) setChosen(undefined);
  }, [conversationId]);
  const id = chosen ?? conversationId ?? customers.data?.[0]?.id;
  const customer = customers.data?.find((one) => one.id === id);
  const name = customer?.customer_name ?? t('unknownCustomer', { id: String(id ?? '') });

  if (useTelephoneMissing()) {
    return <EmptyState icon="telephone" title={t('telephoneOff')} hint={t('telephoneOffHint')} />;
  }
  if (id === undefined) {
    return customers.isPending ? null : <EmptyState icon="telephone" title={t('telephoneNobody')} />;
  }
  return (
    <div className="telephone-pane">
      <div className="telephone-head">
        <NativeSelect
          className="telephone-who"
          aria-label={t('telephoneCustomer')}
          value={String(id)}
          onChange={(event) => setChosen(Number(event.currentTarget.value))}
          data={(customers.data ?? []).map((one) => ({
            value: String(one.id),
            label: one.customer_name || one.customer_phone,
          }))}
        />
        {onClose && (
          <ActionIcon
            variant="subtle"
            color="gray"
            size={44}
            aria-label={t('telephoneClose')}
            onClick={onClose}
          >
            <Icon name="close" size={18} />
          </ActionIcon>
        )}
      </div>
      <Screen key={id} id={id} name={name} />
      <p className="quiet telephone-hint">{t('telephoneHint', { name })}</p>
    </div>
  );
}

function Screen({ id, name }: { id: number; name: string }) {
  const wording = useWording();
  const { t } = wording;
  const client = useQueryClient();
  const { data: messages = [] } = useMessages(id);
  const [text, setText] = useState('');
  const end = useRef<HTMLDivElement>(null);
  const write = useMutation({
    mutationFn: (written: string) => ask(calls.writeAsCustomer(id, written)),
    onMutate: () => setText(''),
    onError: (_error, written) => setText(written),
    onSettled: () => client.invalidateQueries({ queryKey: ['telephone', id] }),
  });
  const onItsWay = write.isPending ? write.variables : undefined;
  const count = messages.length + (onItsWay === undefined ? 0 : 1);
  useEffect(() => {
    const box = end.current;
    if (box && count > 0) box.scrollTop = box.scrollHeight;
  }, [count]);

  return (
    <div className="phone">
      <div className="phone-bar">
        <span className="phone-avatar" aria-hidden="true">
          <Icon name="bell" size={18} />
        </span>
        <span className="phone-title">
          <strong>{t('telephoneShop')}</strong>
          <span>{name}</span>
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <div ref={end} className="phone-screen" role="log" aria-label={t('telephoneTitle')} tabIndex={0}>
        {count === 0 && <p className="phone-empty">{t('telephoneEmpty')}</p>}
        {messages.map((message, index) => (
          <Bubble
            key={message.id}
            message={message}
            seen={messages.slice(index + 1).some(({ from_customer }) => !from_customer)}
          />
        ))}
        {onItsWay !== undefined && (
          <div className="bubble" data-from="customer">
            <p dir="auto">{onItsWay}</p>
            <span className="bubble-foot">{t('tickSending')}</span>
          </div>
        )}
      </div>
      {write.error && (
        <p className="notice" role="alert">
          {explain(wording, write.error)}
        </p>
      )}
      <form
        className="phone-write"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== '' && !write.isPending) write.mutate(text.trim());
        }}
      >
        <TextInput
          className="phone-input"
          dir="auto"
          maxLength={4096}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          placeholder={t('telephoneWrite', { name })}
          aria-label={t('telephoneWrite', { name })}
        />
        <ActionIcon type="submit" size={44} radius="xl" aria-label={t('telephoneSend')}>
          <Icon name="send" size={18} />
        </ActionIcon>
        <CurlButton call={calls.writeAsCustomer(id, text)} label={t('telephoneSend')} />
      </form>
    </div>
  );
}

function Bubble({ message, seen }: { message: SimulatorMessage; seen: boolean }) {
  const { t, clockTime } = useWording();
  const { from_customer: own, text, at } = message;
  return (
    <div className="bubble" data-from={own ? 'customer' : 'shop'}>
      <span className="visually-hidden">{t(own ? 'telephoneFromYou' : 'telephoneFromShop')}: </span>
      <p dir="auto">{text}</p>
      <span className="bubble-foot">
        <time dateTime={at}>{clockTime(at)}</time>
        {own && <Ticks state={seen ? 'read' : 'delivered'} />}
        {own && <span className="visually-hidden">{t(seen ? 'tickRead' : 'tickSent')}</span>}
      </span>
    </div>
  );
}
