const { DATABASE_URL, POOL_SIZE, PORT, MASTER_KEY } = process.env;

export const options = {
  appId: 'deskbell-peer',
  masterKey: MASTER_KEY,
  databaseURI: `${DATABASE_URL}?max=${POOL_SIZE}`,
  serverURL: `http://127.0.0.1:${PORT ?? 0}/parse`,
  // Cloud code calls the server by a function, not by a request to itself, as its documentation advises.
  directAccess: true,
  cloud: new URL('cloud.mjs', import.meta.url).pathname,
};
