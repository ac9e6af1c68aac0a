import { PASSWORD_LENGTH_MIN } from '../auth/passwords.ts';
import { Failure, UsageError } from './command.ts';

/** Checks of names, email addresses and passwords. */

const NAME_LENGTH_MAX = 200;
// The same limits as for sign-in.
const EMAIL_LENGTH_MAX = 320;
const PASSWORD_LENGTH_MAX = 1024;

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

export function checkPassword(password: string): void {
  const length = [...password].length;
  if (length < PASSWORD_LENGTH_MIN) {
    throw new Failure(`A password needs at least ${PASSWORD_LENGTH_MIN} characters. Nothing was changed.`);
  }
  if (length > PASSWORD_LENGTH_MAX) {
    throw new Failure(`A password may have at most ${PASSWORD_LENGTH_MAX} characters. Nothing was changed.`);
  }
}

const hasControls = (text: string) => /\p{Cc}/u.test(text) || !text.isWellFormed();
