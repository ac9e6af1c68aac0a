import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * The only cookie. No script can read it (HttpOnly), no other site's page can make a browser send it
 * (SameSite=Strict), and only the session's own paths receive it (Path).
 */
const NAME = 'deskbell_refresh';

export const readRefreshCookie = ({ cookies }: FastifyRequest): string | undefined =>
  cookies[NAME] || undefined;

export function setRefreshCookie(reply: FastifyReply, token: string, maxAgeSeconds: number): void {
  reply.setCookie(NAME, token, {
    maxAge: maxAgeSeconds,
    path: '/session',
    httpOnly: true,
    sameSite: 'strict',
    secure: reply.request.protocol === 'https',
  });
}

export const clearRefreshCookie = (reply: FastifyReply): void => setRefreshCookie(reply, '', 0);
