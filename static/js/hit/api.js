/**
 * The task page's requests to its own server: JSON, a bearer token, no cookies, a time limit.
 * Every failure is an ApiError, so callers never see a raw fetch error.
 */
import { language } from '../ui/i18n.js';

/** code: 'offline' | 'slow' | 'expired' | 'refused' | 'conflict' | 'invalid' | 'too-large' | 'busy' | 'server' */
export class ApiError extends Error {
  /** @param {string} code @param {number} status 0 without a reply @param {any} [body] the reply's JSON @param {number|null} [retryAfter] seconds */
  constructor(code, status, body = null, retryAfter = null) {
    super(body?.error ?? code);
    this.name = 'ApiError';
    Object.assign(this, { code, status, body, retryAfter });
  }

  /** @returns {{field: string, message: string}[]} the server's error messages by field */
  get errors() { return Array.isArray(this.body?.errors) ? this.body.errors : []; }
  /** @returns {boolean} whether the same request may work later */
  get isTransient() { return ['offline', 'slow', 'busy', 'server'].includes(this.code); }
}

const CODES = { 400: 'invalid', 401: 'expired', 403: 'refused', 404: 'refused', 409: 'conflict', 410: 'refused', 413: 'too-large', 429: 'busy' };

async function parseReply(response) {
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  const after = Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
  // A 200 reply that is not JSON comes from a proxy, such as the sign-in page of a hotel's network.
  throw new ApiError(response.ok ? 'offline' : CODES[response.status] ?? 'server', response.status, body, Number.isNaN(after) ? null : after);
}

/**
 * @param {{token: string, urls: {open: string, draft: string, submission: string, consent: string, hints: string},
 *   fetch?: typeof fetch, timeoutMs?: number}} options
 */
export function createApi({ token, urls, fetch = globalThis.fetch.bind(globalThis), timeoutMs = 15000 }) {
  async function send(method, url, body, { keepalive = false } = {}) {
    let response;
    try {
      response = await fetch(url, {
        method,
        keepalive,
        credentials: 'omit',
        cache: 'no-store',
        headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/json', 'Accept': 'application/json', 'Accept-Language': language },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      return await parseReply(response);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      throw new ApiError(error?.name === 'TimeoutError' || error?.name === 'AbortError' ? 'slow' : 'offline', response?.status ?? 0);
    }
  }
  return {
    /** @returns {Promise<{draft: any, revision: number, submission: any, seconds_left: number|null}>} */
    open: () => send('POST', urls.open, {}),
    /** @returns {Promise<{revision: number, saved_at: string}>} */
    saveDraft: (content, revision, options) => send('PUT', urls.draft, { content, revision }, options),
    /** @returns {Promise<{submission_id: string, sha256: string, schema_version: string}>} */
    submit: (submission) => send('POST', urls.submission, submission),
    consent: (agreement) => send('POST', urls.consent, agreement),
    /** @returns {Promise<{hints: import('./hints.js').Hint[]}>} */
    hints: (answer) => send('POST', urls.hints, answer),
  };
}
