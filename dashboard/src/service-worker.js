/**
 * Shows alerts, and the app while there is no connection. The build writes its version and the files of the app here, so
 * a new build is a new worker. It never handles API calls: what the app shows is current, or the copy that the app kept.
 */
const VERSION = '__VERSION__';
const FILES = JSON.parse('__FILES__');
const PREFIX = 'deskbell-app-';
const CACHE = PREFIX + VERSION;

/** The pages of the app. Everything else, such as the API and its docs, goes to the server only. */
const IS_PAGE = /^\/($|(inbox|knowledge|overview|settings|test-phone)(\/|$))/;

const TEXTS = {
  en: {
    question: '{customer} asks',
    someone: 'A customer',
    assigned: '{by} assigned a question to you',
    mentioned: '{by} mentioned you in a note',
    colleague: 'A colleague',
    failed: 'A message to {customer} was not delivered',
    waiting: 'A message to {customer} has been waiting for ten minutes',
    stopped: 'Your channel is stopped: a message to {customer} waits',
    test: 'Notifications work',
    hidden: 'Open Deskbell to read it.',
  },
  es: {
    question: '{customer} pregunta',
    someone: 'Un cliente',
    assigned: '{by} te asignó una pregunta',
    mentioned: '{by} te mencionó en una nota',
    colleague: 'Un compañero',
    failed: 'Un mensaje para {customer} no se entregó',
    waiting: 'Un mensaje para {customer} espera desde hace diez minutos',
    stopped: 'Tu canal está detenido: un mensaje para {customer} espera',
    test: 'Las notificaciones funcionan',
    hidden: 'Abre Deskbell para leerla.',
  },
  pt: {
    question: '{customer} pergunta',
    someone: 'Um cliente',
    assigned: '{by} atribuiu-lhe uma pergunta',
    mentioned: '{by} mencionou-o numa nota',
    colleague: 'Um colega',
    failed: 'Uma mensagem para {customer} não foi entregue',
    waiting: 'Uma mensagem para {customer} espera há dez minutos',
    stopped: 'O seu canal está parado: uma mensagem para {customer} espera',
    test: 'As notificações funcionam',
    hidden: 'Abra o Deskbell para a ler.',
  },
  ar: {
    question: 'سؤال من {customer}',
    someone: 'أحد العملاء',
    assigned: 'أسند إليك {by} سؤالًا',
    mentioned: 'ذكرك {by} في ملاحظة',
    colleague: 'أحد الزملاء',
    failed: 'لم تُسلَّم رسالة إلى {customer}',
    waiting: 'رسالة إلى {customer} تنتظر منذ عشر دقائق',
    stopped: 'قناتك متوقفة: رسالة إلى {customer} تنتظر',
    test: 'الإشعارات تعمل',
    hidden: 'افتح Deskbell لقراءتها.',
  },
};

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(['/', ...FILES]))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener('activate', (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(
          names
            .filter((name) => name.startsWith(PREFIX) && name !== CACHE)
            .map((name) => caches.delete(name)),
        ),
      )
      .then(() => self.clients.claim()),
  );
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== self.location.origin) return;
  if (request.mode === 'navigate' && IS_PAGE.test(pathname))
    event.respondWith(fetch(request).catch(async () => (await caches.match('/')) ?? Response.error()));
  // The name of a file changes with its content.
  else if (FILES.includes(pathname))
    event.respondWith(caches.match(pathname).then((known) => known ?? fetch(request)));
});

self.addEventListener('push', (event) => {
  event.waitUntil(show(event.data?.json() ?? {}));
});

function show({ kind = 'test', tag = 'deskbell', language = 'en', notification_id, customer, by, text }) {
  const texts = TEXTS[language] ?? TEXTS.en;
  const names = { customer: customer ?? texts.someone, by: by ?? texts.colleague };
  const title = (texts[kind] ?? texts.question).replace(/\{(\w+)\}/g, (_, name) => names[name]);
  return self.registration.showNotification(title, {
    body: text ?? (kind === 'test' ? '' : texts.hidden),
    // The same alert again replaces the first.
    tag,
    lang: language,
    dir: language === 'ar' ? 'rtl' : 'ltr',
    icon: '/icons/192.png',
    badge: '/icons/badge.png',
    data: { path: pathFor(kind, notification_id) },
  });
}

function pathFor(kind, id) {
  // One alert stands for all that stop or wait.
  if (kind === 'waiting' || kind === 'stopped') return '/inbox?tab=attention';
  if (id !== undefined) return `/inbox/${id}`;
  return kind === 'failed' ? '/inbox?tab=attention' : '/inbox';
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.path ?? '/inbox'));
});

/** In a window that is open: nothing that is written there is lost. */
async function open(path) {
  const [window] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (!window) return self.clients.openWindow(path);
  window.postMessage({ open: path });
  return window.focus();
}
