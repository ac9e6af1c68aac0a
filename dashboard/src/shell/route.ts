import { createStore, useStore } from './store.ts';

/** The current page. It is stored in the URL, so that reload, back and links work. */
export type Route =
  | { page: 'inbox'; id: number | undefined }
  | { page: 'knowledge'; id: number | undefined }
  | { page: 'overview' }
  | { page: 'testPhone'; id: number | undefined };
export type PageName = Route['page'];

function readPath(path: string): Route {
  const [, page, given] = path.split('/');
  const id = given && /^\d{1,15}$/.test(given) ? Number(given) : undefined;
  switch (page) {
    case 'knowledge':
      return { page, id };
    case 'test-phone':
      return { page: 'testPhone', id };
    case 'overview':
      return { page };
    default:
      return { page: 'inbox', id };
  }
}

export function pathOf(route: Route): string {
  if (route.page === 'overview') return '/overview';
  const segment = route.page === 'testPhone' ? 'test-phone' : route.page;
  if (route.id !== undefined) return `/${segment}/${route.id}`;
  return route.page === 'inbox' ? '/' : `/${segment}`;
}

const route = createStore<Route>(readPath(location.pathname));
addEventListener('popstate', () => route.set(readPath(location.pathname)));

/** Use `replace` for steps that the back button should skip, such as moving along a list. */
export function navigate(target: Route, how: 'push' | 'replace' = 'push'): void {
  const path = pathOf(target);
  if (path !== location.pathname) {
    if (how === 'push') history.pushState(null, '', path);
    else history.replaceState(null, '', path);
  }
  route.set(target);
}

export const currentRoute = route.get;
export const useRoute = (): Route => useStore(route);
