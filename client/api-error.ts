/** The error of a response that is not a success, with what the API says about it. */

export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The status, such as 404. */
  readonly status: number;
  /** The seconds to wait before the next request, if the response names them. */
  readonly retryAfter: number | undefined;
  /** The address of the request. It never contains the key. */
  readonly url: string;

  constructor(message: string, status: number, retryAfter: number | undefined, url: string) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
    this.url = url;
  }
}

const CHANGED =
  'Another snapshot of the catalogue is current than the one that you began to read. Begin again.';

/** Makes the error of a response, and reads its body. */
export async function errorOf(response: Response, url: string): Promise<ApiError> {
  const text = messageIn(await response.text()) ?? `HTTP status ${response.status}`;
  const message = response.status === 412 ? CHANGED : text;
  return new ApiError(message, response.status, retryAfterOf(response), url);
}

/** The seconds in `Retry-After`, which may also be a date; undefined without it. */
export function retryAfterOf({ headers }: Response): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

/** The text of `{"error":"…"}`; undefined if something else answered, such as a gateway. */
function messageIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text);
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
