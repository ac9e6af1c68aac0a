import { createStore, useStore } from './store.ts';

/** Where one is. The address says it, so that reload, back and links work. */
export type Route =
  | { page: 'inbox'; id: number | undefined }
  | { page: 'knowledge'; id: number | undefined }
  | { page: 'overview' }
  | { page: 'telephone'; id: number | undefined };
export type PageName = Route['page'];

function readPath(path: string): Route {
  const [, page, given] = path.split('/');
  const id = given && /^\d{1,15}$/.test(given) ? Number(given) : undefined;
  switch (page) {
    case 'knowledge':
    case 'telephone':
      return { page, id };
    case 'overview':
      return { page };
    default:
      return { page: 'inbox', id };
  }
}

export function pathOf(route: Route): string {
  if (route.page === 'overview') return '/overview';
  if (route.id !== undefined) return `/${route.page}/${route.id}`;
  return route.page === 'inbox' ? '/' : `/${route.page}`;
}

const place = createStore<Route>(readPath(location.pathname));
addEventListener('popstate', () => place.set(readPath(location.pathname)));

/** `replace` where going back should not come by here: moving along a list. */
export function go(route: Route, how: 'push' | 'replace' = 'push'): void {
  const path = pathOf(route);
  if (path !== location.pathname) {
    if (how === 'push') history.pushState(null, '', path);
    else history.replaceState(null, '', path);
  }
  place.set(route);
}

export const currentRoute = place.get;
export const useRoute = (): Route => useStore(place);
