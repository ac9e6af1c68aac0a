/** The user's id as a sub-select, for another statement. A token may outlive its user: then it is null. */
export const existingUserId = (userId: string) => `(select u.id from users u where u.id = ${userId})`;
