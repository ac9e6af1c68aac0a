import { useTranslation } from '../../i18n/translation.tsx';
import { CopyButton } from '../../shell/CopyButton.tsx';
import { Block } from '../parts/Block.tsx';
import { ShownOnce } from '../parts/ShownOnce.tsx';

/** What the user enters at the provider, so that Deskbell hears what customers write. */
export function Callback({ url, verifyToken }: { url: string; verifyToken: string | undefined }) {
  const { t } = useTranslation();
  return (
    <Block title={t('callback')} hint={t('callbackHint')}>
      <dl className="callback">
        <dt>{t('callbackUrl')}</dt>
        <dd>
          <code dir="ltr">{url}</code>
          <CopyButton text={url} label={t('callbackCopy')} />
        </dd>
        {verifyToken === undefined && (
          <>
            <dt>{t('verifyToken')}</dt>
            <dd>{t('callbackTokenKept')}</dd>
          </>
        )}
      </dl>
      {verifyToken !== undefined && <ShownOnce text={verifyToken} hint={t('callbackTokenNow')} />}
      <p className="muted">{t('callbackSubscribe')}</p>
      {!url.startsWith('https:') && <p className="notice">{t('callbackLocal')}</p>}
    </Block>
  );
}
