import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  decide,
  type Proposal,
  type TeachingChoice,
  teachBody,
} from '../../dashboard/src/answer/teaching/decide.ts';

const HOURS = { id: 3, title: 'Opening hours', body: 'From nine.', version: 1 };
const SOURCE = { id: 5, title: 'Decaf', text: 'Yes, a Colombian one.' };
const proposed = (more: Partial<Proposal> = {}): Proposal => ({
  personal: false,
  document: null,
  proposal: { do: 'new', title: 'Do you open on Sundays?', text: null },
  ...more,
});
const aboutHours = proposed({ document: HOURS, proposal: { do: 'append', title: HOURS.title, text: null } });

/** What is sent of `teach` and `document_id`. */
function taught(given: {
  proposal?: Proposal | undefined;
  reply?: string;
  choice?: TeachingChoice;
  source?: typeof SOURCE;
  customer?: string;
}) {
  const all = {
    proposal: proposed(),
    reply: 'From ten to two.',
    choice: undefined,
    source: undefined,
    customer: undefined,
    ...given,
  };
  return teachBody(decide(all), all);
}

describe('what an answer teaches the assistant', () => {
  it('is the reply, in a new document, and always said explicitly', () => {
    assert.deepEqual(taught({}), { teach: { do: 'new' } });
    assert.deepEqual(taught({ choice: { title: 'Sundays', text: ' Ten to two. ' } }), {
      teach: { do: 'new', title: 'Sundays', text: 'Ten to two.' },
    });
  });

  it('does not have the name of the customer', () => {
    for (const [reply, text] of [
      ['Yes, Hannah: the Colombian decaf.', 'Yes: the Colombian decaf.'],
      ['Hi Hannah! We open at nine.', 'Hi! We open at nine.'],
      ['Hannah, we open at nine.', 'We open at nine.'],
      ['About nine days, Hannah Brooks. Sorry!', 'About nine days. Sorry!'],
      ['We open at nine, Hannah', 'We open at nine'],
      ['Good morning. Hannah: we do.', 'Good morning. We do.'],
    ] as const)
      assert.deepEqual(taught({ reply, customer: 'Hannah Brooks' }), { teach: { do: 'new', text } });
    for (const reply of [
      'Ask for Hannah at the till.',
      'We send it with Hannah.',
      'The Hannahs are sold out.',
      'Yes, we do.',
    ])
      assert.deepEqual(taught({ reply, customer: 'Hannah Brooks' }), { teach: { do: 'new' } });
    assert.deepEqual(taught({ reply: 'Yes, Jo, we do.', customer: 'Jo Li' }), { teach: { do: 'new' } });
    const choice = { text: 'Hannah, as I want it.' };
    assert.deepEqual(taught({ reply: 'Yes, Hannah!', choice, customer: 'Hannah Brooks' }), {
      teach: { do: 'new', ...choice },
    });
  });

  it('is nothing for personal questions, for answers that say nothing by themselves, and before it is known', () => {
    const nothing = { teach: { do: 'nothing' } };
    assert.deepEqual(taught({ proposal: proposed({ personal: true }) }), nothing);
    assert.deepEqual(taught({ reply: 'Yes!' }), nothing);
    assert.deepEqual(taught({ proposal: undefined }), nothing);
    assert.deepEqual(taught({ reply: 'Yes!', choice: { text: 'We open on Sundays.' } }), {
      teach: { do: 'new', text: 'We open on Sundays.' },
    });
    assert.deepEqual(taught({ proposal: proposed({ personal: true }), choice: { do: 'new' } }), {
      teach: { do: 'new' },
    });
  });

  it('is added to the document that the question is about; only the user replaces it', () => {
    assert.deepEqual(taught({ proposal: aboutHours }), { teach: { do: 'append', document_id: 3 } });
    assert.deepEqual(taught({ proposal: aboutHours, choice: { do: 'replace', documentId: 3 } }), {
      teach: { do: 'replace', document_id: 3 },
    });
    // The document is gone: the choice counts no longer.
    assert.deepEqual(taught({ choice: { do: 'replace', documentId: 3 } }), { teach: { do: 'new' } });
  });

  it('is another wording if a document is sent as it is, and no longer if the text changes', () => {
    assert.deepEqual(taught({ reply: SOURCE.text, source: SOURCE }), { document_id: 5 });
    assert.deepEqual(taught({ reply: `${SOURCE.text} Cheap, too.`, source: SOURCE }), {
      teach: { do: 'new' },
    });
    const choice: TeachingChoice = { do: 'append', documentId: 5 };
    assert.deepEqual(taught({ reply: `${SOURCE.text} Cheap, too.`, source: SOURCE, choice }), {
      teach: { do: 'append', document_id: 5 },
    });
    assert.deepEqual(taught({ reply: SOURCE.text, source: SOURCE, choice: { do: 'nothing' } }), {
      teach: { do: 'nothing' },
    });
  });
});
