/** Tokens that whoever has them is signed in by; the database holds their hashes alone. */
import { hash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

/** A new secret, in 43 characters that any address and cookie can hold. */
export function makeToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** What is stored of a token: SHA-256, in hexadecimal. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}
