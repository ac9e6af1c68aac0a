import { UsageError } from './command.ts';

/** Checks of names and email addresses. */

const NAME_LENGTH_MAX = 200;
// The same limit as for sign-in.
const EMAIL_LENGTH_MAX = 320;

export function nameOf(given: string): string {
  const name = given.trim();
  if (name === '' || [...name].length > NAME_LENGTH_MAX || hasControls(name)) {
    throw new UsageError(`A name must have 1 to ${NAME_LENGTH_MAX} characters on one line.`);
  }
  return name;
}

export function emailOf(given: string): string {
  const email = given.trim();
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > EMAIL_LENGTH_MAX || hasControls(email)) {
    throw new UsageError('An email address looks like name@shop.example.');
  }
  return email;
}

const hasControls = (text: string) => /\p{Cc}/u.test(text) || !text.isWellFormed();
