import { PasswordInput, type PasswordInputProps } from '@mantine/core';
import type { Ref } from 'react';
import { useTranslation } from '../i18n/translation.tsx';

type PasswordFieldProps = PasswordInputProps & {
  ref?: Ref<HTMLInputElement>;
  onValue: (value: string) => void;
};

export function PasswordField({ onValue, ...props }: PasswordFieldProps) {
  const { t } = useTranslation();
  return (
    <PasswordInput
      visibilityToggleButtonProps={{ 'aria-label': t('passwordVisibility') }}
      withAsterisk={false}
      errorProps={{ role: 'alert' }}
      aria-invalid={props.error ? true : undefined}
      onChange={(event) => onValue(event.currentTarget.value)}
      {...props}
    />
  );
}
