import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * The only cookie. No script can read it (HttpOnly), and no other site's page can make a browser send it
 * (SameSite=Strict). In production it travels only over TLS, and no other host of the domain can set it (`__Host-`,
 * which requires Secure and the path `/`). In development, over plain HTTP, only the session's own paths receive it.
 */
const PLAIN = { name: 'deskbell_refresh', path: '/session' };
const HOST_ONLY = { name: '__Host-deskbell_refresh', path: '/' };

export interface RefreshCookie {
  read(request: FastifyRequest): string | undefined;
  set(reply: FastifyReply, token: string): void;
  clear(reply: FastifyReply): void;
}

export function createRefreshCookie(production: boolean, maxAgeSeconds: number): RefreshCookie {
  const ours = production ? HOST_ONLY : PLAIN;
  const write = (reply: FastifyReply, { name, path }: typeof PLAIN, token: string, maxAge: number) =>
    reply.setCookie(name, token, {
      maxAge,
      path,
      httpOnly: true,
      sameSite: 'strict',
      secure: production || reply.request.protocol === 'https',
    });
  const former = ({ cookies }: FastifyRequest) => (production ? cookies[PLAIN.name] : undefined);
  const removeFormer = (reply: FastifyReply) => {
    if (former(reply.request) !== undefined) write(reply, PLAIN, '', 0);
  };
  return {
    // Not the former one: a page of another host could have set it.
    read: (request) => request.cookies[ours.name] || undefined,
    set(reply, token) {
      write(reply, ours, token, maxAgeSeconds);
      removeFormer(reply);
    },
    clear(reply) {
      write(reply, ours, '', 0);
      removeFormer(reply);
    },
  };
}
