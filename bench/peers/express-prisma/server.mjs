import { PrismaPg } from '@prisma/adapter-pg';
import bcrypt from 'bcrypt';
import express from 'express';
import jwt from 'jsonwebtoken';
import { PrismaClient } from './generated/index.js';

const { DATABASE_URL, POOL_SIZE, PORT, JWT_SECRET } = process.env;
const prisma = new PrismaClient({
  adapter: new PrismaPg({ connectionString: DATABASE_URL, max: Number(POOL_SIZE) }),
});

/** The required fields of each type: in the context and in the answer. */
const FIELDS = {
  user_question_request: { requested: ['question'], answered: ['answer'] },
  user_support_request: {
    requested: ['support_request_reason'],
    answered: ['agent_response_to_customer', 'resolution_notes'],
  },
};

class HttpError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const app = express();
app.use(express.json());

app.post('/auth/login', async (req, res) => {
  const { email, password } = req.body;
  const user = await prisma.user.findUnique({ where: { email } });
  if (!user || !(await bcrypt.compare(password, user.passwordHash))) {
    throw new HttpError(401, 'Wrong e-mail address or password.');
  }
  const claims = { sub: String(user.id), merchantId: user.merchantId, role: user.role };
  res.json({
    access_token: jwt.sign(claims, JWT_SECRET, { expiresIn: '15m' }),
    refresh_token: jwt.sign({ sub: claims.sub, kind: 'refresh' }, JWT_SECRET, { expiresIn: '30d' }),
    token_type: 'bearer',
    expires_in: 900,
  });
});

function authenticate(req, _res, next) {
  const [scheme, token] = (req.headers.authorization ?? '').split(' ');
  if (scheme !== 'Bearer' || !token) throw new HttpError(401, 'A token is needed.');
  try {
    req.claims = jwt.verify(token, JWT_SECRET);
  } catch {
    throw new HttpError(401, 'The token is not valid.');
  }
  next();
}

app.get('/auth/me', authenticate, async (req, res) => {
  const user = await prisma.user.findUnique({
    where: { id: Number(req.claims.sub) },
    select: { id: true, email: true, name: true, role: true, createdAt: true },
  });
  if (!user) throw new HttpError(404, 'The user is gone.');
  res.json(user);
});

app.get('/notifications', authenticate, async (req, res) => {
  const notifications = await prisma.notification.findMany({
    where: { merchantId: req.claims.merchantId, status: req.query.status },
    omit: { merchantId: true, answer: true },
    orderBy: { id: 'desc' },
  });
  res.json(notifications);
});

app.post('/notifications', authenticate, async (req, res) => {
  const { type, conversationId, context } = req.body;
  const { merchantId } = req.claims;
  const fields = FIELDS[type];
  if (!fields) throw new HttpError(422, 'There is no such type.');
  const missing = fields.requested.find((field) => !context?.[field]);
  if (missing) throw new HttpError(422, `${missing} is required`);
  const conversation = await prisma.conversation.findFirst({ where: { id: conversationId, merchantId } });
  if (!conversation) throw new HttpError(404, 'There is no such conversation.');
  await prisma.notification.create({
    data: {
      merchantId,
      conversationId,
      type,
      context,
      requestedFields: fields.requested,
      answeredFields: fields.answered,
    },
  });
  res.json({ message: 'The notification was created.' });
});

app.post('/notifications/:id/answer', authenticate, async (req, res) => {
  const { merchantId } = req.claims;
  const notification = await prisma.notification.findFirst({
    where: { id: Number(req.params.id), merchantId },
    include: { conversation: true },
  });
  if (!notification) throw new HttpError(404, 'There is no such notification.');
  const missing = notification.answeredFields.find((field) => !req.body[field]);
  if (missing) throw new HttpError(422, `${missing} is required`);

  const { id, context, conversation } = notification;
  const text = req.body.answer ?? req.body.agent_response_to_customer;
  await prisma.$transaction(async (tx) => {
    const { count } = await tx.notification.updateMany({
      where: { id, status: 'requested' },
      data: { status: 'answered', answer: req.body },
    });
    if (count === 0) throw new HttpError(409, 'The notification was answered already.');
    await tx.delivery.create({
      data: {
        merchantId,
        notificationId: id,
        recipient: context.lead_phone ?? conversation.customerPhone,
        text,
      },
    });
    if (context.question) {
      await tx.document.create({ data: { merchantId, title: context.question, content: text } });
    }
  });
  res.json({ message: 'The notification was answered.' });
});

app.use((error, _req, res, _next) => {
  res.status(error.status ?? 500).json({ detail: error.status ? error.message : 'Something went wrong.' });
});

app.listen(Number(PORT), '127.0.0.1');
