/* global Parse */

/** The required fields of each type: in the context and in the answer. */
const FIELDS = {
  user_question_request: { requested: ['question'], answered: ['answer'] },
  user_support_request: {
    requested: ['support_request_reason'],
    answered: ['agent_response_to_customer', 'resolution_notes'],
  },
};

Parse.Cloud.beforeSave('Notification', async ({ object, user, master }) => {
  if (!object.isNew() || master) return;
  const fields = FIELDS[object.get('type')];
  if (!fields) throw new Parse.Error(Parse.Error.VALIDATION_ERROR, 'There is no such type.');
  const context = object.get('context');
  const missing = fields.requested.find((field) => !context?.[field]);
  if (missing) throw new Parse.Error(Parse.Error.VALIDATION_ERROR, `${missing} is required`);
  // Finds it only if the user may read it.
  const conversation = await object.get('conversation').fetch({ sessionToken: user.getSessionToken() });
  object.set({
    status: 'requested',
    merchant: conversation.get('merchant'),
    requestedFields: fields.requested,
    answeredFields: fields.answered,
  });
  object.setACL(new Parse.ACL(user));
});

Parse.Cloud.define(
  'answer',
  async ({ params, user }) => {
    const query = new Parse.Query('Notification').include('conversation');
    const notification = await query.get(params.id, { sessionToken: user.getSessionToken() });
    if (notification.get('status') !== 'requested') {
      throw new Parse.Error(Parse.Error.OPERATION_FORBIDDEN, 'The notification was answered already.');
    }
    const missing = notification.get('answeredFields').find((field) => !params[field]);
    if (missing) throw new Parse.Error(Parse.Error.VALIDATION_ERROR, `${missing} is required`);

    const { id: _, ...answer } = params;
    const text = answer.answer ?? answer.agent_response_to_customer;
    const context = notification.get('context');
    const merchant = notification.get('merchant');
    notification.set({ status: 'answered', answer });
    const delivery = new Parse.Object('Delivery', {
      merchant,
      notification,
      recipient: context.lead_phone ?? notification.get('conversation').get('customerPhone'),
      text,
      state: 'queued',
    });
    const changed = [notification, delivery];
    if (context.question) {
      changed.push(new Parse.Object('Document', { merchant, title: context.question, content: text }));
    }
    for (const object of changed.slice(1)) object.setACL(new Parse.ACL(user));
    await Parse.Object.saveAll(changed, { useMasterKey: true, transaction: true });
    return { message: 'The notification was answered.' };
  },
  { requireUser: true },
);
