import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { FactorList, RecoveryCodes } from '../../../../src/contract/factors.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { createPasskey, passkeyErrorMessage, supportsPasskeys } from '../../session/passkeys.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { Icon } from '../../shell/Icon.tsx';
import { useNow } from '../../shell/useNow.ts';
import { ConfirmButton } from './ConfirmButton.tsx';
import { Section } from './Section.tsx';
import type { Changes } from './useChanges.ts';

export function Passkeys(props: { passkeys: FactorList['passkeys']; changes: Changes }) {
  const { t } = useTranslation();
  return (
    <Section name="passkeys" title={t('passkeys')} changes={props.changes}>
      {props.passkeys.map((passkey) => (
        <PasskeyRow key={passkey.id} passkey={passkey} changes={props.changes} />
      ))}
      {supportsPasskeys() ? (
        <NewPasskey changes={props.changes} />
      ) : (
        <p className="muted">{t('passkeyUnsupported')}</p>
      )}
    </Section>
  );
}

function PasskeyRow(props: { passkey: FactorList['passkeys'][number]; changes: Changes }) {
  const { t, relative } = useTranslation();
  const now = useNow();
  const { id, name, last_used_at } = props.passkey;
  return (
    <div className="security-passkey">
      <span>
        {name}
        <br />
        <span className="muted">
          {last_used_at === null
            ? t('passkeyUnused')
            : t('passkeyLastUsed', { time: relative(last_used_at, now) })}
        </span>
      </span>
      <ConfirmButton
        name={`passkey ${id}`}
        changes={props.changes}
        question={t('removeConfirm')}
        labels={{ button: t('passkeyRemove', { name }), question: t('passkeyRemoveConfirm', { name }) }}
        work={async (proof) => {
          await request(calls.removePasskey(id, proof));
          await props.changes.finish('passkeys');
        }}
      >
        <Icon name="trash" />
      </ConfirmButton>
    </div>
  );
}

function NewPasskey({ changes }: { changes: Changes }) {
  const { t } = useTranslation();
  const [name, setName] = useState('');
  const add = (event: FormEvent) => {
    event.preventDefault();
    changes.change(
      'passkey',
      async (proof) => {
        const response = await createPasskey(proof);
        const call = calls.addPasskey(name.trim() || t('passkeyDefaultName'), response);
        const { recovery_codes } = await request<RecoveryCodes>(call);
        setName('');
        await changes.finish('passkeys', recovery_codes);
      },
      passkeyErrorMessage('errorPasskeyAdd'),
    );
  };
  return (
    <form className="security" onSubmit={add}>
      <TextInput
        label={t('passkeyName')}
        dir="auto"
        placeholder={t('passkeyDefaultName')}
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Button type="submit" variant="default" loading={changes.busy === 'passkey'}>
        {t('passkeyAdd')}
      </Button>
      <ErrorNotice text={changes.failureAt('passkey')?.text} />
    </form>
  );
}
