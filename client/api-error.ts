/** The error of a response that is not a success, with what the API says about it. */

export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The status, such as 404. */
  readonly status: number;
  /** The seconds to wait before the next request, if the response names them. */
  readonly retryAfter: number | undefined;
  /** The address of the request. It never contains the key. */
  readonly url: string;
  /** The name of the parameter that is wrong, if one is. */
  readonly parameter: string | undefined;

  constructor(
    message: string,
    status: number,
    retryAfter: number | undefined,
    url: string,
    parameter?: string,
  ) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
    this.url = url;
    this.parameter = parameter;
  }
}

const CHANGED =
  'Another snapshot of the catalogue is current than the one that you began to read. Begin again.';

/** Makes the error of a response, and reads its body. */
export async function errorOf(response: Response, url: string): Promise<ApiError> {
  const { status } = response;
  const { error = `HTTP status ${status}`, parameter } = errorIn(await response.text());
  const message = status === 412 ? CHANGED : error;
  return new ApiError(message, status, retryAfterOf(response), url, parameter);
}

/** The seconds in `Retry-After`, which may also be a date; undefined without it. */
export function retryAfterOf({ headers }: Response): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

/** The texts of `{"error":"…","parameter":"…"}`; none if something else answered, such as a gateway. */
function errorIn(body: string): { error?: string; parameter?: string } {
  try {
    const { error, parameter } = JSON.parse(body);
    if (typeof error !== 'string') return {};
    return typeof parameter === 'string' ? { error, parameter } : { error };
  } catch {
    return {};
  }
}
