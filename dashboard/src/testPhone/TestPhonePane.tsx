import { ActionIcon, NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import type { SimulatorMessage } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { useConversations } from '../inbox/conversations.ts';
import { useMerchant } from '../settings/merchant.ts';
import { CurlButton } from '../shell/CurlButton.tsx';
import { EmptyState } from '../shell/EmptyState.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { Icon } from '../shell/Icon.tsx';
import { useCustomers, useHasTestPhone, useMessages } from './messages.ts';
import { Ticks } from './Ticks.tsx';

interface TestPhoneProps {
  /** The customer to show first. The user can select another one. */
  conversationId: number | undefined;
  onClose?: () => void;
}

/** Shows the customer's side of a conversation in the simulator. */
export function TestPhonePane({ conversationId, onClose }: TestPhoneProps) {
  const { t } = useTranslation();
  const customers = useCustomers();
  const [selected, setSelected] = useState<number>();
  // When another notification is opened, show its customer.
  useEffect(() => {
    if (conversationId !== undefined) setSelected(undefined);
  }, [conversationId]);
  const ids = useMemo(() => (conversationId === undefined ? [] : [conversationId]), [conversationId]);
  const hasPhone = useConversations(ids).get(conversationId ?? 0)?.customer_phone !== '';
  const id = selected ?? (hasPhone ? conversationId : undefined) ?? customers.data?.[0]?.id;
  const customer = customers.data?.find((one) => one.id === id);
  const name = customer?.customer_name ?? t('unknownCustomer', { id: String(id ?? '') });

  if (!useHasTestPhone()) {
    return <EmptyState icon="phone" title={t('testPhoneOff')} hint={t('testPhoneOffHint')} />;
  }
  if (id === undefined) {
    return customers.isPending ? null : <EmptyState icon="phone" title={t('testPhoneNobody')} />;
  }
  return (
    <div className="test-phone-pane">
      <div className="test-phone-head">
        <NativeSelect
          className="test-phone-customer"
          aria-label={t('testPhoneCustomer')}
          value={String(id)}
          onChange={(event) => setSelected(Number(event.currentTarget.value))}
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
            aria-label={t('testPhoneClose')}
            onClick={onClose}
          >
            <Icon name="close" size={18} />
          </ActionIcon>
        )}
      </div>
      <Screen key={id} id={id} name={name} />
      <p className="muted test-phone-hint">{t('testPhoneHint', { name })}</p>
    </div>
  );
}

function Screen({ id, name }: { id: number; name: string }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const { data: messages = [] } = useMessages(id);
  const [text, setText] = useState('');
  const shop = useMerchant().data?.name;
  const end = useRef<HTMLDivElement>(null);
  const send = useMutation({
    mutationFn: (message: string) => request(calls.sendAsCustomer(id, message)),
    onMutate: () => setText(''),
    onError: (_error, message) => setText(message),
    onSettled: () => client.invalidateQueries({ queryKey: ['testPhone', id] }),
  });
  const sending = send.isPending ? send.variables : undefined;
  const count = messages.length + (sending === undefined ? 0 : 1);
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
          <strong dir="auto">{shop ?? t('testPhoneShop')}</strong>
          <span>{name}</span>
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <div ref={end} className="phone-screen" role="log" aria-label={t('testPhone')} tabIndex={0}>
        {count === 0 && <p className="phone-empty">{t('testPhoneEmpty')}</p>}
        {messages.map((message, index) => (
          <Bubble
            key={message.id}
            message={message}
            seen={messages.slice(index + 1).some(({ from_customer }) => !from_customer)}
          />
        ))}
        {sending !== undefined && (
          <div className="bubble" data-from="customer">
            <p dir="auto">{sending}</p>
            <span className="bubble-foot">{t('tickSending')}</span>
          </div>
        )}
      </div>
      {send.error && (
        <p className="notice" role="alert">
          {errorMessage(translation, send.error)}
        </p>
      )}
      <form
        className="phone-write"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== '' && !send.isPending) send.mutate(text.trim());
        }}
      >
        <TextInput
          className="phone-input"
          dir="auto"
          maxLength={4096}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          placeholder={t('testPhoneWrite', { name })}
          aria-label={t('testPhoneWrite', { name })}
        />
        <ActionIcon type="submit" size={44} radius="xl" aria-label={t('testPhoneSend')}>
          <Icon name="send" size={18} />
        </ActionIcon>
        <CurlButton call={calls.sendAsCustomer(id, text)} label={t('testPhoneSend')} />
      </form>
    </div>
  );
}

function Bubble({ message, seen }: { message: SimulatorMessage; seen: boolean }) {
  const { t, clockTime } = useTranslation();
  const { from_customer: own, text, at } = message;
  return (
    <div className="bubble" data-from={own ? 'customer' : 'shop'}>
      <span className="visually-hidden">{t(own ? 'testPhoneFromCustomer' : 'testPhoneFromShop')}: </span>
      <p dir="auto">{text}</p>
      <span className="bubble-foot">
        <time dateTime={at}>{clockTime(at)}</time>
        {own && <Ticks state={seen ? 'read' : 'delivered'} />}
        {own && <span className="visually-hidden">{t(seen ? 'tickRead' : 'tickSent')}</span>}
      </span>
    </div>
  );
}
