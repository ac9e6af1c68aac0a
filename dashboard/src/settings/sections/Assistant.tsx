import { useTranslation } from '../../i18n/translation.tsx';
import { ConfidenceSetting } from '../../knowledge/confidence/ConfidenceSetting.tsx';
import { KnownAnswers } from '../../knowledge/confidence/KnownAnswers.tsx';
import { useIsOwner } from '../merchant.ts';
import { Block } from '../parts/Block.tsx';
import { Keys } from '../parts/Keys.tsx';
import { OwnersOnly } from '../parts/OwnersOnly.tsx';
import { Webhooks } from '../parts/Webhooks.tsx';

/** When the assistant answers by itself, what it answered, and how it reaches us. */
export function Assistant() {
  const { t } = useTranslation();
  const isOwner = useIsOwner();
  return (
    <>
      <Block title={t('withoutYou')}>
        <div className="settings">
          <ConfidenceSetting />
          <KnownAnswers />
        </div>
      </Block>
      {isOwner ? (
        <>
          <Keys />
          <Webhooks />
        </>
      ) : (
        <OwnersOnly />
      )}
    </>
  );
}
