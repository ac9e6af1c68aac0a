import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isPersonal } from './personal.ts';

const PERSONAL = [
  'Where is order 2041?',
  'Is #12 ready?',
  'Order AB-1234 is late',
  'Is order no. 7 on its way?',
  'My tracking number is RR123456785ES',
  'Can you call me at 611 55 01 01?',
  'Call +34 (611) 550-101 please',
  'Can you deliver on 12/05/2026?',
  'Can you deliver on 2026-05-12?',
  'Do you open on 12/05?',
  'Please write to layla@example.com',
  'Is this the same: https://shop.example/bag?',
  'Is www.aurora.example your page?',
  'Where is my order?',
  'When will my parcel arrive?',
  '¿Dónde está mi pedido?',
  '¿Cuándo llega mi paquete?',
  '¿El pedido 12 ya salió?',
  'Onde está a minha encomenda?',
  'A encomenda nº 7 já saiu?',
  'أين طلبي؟',
  'هل وصل الطلب رقم ١٢؟',
  'رقمي ٠٥٠٥٥٥٠١٠٣',
  'Is ２０４１ mine?',
  'My code is X7K9',
  'The voucher 3f9ab2 does not work',
  'Number 20\u200b41?',
  'Is my order of 2 bags ready',
];
const FOR_EVERYBODY = [
  'Do you have decaf beans?',
  'Do you open at 10:30?',
  'Are you open from 10 to 18?',
  'Are you open 9-17 on Sunday?',
  'Are you open 10:00-18:30?',
  'Do you sell 2 kg bags?',
  'Do you sell bags of 1000 g?',
  'Do you have 250ml bottles?',
  'Is delivery free above 50 €?',
  'Is delivery free above €1,500?',
  'Does the 12.50 euros bag come ground?',
  'Is there a size 42?',
  'Can I use half, 1/2 a spoon?',
  'Do you have V60 filters?',
  'Can I change my order after I paid?',
  '¿Puedo cambiar mi pedido?',
  '¿Venden bolsas de 5 kilos?',
  'هل لديكم قهوة بدون كافيين؟',
  'هل تفتحون الساعة ١٠؟',
  'Do you have a table for 4?',
];

describe('a question', () => {
  for (const question of PERSONAL) it(`is personal: ${question}`, () => assert.ok(isPersonal(question)));
  for (const question of FOR_EVERYBODY)
    it(`is for everybody: ${question}`, () => assert.ok(!isPersonal(question)));

  it('of any length takes no longer than one of 2,000 characters', () => {
    for (const part of ['1', '1 ', '1-', 'a1', 'a', 'where ', 'my order ', '1.', '@', 'n', '٠ '])
      isPersonal(part.repeat(1_000_000));
  });
});
