let taken = '';

/** What follows the # in the address. It does not stay in the address and the history. React may ask several times. */
export function takeToken(): string {
  const token = location.hash.slice(1);
  if (token !== '') {
    taken = token;
    history.replaceState(history.state, '', location.pathname);
  }
  return taken;
}
