/** Whether this server has the API's documentation. With DOCS=false, the page says that it does not. */
export const hasDocs = document.documentElement.dataset.docs !== 'off';
