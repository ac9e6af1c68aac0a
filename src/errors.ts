/** Every error of the API, named once. Code throws errors by name. Only the table below chooses a status. */

/** Which part of the API answers. The contract requires status 500 for some errors of the notification endpoints. */
export type Area = 'general' | 'notification' | 'notificationBody';

type Statuses = { readonly [area in Area]: number };
const everywhere = (status: number): Statuses => ({
  general: status,
  notification: status,
  notificationBody: status,
});

const STATUS = {
  INVALID_CREDENTIALS: everywhere(401),
  MFA_REQUIRED: everywhere(401),
  TOKEN_EXPIRED: everywhere(401),
  INVALID_TOKEN: everywhere(401),
  USER_NOT_FOUND: everywhere(404),
  SESSION_NOT_FOUND: everywhere(404),
  VALIDATION_ERROR: { general: 422, notification: 422, notificationBody: 500 },
  NOTIFICATION_NOT_FOUND: everywhere(404),
  NOTE_NOT_FOUND: everywhere(404),
  ASK_NOT_FOUND: everywhere(404),
  DELIVERY_NOT_FOUND: everywhere(404),
  WEBHOOK_NOT_FOUND: everywhere(404),
  EVENT_NOT_FOUND: everywhere(404),
  ALREADY_ANSWERED: everywhere(500),
  CONVERSATION_NOT_FOUND: { general: 404, notification: 500, notificationBody: 500 },
  DOCUMENT_NOT_FOUND: everywhere(404),
  KNOWN_ANSWER_NOT_FOUND: everywhere(404),
  WORDING_NOT_FOUND: everywhere(404),
  RATE_LIMITED: everywhere(429),
  IDEMPOTENCY_KEY_REUSED: everywhere(422),
  FORBIDDEN: everywhere(403),
  INSUFFICIENT_SCOPE: everywhere(403),
  KEY_NOT_FOUND: everywhere(404),
  INVITE_NOT_FOUND: everywhere(404),
  LINK_NOT_FOUND: everywhere(404),
  LAST_OWNER: everywhere(409),
  MAIL_OFF: everywhere(409),
  CHANNEL_TEST_FAILED: everywhere(409),
  CONFLICT: everywhere(409),
  WINDOW_CLOSED: everywhere(409),
  TOO_LATE: everywhere(409),
  SAVED_REPLY_NOT_FOUND: everywhere(404),
  TOO_MANY_PASSKEYS: everywhere(409),
  BAD_REQUEST: everywhere(400),
  NOT_FOUND: everywhere(404),
  METHOD_NOT_ALLOWED: everywhere(405),
  REQUEST_TIMEOUT: everywhere(408),
  PAYLOAD_TOO_LARGE: everywhere(413),
  UNSUPPORTED_MEDIA_TYPE: everywhere(415),
  MISDIRECTED_REQUEST: everywhere(421),
  HEADERS_TOO_LARGE: everywhere(431),
  STORAGE_FULL: { general: 507, notification: 500, notificationBody: 500 },
  SERVICE_UNAVAILABLE: { general: 503, notification: 500, notificationBody: 500 },
  INTERNAL_ERROR: everywhere(500),
} as const satisfies Record<string, Statuses>;

export type ErrorCode = keyof typeof STATUS;
export const ERROR_CODES = Object.keys(STATUS) as ErrorCode[];

export function statusOf(code: ErrorCode, area: Area): number {
  return STATUS[code][area];
}

/** A real failure that should raise an alert. Every other error is an expected response, even with status 500. */
export function isFailure(code: ErrorCode): boolean {
  return code === 'INTERNAL_ERROR' || code === 'SERVICE_UNAVAILABLE';
}

interface ApiErrorOptions {
  field?: string;
  headers?: Record<string, string>;
  /** Only for the log. The caller sees `detail`. */
  cause?: unknown;
}

const BEARER = { 'www-authenticate': 'Bearer' };

export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, detail: string, { field, headers = {}, cause }: ApiErrorOptions = {}) {
    super(detail, { cause });
    this.code = code;
    this.field = field;
    // Who is not signed in learns how.
    this.headers = STATUS[code].general === 401 ? { ...BEARER, ...headers } : headers;
  }

  body(): { detail: string; code: ErrorCode; field?: string } {
    return {
      detail: this.message,
      code: this.code,
      ...(this.field === undefined ? {} : { field: this.field }),
    };
  }
}

// Sign-in and tokens
export const invalidCredentials = () => new ApiError('INVALID_CREDENTIALS', 'Wrong email or password.');
/** Only after the right password. */
export const mfaRequired = () =>
  new ApiError('MFA_REQUIRED', 'This account needs a second factor: send a code as otp.', {
    field: 'otp',
  });
export const wrongOtp = () =>
  new ApiError('INVALID_CREDENTIALS', 'The code is wrong, has expired or was used before.', {
    field: 'otp',
  });
export const passkeyRefused = (cause?: unknown) =>
  new ApiError('INVALID_CREDENTIALS', 'This passkey cannot sign in here.', { cause });
export const tokenExpired = () => new ApiError('TOKEN_EXPIRED', 'The token has expired.');
export const tokenMissing = () => new ApiError('INVALID_TOKEN', 'A bearer token is required.');
export const tokenInvalid = (cause?: unknown) =>
  new ApiError('INVALID_TOKEN', 'The token is malformed or invalid.', { cause });
export const merchantTokenRequired = () =>
  new ApiError('INVALID_TOKEN', 'This endpoint requires a merchant access token.');
/** Every endpoint that requires a merchant's token can return these. */
export const TOKEN_ERRORS = [tokenMissing(), tokenInvalid(), merchantTokenRequired(), tokenExpired()];
export const ownerRequired = () => new ApiError('FORBIDDEN', 'Only an owner of the merchant can do this.');
// Keys
export const insufficientScope = (scopes: readonly string[]) =>
  new ApiError(
    'INSUFFICIENT_SCOPE',
    scopes.length === 1
      ? `This key lacks the scope: ${scopes[0]}.`
      : `This key needs one of these scopes: ${scopes.join(', ')}.`,
  );
export const notForKeys = () =>
  new ApiError('INSUFFICIENT_SCOPE', 'This endpoint is only for people: sign in to use it.');
export const keyInvalid = () => new ApiError('INVALID_TOKEN', 'This key is wrong or was revoked.');
export const keyExpired = () => new ApiError('TOKEN_EXPIRED', 'This key has expired.');
export const keyRequired = () => new ApiError('FORBIDDEN', 'This endpoint is only for keys.');
export const originRefused = () =>
  new ApiError(
    'FORBIDDEN',
    'Pages of this origin may not use this address. CORS_ORIGINS lists those that may.',
  );
export const keyNotFound = () => new ApiError('KEY_NOT_FOUND', 'Key not found.');
export const tooManyKeys = (max: number) =>
  new ApiError('CONFLICT', `The merchant already has ${max} keys. Revoke one first.`);
/** The request did not come from the dashboard, and this path trusts a cookie. */
export const notFromDashboard = () =>
  new ApiError('FORBIDDEN', 'Only the dashboard can use this path. Programs sign in at /api/v1/auth/login.');
export const userNotFound = () => new ApiError('USER_NOT_FOUND', 'The user does not exist.');
export const sessionNotFound = () => new ApiError('SESSION_NOT_FOUND', 'Session not found.');

// Team
export const lastOwner = () =>
  new ApiError('LAST_OWNER', 'This is the only owner who can sign in. Make somebody else an owner first.');
export const inviteNotFound = () => new ApiError('INVITE_NOT_FOUND', 'Invitation not found.');
export const tooManyInvites = (max: number) =>
  new ApiError('CONFLICT', `There are already ${max} open invitations. Withdraw one first.`);
export const teamFull = (max: number) => new ApiError('CONFLICT', `The team already has ${max} people.`);
/** One error for a link that never existed, has expired, was used or withdrawn. */
export const linkNotFound = () =>
  new ApiError('LINK_NOT_FOUND', 'This link has expired or was used before. Ask for a new one.', {
    field: 'token',
  });
export const addressUnusable = () => invalid('email', 'This address cannot be used.');
export const resetLinkRefused = () =>
  new ApiError(
    'CONFLICT',
    'There is no link for somebody who is disabled, or for yourself: change your own password in your account.',
  );
export const noMail = () =>
  new ApiError('MAIL_OFF', 'This server sends no e-mail. Ask an owner of your team for a link.');

// Second factor
/** Not 401: the access token is fine. */
export const proofRefused = (field: 'password' | 'otp') =>
  new ApiError('FORBIDDEN', field === 'otp' ? wrongOtp().message : 'The password is wrong.', { field });
export const registrationRefused = (cause?: unknown) =>
  new ApiError('FORBIDDEN', 'This passkey cannot be added. Start again.', { cause });
export const factorNotFound = () => new ApiError('NOT_FOUND', 'You do not have this second factor.');
export const totpIsOn = () =>
  new ApiError('CONFLICT', 'An authenticator app is already set up. Turn it off first.');
export const noSecondFactor = () =>
  new ApiError('CONFLICT', 'Set up an authenticator app or a passkey first.');
export const tooManyPasskeys = (max: number) =>
  new ApiError('TOO_MANY_PASSKEYS', `You already have ${max} passkeys. Remove one first.`);
export const passkeysUnavailable = () =>
  new ApiError('CONFLICT', 'Passkeys need PUBLIC_URL, or the address http://localhost.');

// Validation
export const invalid = (field: string, detail: string) => new ApiError('VALIDATION_ERROR', detail, { field });
export const required = (field: string) => invalid(field, `${field} is required`);
export const contextTooLarge = (bytesMax: number) =>
  invalid('context', `context must not be larger than ${bytesMax / 1024} KiB`);
export const contentMissing = (field: string) =>
  invalid(field, `Missing admin response content in context (expected field: ${field})`);
export const answerFailsSchema = (field: string | undefined, details: string) =>
  new ApiError(
    'VALIDATION_ERROR',
    `Answer validation failed against JSON schema: ${details}`,
    field === undefined ? {} : { field },
  );

// Notifications
export const notificationNotFound = () => new ApiError('NOTIFICATION_NOT_FOUND', 'Notification not found.');
export const alreadyAnswered = () =>
  new ApiError(
    'ALREADY_ANSWERED',
    'This notification has already been answered and cannot be answered again.',
  );
/** Reopening it. */
export const tooLate = () =>
  new ApiError('TOO_LATE', 'It is too late: the answer has been sent and cannot be taken back.');
export const isPending = () =>
  new ApiError('CONFLICT', 'This notification is pending: there is nothing to reopen.');
export const isCancelled = () =>
  new ApiError('CONFLICT', 'The assistant has cancelled this question, so it cannot be reopened.');
export const conversationNotFound = () =>
  new ApiError('CONVERSATION_NOT_FOUND', 'Conversation not found.', { field: 'conversation_id' });
export const noteNotFound = () => new ApiError('NOTE_NOT_FOUND', 'Note not found.');
export const noteNotYours = () =>
  new ApiError('FORBIDDEN', 'Only its author or an owner can delete this note.');
export const tooManyNotes = (max: number) =>
  new ApiError('CONFLICT', `The notification already has ${max} notes. Delete one first.`);
export const idempotencyKeyReused = () =>
  new ApiError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used with another request.', {
    field: 'Idempotency-Key',
  });
export const idempotencyKeyInFlight = () =>
  new ApiError('CONFLICT', 'A request with this Idempotency-Key is still in progress.', {
    field: 'Idempotency-Key',
    headers: { 'retry-after': '1' },
  });
export const tooManyIdempotencyKeys = (max: number, retryAfterSeconds: number) =>
  new ApiError(
    'RATE_LIMITED',
    `This merchant has used ${max} Idempotency-Keys within 24 hours. Try again in ${retryAfterSeconds} s.`,
    { field: 'Idempotency-Key', headers: { 'retry-after': String(retryAfterSeconds) } },
  );

// Asks
export const askNotFound = () => new ApiError('ASK_NOT_FOUND', 'Question not found.');
export const askEnded = (status: string) =>
  new ApiError('CONFLICT', `This question cannot be cancelled: it is ${status}.`);
export const phoneRequired = () =>
  invalid(
    'customer.phone',
    'customer.phone is required, because Deskbell sends the answer, unless deliver is assistant.',
  );

/** An answer that waits would go to the other number. */
export const phoneDiffers = () =>
  invalid(
    'customer.phone',
    'customer.phone is not the number of this conversation, and a question cannot change it. Leave it out, or change the number with POST /api/v1/conversation/ first.',
  );
export const customerRequired = () => invalid('customer.reference', 'customer needs a reference or a phone');

// Conversations
/** Free text can be sent only for 24 hours after the customer wrote. */
export const windowClosed = (lastWroteAt: string | undefined) =>
  new ApiError(
    'WINDOW_CLOSED',
    lastWroteAt === undefined
      ? 'The customer has not written yet. You can write to them for 24 hours after they write, or at any time with a template.'
      : `The customer last wrote at ${lastWroteAt}. You can write to them for 24 hours after they write, or at any time with a template.`,
  );
export const customerUnreachable = () =>
  new ApiError('CONFLICT', 'The customer of this conversation has no valid phone number.');
export const customerChanged = () =>
  new ApiError('CONFLICT', 'The customer’s phone number has just changed. Try again.');
export const replyToInvalid = () =>
  invalid('reply_to', 'reply_to must be the id of a message that the customer wrote in this conversation');
export const sentAlready = () => new ApiError('TOO_LATE', 'The message is already being sent, or was sent.');
export const savedReplyNotFound = () => new ApiError('SAVED_REPLY_NOT_FOUND', 'Saved reply not found.');
export const tooManySavedReplies = (max: number) =>
  new ApiError('CONFLICT', `The merchant already has ${max} saved replies. Remove one first.`);

// Deliveries
/** The caller of a webhook did not sign its request correctly. */
export const forbidden = () =>
  new ApiError('FORBIDDEN', 'The signature of this request is missing or wrong.');
export const webhookNotFound = () => new ApiError('WEBHOOK_NOT_FOUND', 'Webhook endpoint not found.');
export const tooManyWebhooks = (max: number) =>
  new ApiError('CONFLICT', `The merchant already has ${max} webhook endpoints. Remove one first.`);
export const webhookIsOff = () =>
  new ApiError('CONFLICT', 'The webhook endpoint is turned off. Turn it on first.');
export const webhookIsReplaying = () =>
  new ApiError('CONFLICT', 'The webhook endpoint is still receiving an earlier replay.');
export const webhookQueueFull = () =>
  new ApiError('CONFLICT', 'Too many events already wait for this webhook endpoint.');
export const eventNotFound = () =>
  new ApiError('EVENT_NOT_FOUND', 'There is no such event, or it is no longer kept.');

export const deliveryNotFound = () => new ApiError('DELIVERY_NOT_FOUND', 'Delivery not found.');
export const deliveryNotFailed = () =>
  new ApiError('CONFLICT', 'Only a failed or cancelled delivery can be sent again.');
export const deliveryNotCancellable = () =>
  new ApiError('CONFLICT', 'The message is being sent, or was sent or cancelled before.');
export const recipientNotForKeys = () =>
  new ApiError('INSUFFICIENT_SCOPE', 'Only people can send a message to another number.', {
    field: 'recipient',
  });
export const recipientInvalid = () =>
  invalid('recipient', 'recipient must be a phone number with + and its country code');

export const channelUnknown = () => invalid('channel', 'This channel cannot be set up here.');
/** `reason` is a sentence for the merchant. */
export const channelTestFailed = (reason: string, field: string | null) =>
  new ApiError('CHANNEL_TEST_FAILED', reason, field === null ? {} : { field });

// Alerts
export const tooManyDevices = (max: number) =>
  new ApiError('CONFLICT', `You already get alerts in ${max} browsers. Turn them off in one first.`);
export const noDevices = () =>
  new ApiError('CONFLICT', 'None of your browsers gets alerts. Turn them on in one first.');

// Knowledge
export const documentNotFound = () => new ApiError('DOCUMENT_NOT_FOUND', 'Document not found.');
export const knownNotFound = () => new ApiError('KNOWN_ANSWER_NOT_FOUND', 'Known answer not found.');
export const documentChanged = () =>
  new ApiError('CONFLICT', 'The document has changed since you read it. Read it again.', {
    field: 'If-Match',
  });
export const nothingToRevert = () =>
  new ApiError('CONFLICT', 'This document has only one version, so it cannot be reverted.');
export const wordingNotFound = () => new ApiError('WORDING_NOT_FOUND', 'Wording not found.');
export const tooManyWordings = (max: number) =>
  new ApiError('CONFLICT', `The document already has ${max} wordings. Remove one first.`);
export const sameAsTitle = () => invalid('text', 'text must differ from the title');

// The server and its limits
export type LimitOwner = 'user or key' | 'merchant';
export const rateLimited = (retryAfterSeconds: number) =>
  new ApiError('RATE_LIMITED', `Too many requests. Try again in ${retryAfterSeconds} s.`, {
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
/** `whose` has as many event streams as allowed. */
export const tooManyStreams = (whose: LimitOwner, max: number, retryAfterSeconds: number) =>
  new ApiError(
    'RATE_LIMITED',
    `This ${whose} has ${max} open event streams, and more are not allowed. Close one, or try again in ${retryAfterSeconds} s.`,
    { headers: { 'retry-after': String(retryAfterSeconds) } },
  );
/** `whose` has as many requests that wait as allowed. */
export const tooManyWaits = (whose: LimitOwner, max: number, retryAfterSeconds: number) =>
  new ApiError(
    'RATE_LIMITED',
    `This ${whose} has ${max} waiting requests, and more are not allowed. Do not wait, or try again in ${retryAfterSeconds} s.`,
    { headers: { 'retry-after': String(retryAfterSeconds) } },
  );
export const storageFull = () =>
  new ApiError(
    'STORAGE_FULL',
    'Your storage is full. Delete notifications or documents that you no longer need, or ask the operator for more.',
  );
export const serviceUnavailable = (cause?: unknown) =>
  new ApiError(
    'SERVICE_UNAVAILABLE',
    'The service is busy or cannot reach its database. Try again shortly.',
    {
      headers: { 'retry-after': '2' },
      cause,
    },
  );
export const tooManyConnections = () =>
  new ApiError('SERVICE_UNAVAILABLE', 'Too many connections from this address. Close some of them.', {
    headers: { 'retry-after': '2' },
  });
export const internalError = (cause: unknown) =>
  new ApiError(
    'INTERNAL_ERROR',
    'Something went wrong on our side. The x-request-id header names this request.',
    {
      cause,
    },
  );
export const metricsRefused = () =>
  new ApiError('FORBIDDEN', 'Only this machine may read the metrics. Set METRICS_TOKEN or METRICS_PORT.');
export const notFound = () => new ApiError('NOT_FOUND', 'This path does not exist.');
export const misdirectedRequest = () =>
  new ApiError(
    'MISDIRECTED_REQUEST',
    'This server does not answer for the host name in the Host header. PUBLIC_URL and ALLOWED_HOSTS set its names.',
  );
export const methodNotAllowed = (allowed: readonly string[]) =>
  new ApiError('METHOD_NOT_ALLOWED', `This path accepts ${allowed.join(', ')}.`, {
    headers: { allow: allowed.join(', ') },
  });
export const payloadTooLarge = (maxBytes: number) =>
  new ApiError('PAYLOAD_TOO_LARGE', `The body must not exceed ${maxBytes / 1024} KiB.`);
export const unsupportedMediaType = () =>
  new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as JSON, with Content-Type: application/json.');
export const contentEncoded = () =>
  new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without Content-Encoding.');
export const badRequest = (detail: string) => new ApiError('BAD_REQUEST', detail);
export const bodyCutOff = () => badRequest('The connection ended before the whole body had arrived.');
export const headersTooLarge = () => new ApiError('HEADERS_TOO_LARGE', 'The headers are too large.');
export const requestTimeout = () => new ApiError('REQUEST_TIMEOUT', 'The request took too long to arrive.');
