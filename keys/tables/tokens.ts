/** Tokens that sign in anybody who has them; the database holds only their hashes. */
import { hash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

/** A new secret, in 43 characters that are safe in addresses and cookies. */
export function makeToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** What is stored of a token: SHA-256, in hexadecimal. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}
