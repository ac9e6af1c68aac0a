import { useWording } from '../i18n/language.tsx';
import { TelephonePane } from './TelephonePane.tsx';

export function TelephonePage({ id }: { id: number | undefined }) {
  const { t } = useWording();
  return (
    <section className="page telephone-page">
      <h1>{t('telephoneTitle')}</h1>
      <TelephonePane conversationId={id} />
    </section>
  );
}
