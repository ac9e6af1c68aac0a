import assert from 'node:assert/strict';
import { it } from 'node:test';
import { inBrowser } from './browser.ts';

inBrowser('the overview', (shop) => {
  /** Answers that took so many seconds, so many days ago. */
  async function answered(days: number, seconds: number, count: number) {
    const { database, clock } = shop.deskbell;
    const original = await shop.ask('Open on Sunday?');
    const at = clock.now().getTime() - days * 86_400_000;
    for (let n = 0; n < count; n += 1) {
      await database.run(
        `insert into notifications (merchant_id, conversation_id, notification_type, status, created_at, updated_at,
            context, requested_fields, answered_fields, answer_schema_id, answer, answered_by)
          select merchant_id, conversation_id, notification_type, 'answered', $1, $2, '{"question":"Open on Sunday?"}',
            requested_fields, answered_fields, answer_schema_id, '{"answer":"x"}', $3 from notifications where id = $4`,
        [new Date(at - seconds * 1000).toISOString(), new Date(at).toISOString(), shop.owner.id, original],
      );
    }
  }

  it('answers whether it is getting better, if there are enough answers, and tells what is asked most and who answered', async () => {
    const { page } = await shop.open({ path: '/overview' });
    // It does not guess.
    await page.getByText('There are not enough answers yet to say.').waitFor();
    await answered(31, 3600, 10);
    await answered(1, 600, 10);
    await page.reload();
    const sentence = await page
      .locator('.progress-answer', { hasText: 'faster than four weeks ago' })
      .innerText();
    const [, change] = /^Answers come (\d+)% faster than four weeks ago/.exec(sentence) ?? [];
    assert.ok(Number(change) > 70 && Number(change) < 90, sentence);
    await page.getByRole('region', { name: 'Asked most' }).getByText('Open on Sunday?').waitFor();
    await page.getByRole('region', { name: 'Who answered' }).getByText('Alma Reyes').waitFor();
    await page.getByText('The numbers of each week').click();
    assert.equal(await page.locator('.weeks-table tbody tr').count(), 12);
  });
});
