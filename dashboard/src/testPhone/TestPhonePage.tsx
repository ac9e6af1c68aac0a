import { useTranslation } from '../i18n/translation.tsx';
import { TestPhonePane } from './TestPhonePane.tsx';

export function TestPhonePage({ id }: { id: number | undefined }) {
  const { t } = useTranslation();
  return (
    <section className="page test-phone-page">
      <h1>{t('testPhone')}</h1>
      <TestPhonePane conversationId={id} />
    </section>
  );
}
