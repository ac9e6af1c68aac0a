import assert from 'node:assert/strict';
import { it } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import { addColleague } from '../support/colleagues.ts';
import { QUESTION } from '../support/server.ts';
import { apiOf, inBrowser } from './browser.ts';
import { animationsFinished } from './pages.ts';

inBrowser('erasing a customer', (dashboard) => {
  const { api, createNotification } = apiOf(dashboard);

  /** Different ones: the same question of two customers is shown as one. */
  const QUESTIONS: Record<string, string> = {
    'Marta Gil': 'Do you repair old clocks?',
    'Iris Sol': 'Is parking possible nearby?',
  };
  let customers = 0;
  async function newCustomer(name: string) {
    customers += 1;
    const body = { reference: name, customer_name: name, customer_phone: `+3461122334${customers}` };
    const conversation_id = (await api('POST', '/api/v1/conversation/', body)).json.id as number;
    const id = await createNotification({
      ...QUESTION,
      conversation_id,
      context: { question: QUESTIONS[name]! },
    });
    return { conversation_id, id };
  }

  it('needs the name to be typed, says what stays, and is gone then', async () => {
    const { conversation_id, id } = await newCustomer('Marta Gil');
    const window = await dashboard.open({ path: `/inbox/${id}`, expectedErrors: /404/ });
    const { page } = window;
    await page.getByText('More details').click();
    await page.getByRole('button', { name: 'Erase this customer…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Erase Marta Gil?' });
    await dialog.getByText('This cannot be undone.').waitFor();
    const erase = dialog.getByRole('button', { name: 'Erase for good', exact: true });
    assert.equal(await erase.isDisabled(), true);
    await dialog.getByRole('textbox').fill('Marta');
    assert.equal(await erase.isDisabled(), true);
    await animationsFinished(page);
    const { violations } = await new AxeBuilder({ page }).include('[role=dialog]').analyze();
    assert.deepEqual(violations, []);
    await dialog.getByRole('textbox').fill('Marta Gil');
    await erase.click();
    await page.locator('.toast', { hasText: 'The customer is being erased.' }).waitFor();
    assert.equal((await api('GET', `/api/v1/conversation/${conversation_id}`)).status, 404);
    await page.locator(`[href="/inbox/${id}"]`).waitFor({ state: 'detached' });
    await window.close();
  });

  it('is not offered to colleagues who are not owners', async () => {
    const { id } = await newCustomer('Iris Sol');
    const user = await addColleague(dashboard.deskbell, 'Nora Paz');
    const window = await dashboard.open({ path: `/inbox/${id}`, user });
    const { page } = window;
    await page.getByRole('heading', { name: 'Iris Sol' }).waitFor();
    assert.equal(await page.getByText('Erase this customer…').count(), 0);
    await window.close();
  });
});
