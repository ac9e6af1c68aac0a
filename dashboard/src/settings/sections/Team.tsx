import { Button, NativeSelect, Skeleton, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  Invite,
  ListedInvite,
  NewInvite,
  TeamMember,
  TeamRole,
} from '../../../../src/contract/people.ts';
import { type Call, request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { askFirst } from '../../shell/confirmation.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { showToast } from '../../shell/toasts.tsx';
import { settingsCalls } from '../calls.ts';
import { useIsOwner } from '../merchant.ts';
import { Block } from '../parts/Block.tsx';
import { OwnersOnly } from '../parts/OwnersOnly.tsx';
import { ShownOnce } from '../parts/ShownOnce.tsx';
import type { SectionProps } from '../SettingsPage.tsx';

/** Who works for the shop. Owners invite, change and disable. */
export function Team({ user }: SectionProps) {
  const translation = useTranslation();
  const { t } = translation;
  const isOwner = useIsOwner();
  const { data: team, error } = useQuery({
    queryKey: ['team'],
    queryFn: ({ signal }) => request<TeamMember[]>(settingsCalls.team(), { signal }),
    staleTime: 0,
  });
  return (
    <>
      {isOwner ? <Invitations /> : <OwnersOnly />}
      <Block title={t('teamPeople')} hint={t('teamRolesHint')}>
        <ErrorNotice text={error ? errorMessage(translation, error) : undefined} />
        {!team && !error && <Skeleton height={160} radius="md" />}
        <ul className="settings-list">
          {team?.map((member) => (
            <Member key={member.id} member={member} canChange={isOwner} isSelf={member.id === user.id} />
          ))}
        </ul>
      </Block>
    </>
  );
}

function Member({ member, canChange, isSelf }: { member: TeamMember; canChange: boolean; isSelf: boolean }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (call: Call) => request(call),
    onSuccess: () => showToast('settingsSaved'),
    onSettled: () => client.invalidateQueries({ queryKey: ['team'] }),
  });
  const link = useMutation({
    mutationFn: () => request<{ link: string }>(settingsCalls.resetLink(member.id)),
  });
  const { id, name, email, role, disabled_at } = member;
  const isDisabled = disabled_at !== null;
  const failure = change.error ?? link.error;
  const setRole = async (next: TeamRole) => {
    const question = { title: t('teamDemoteAsk'), text: t('teamDemoteAbout') };
    if (!isSelf || next === 'owner' || (await askFirst({ ...question, action: 'teamDemote' })))
      change.mutate(settingsCalls.changeMember(id, { role: next }));
  };
  const setDisabled = async (disabled: boolean) => {
    const question = { title: t('teamDisableAsk', { name }), text: t('teamDisableAbout') };
    if (!disabled || (await askFirst({ ...question, action: 'teamDisable' })))
      change.mutate(settingsCalls.changeMember(id, { disabled }));
  };
  return (
    <li data-member={id}>
      <span>
        {name} {isSelf && <span className="tag">{t('teamYou')}</span>}{' '}
        {isDisabled && <span className="tag">{t('teamDisabled')}</span>}
        <br />
        <span className="muted">{email}</span>
      </span>
      {canChange ? (
        <span className="settings-row">
          <NativeSelect
            aria-label={`${t('teamRole')}: ${name}`}
            value={role}
            disabled={change.isPending}
            onChange={({ currentTarget }) => void setRole(currentTarget.value as TeamRole)}
            data={[
              { value: 'owner', label: t('roleOwner') },
              { value: 'user', label: t('roleMember') },
            ]}
          />
          {!isSelf && !isDisabled && (
            <Button
              variant="default"
              aria-label={`${t('teamResetLink')}: ${name}`}
              loading={link.isPending}
              onClick={() => link.mutate()}
            >
              {t('teamResetLink')}
            </Button>
          )}
          {!isSelf && (
            <Button
              variant="default"
              aria-label={`${t(isDisabled ? 'teamEnable' : 'teamDisable')}: ${name}`}
              loading={change.isPending}
              onClick={() => void setDisabled(!isDisabled)}
            >
              {t(isDisabled ? 'teamEnable' : 'teamDisable')}
            </Button>
          )}
        </span>
      ) : (
        <span className="tag">{t(role === 'owner' ? 'roleOwner' : 'roleMember')}</span>
      )}
      {link.data && <ShownOnce text={link.data.link} hint={t('resetLinkHint', { name })} />}
      <ErrorNotice text={failure ? errorMessage(translation, failure) : undefined} />
    </li>
  );
}

const MAIL_STATES = {
  queued: 'inviteMailQueued',
  retrying: 'inviteMailRetrying',
  sent: 'inviteMailSent',
  failed: 'inviteMailFailed',
} as const;
/** While a mail may still change its state. */
const LOOK_EVERY_MS = 3000;

function Invitations() {
  const translation = useTranslation();
  const { t, dateTime } = translation;
  const client = useQueryClient();
  const { data: invites } = useQuery({
    queryKey: ['invites'],
    queryFn: ({ signal }) => request<ListedInvite[]>(settingsCalls.invites(), { signal }),
    staleTime: 0,
    refetchInterval: ({ state }) =>
      state.data?.some(({ mail }) => mail === 'queued' || mail === 'retrying') ? LOOK_EVERY_MS : false,
  });
  const refresh = () => client.invalidateQueries({ queryKey: ['invites'] });
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<TeamRole>('user');
  const invite = useMutation({
    mutationFn: (body: NewInvite) =>
      request<Invite & { link: string; mailed: boolean }>(settingsCalls.invite(body)),
    async onSuccess() {
      setName('');
      setEmail('');
      await refresh();
    },
  });
  const withdraw = useMutation({
    mutationFn: (id: number) => request(settingsCalls.removeInvite(id)),
    onSettled: refresh,
  });
  const failure = invite.error ?? withdraw.error;
  return (
    <Block title={t('inviteTitle')} hint={t('inviteHint')}>
      <form
        className="settings"
        onSubmit={(event) => {
          event.preventDefault();
          const given = {
            ...(name.trim() && { name: name.trim() }),
            ...(email.trim() && { email: email.trim() }),
          };
          invite.mutate({ role, ...given });
        }}
      >
        <div className="settings-fields">
          <TextInput
            label={t('inviteName')}
            dir="auto"
            description={t('optional')}
            maxLength={200}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <TextInput
            label={t('email')}
            description={t('optional')}
            type="email"
            dir="ltr"
            maxLength={254}
            value={email}
            onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          />
          <NativeSelect
            label={t('teamRole')}
            description={t('inviteRoleHint')}
            value={role}
            onChange={({ currentTarget }) => setRole(currentTarget.value as TeamRole)}
            data={[
              { value: 'user', label: t('roleMember') },
              { value: 'owner', label: t('roleOwner') },
            ]}
          />
        </div>
        <Button type="submit" loading={invite.isPending}>
          {t('inviteCreate')}
        </Button>
      </form>
      {invite.data && (
        <ShownOnce
          text={invite.data.link}
          hint={
            invite.data.mailed ? t('inviteMailed', { email: invite.data.email ?? '' }) : t('inviteLinkHint')
          }
        />
      )}
      <ErrorNotice text={failure ? errorMessage(translation, failure) : undefined} />
      {invites && invites.length > 0 && (
        <>
          <h4>{t('invitesOpen')}</h4>
          <ul className="settings-list">
            {invites.map((one) => {
              const who = one.name ?? one.email ?? t('inviteAnybody');
              return (
                <li key={one.id}>
                  <span>
                    {who} <span className="tag">{t(one.role === 'owner' ? 'roleOwner' : 'roleMember')}</span>
                    <br />
                    <span className="muted">{t('inviteUntil', { when: dateTime(one.expires_at) })}</span>
                    {one.mail && (
                      <span className="invite-mail" data-state={one.mail} role="status">
                        {t(MAIL_STATES[one.mail])}
                      </span>
                    )}
                  </span>
                  <Button
                    variant="default"
                    aria-label={`${t('inviteWithdraw')}: ${who}`}
                    loading={withdraw.isPending && withdraw.variables === one.id}
                    onClick={() => withdraw.mutate(one.id)}
                  >
                    {t('inviteWithdraw')}
                  </Button>
                </li>
              );
            })}
          </ul>
        </>
      )}
    </Block>
  );
}
