/** Creates and hashes tokens. A token signs in anybody who has it; the database contains only hashes. */
import { hash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

/** Creates a token of 43 characters that are allowed in addresses and cookies. */
export function makeToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** The form in which a token is stored: its SHA-256 in hexadecimal. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}
