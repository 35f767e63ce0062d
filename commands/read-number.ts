/** Reads the numbers in the options of a command. */
import { ConfigurationError } from '../program/environment/environment.ts';

/**
 * @param fallback the number if the option is not given
 * @throws ConfigurationError unless it is a whole number from 1 to `most`
 */
export function readNumber<T>(
  name: string,
  text: string | boolean | undefined,
  fallback: T,
  most: number,
): number | T {
  if (text === undefined) return fallback;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 1 && number <= most) return number;
  throw new ConfigurationError(
    `${name} must be a whole number from 1 to ${most}, not ${JSON.stringify(text)}.`,
  );
}
