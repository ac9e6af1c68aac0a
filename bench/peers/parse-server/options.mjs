const { DATABASE_URL, POOL_SIZE, PORT, MASTER_KEY } = process.env;

export const options = {
  appId: 'deskbell-peer',
  masterKey: MASTER_KEY,
  databaseURI: `${DATABASE_URL}?max=${POOL_SIZE}`,
  serverURL: `http://127.0.0.1:${PORT ?? 0}/parse`,
  // Cloud code calls the server directly, without an HTTP request, as its documentation advises.
  directAccess: true,
  cloud: new URL('cloud.mjs', import.meta.url).pathname,
};
