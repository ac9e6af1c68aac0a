import { Button, Skeleton, Switch, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { MachineKey, Scope } from '../../../../src/contract/machineKeys.ts';
import { request } from '../../api/client.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { showToast } from '../../shell/toasts.tsx';
import { useNow } from '../../shell/useNow.ts';
import { settingsCalls } from '../calls.ts';
import { AskButton } from './AskButton.tsx';
import { Block } from './Block.tsx';
import { ShownOnce } from './ShownOnce.tsx';

/** Every scope of a key, in plain words. The compiler knows when one is forgotten. */
const SCOPES: Record<Scope, TextKey> = {
  ask: 'scopeAsk',
  'knowledge:read': 'scopeKnowledgeRead',
  'knowledge:write': 'scopeKnowledgeWrite',
  'notifications:read': 'scopeNotificationsRead',
  answer: 'scopeAnswer',
  webhooks: 'scopeWebhooks',
};
const USUAL: readonly Scope[] = ['ask', 'knowledge:read'];

/** The keys of the shop's programs. A secret is shown once. */
export function Keys() {
  const translation = useTranslation();
  const { t, relative } = translation;
  const now = useNow();
  const client = useQueryClient();
  const { data: keys, error } = useQuery({
    queryKey: ['keys'],
    queryFn: ({ signal }) => request<MachineKey[]>(settingsCalls.keys(), { signal }),
    staleTime: 0,
  });
  const refresh = () => client.invalidateQueries({ queryKey: ['keys'] });
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(USUAL);
  const create = useMutation({
    mutationFn: () => request<MachineKey & { key: string }>(settingsCalls.createKey({ name, scopes })),
    async onSuccess() {
      setName('');
      await refresh();
    },
  });
  const revoke = useMutation({
    mutationFn: (id: number) => request(settingsCalls.revokeKey(id)),
    onSuccess: () => showToast('keyRevoked'),
    onSettled: refresh,
  });
  const failure = error ?? create.error ?? revoke.error;
  return (
    <Block title={t('keys')} hint={t('keysHintSettings')}>
      <form
        className="settings"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <TextInput
          label={t('keyName')}
          dir="auto"
          required
          withAsterisk={false}
          maxLength={100}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <fieldset className="checks">
          <legend>{t('keyScopes')}</legend>
          {(Object.keys(SCOPES) as Scope[]).map((scope) => (
            <Switch
              key={scope}
              label={t(SCOPES[scope])}
              checked={scopes.includes(scope)}
              onChange={({ currentTarget: { checked } }) =>
                setScopes(checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
              }
            />
          ))}
        </fieldset>
        <Button type="submit" disabled={scopes.length === 0} loading={create.isPending}>
          {t('keyCreate')}
        </Button>
      </form>
      {create.data && <ShownOnce text={create.data.key} hint={t('keyShownOnce')} />}
      <ErrorNotice text={failure ? errorMessage(translation, failure) : undefined} />
      {!keys && !error && <Skeleton height={80} radius="md" />}
      <ul className="settings-list">
        {keys?.map((key) => (
          <li key={key.id}>
            <span>
              {key.name} <code dir="ltr">{key.hint}…</code>
              <br />
              <span className="muted">
                {key.last_used_at === null
                  ? t('keyUnused')
                  : t('sessionLastUsed', { when: relative(key.last_used_at, now) })}
              </span>
            </span>
            <AskButton
              label={`${t('keyRevoke')}: ${key.name}`}
              question={t('keyRevokeConfirm')}
              loading={revoke.isPending && revoke.variables === key.id}
              onConfirm={() => revoke.mutate(key.id)}
            >
              {t('keyRevoke')}
            </AskButton>
          </li>
        ))}
      </ul>
    </Block>
  );
}
