/** Characters of a new password, and of any password that is sent. The dashboard needs only these, not the schemas. */
export const PASSWORD_LENGTH_MIN = 10;
export const PASSWORD_LENGTH_MAX = 1024;
