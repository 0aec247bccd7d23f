/**
 * Live hints: asks the server shortly after the last change, shows at most two per card, and records which were shown
 * and dismissed. Errors are not shown: a hint is advice, and work continues without it.
 *
 * @typedef {{rule: string, card: number, field: string, quote: string, other: number|null, params: object}} Hint
 */
const DELAY_MS = 700;
const AFTER_FAILURE_MS = 5000;
const SHOWN_AT_ONCE = 2;
const MAX_ROWS = 100;
const MAX_QUOTE_LENGTH = 200;
const MAX_DRAFT_LENGTH = 8000; // characters of JSON in a draft

/** @param {Hint} hint @returns {string} the identity of a hint */
export const keyOf = ({ rule, card, quote }) => JSON.stringify([rule, card, String(quote).toLowerCase()]);

export class LiveHints {
  #edits = 0;
  #timer = null;
  #asking = false;
  #over = false;
  #quietUntil = -Infinity;
  /** @type {Hint[]} the latest answer */
  #latest = [];
  #dismissed = new Set();
  #rows = new Map();
  #cards = new Set();

  /**
   * @param {{rules: string[], read: () => object, ask: (answer: object) => Promise<{hints: Hint[]}>,
   *   show: (card: number, hints: Hint[]) => Hint[], changed?: () => void, online?: () => boolean,
   *   now?: () => number, setTimer?: typeof setTimeout, clearTimer?: typeof clearTimeout}} options
   *   show: replaces a card's hints, and returns the visible ones;
   *   changed: called after a hint was dismissed, since the draft stores that
   */
  constructor({ rules, read, ask, show, changed = () => {}, online = () => globalThis.navigator?.onLine !== false, now = Date.now,
    setTimer = setTimeout.bind(globalThis), clearTimer = clearTimeout.bind(globalThis) }) {
    Object.assign(this, { rules, read, ask, show, changed, online, now, setTimer, clearTimer });
  }

  /** Schedules a check after a change. */
  touch() {
    if (this.#over || !this.rules?.length) return;
    this.#edits += 1;
    this.#later(DELAY_MS);
  }

  /** Shows the latest hints again, for example after a card was opened. */
  render() {
    const byCard = new Map();
    for (const hint of this.#latest) {
      if (!this.#dismissed.has(keyOf(hint))) byCard.set(hint.card, [...(byCard.get(hint.card) ?? []), hint]);
    }
    for (const card of this.#cards) if (!byCard.has(card)) this.show(card, []);
    for (const [card, hints] of byCard) for (const hint of this.show(card, hints.slice(0, SHOWN_AT_ONCE))) this.#seen(hint);
    this.#cards = new Set(byCard.keys());
  }

  /** Hides a hint for good, at the person's request. @param {Hint} hint */
  dismiss(hint) {
    this.#dismissed.add(keyOf(hint));
    this.#seen(hint);
    this.render();
    this.changed();
  }

  /** @returns {object[]} report rows for the draft; if they are too long, dismissed ones are kept first */
  kept() {
    const rows = this.report().sort((a, b) => a.dismissed - b.dismissed);
    // The size of a draft is limited, and the answer matters more.
    while (JSON.stringify(rows).length > MAX_DRAFT_LENGTH) rows.shift();
    return rows;
  }

  /** Restores the rows of a draft. */
  restore(kept) {
    for (const row of listOf(kept)) {
      if (typeof row?.quote !== 'string') continue;
      const key = keyOf(row);
      if (row.dismissed === true) this.#dismissed.add(key);
      if (!this.#rows.has(key)) this.#rows.set(key, rowOf(row, row.fixed === true));
    }
    this.render();
  }

  /** @returns {{rule: string, card: number, field: string, quote: string, dismissed: boolean, fixed: boolean}[]} for the submission */
  report() {
    return [...this.#rows].slice(-MAX_ROWS)
      .map(([key, { fixed, ...row }]) => ({ ...row, dismissed: this.#dismissed.has(key), fixed }));
  }

  #seen(hint) {
    const key = keyOf(hint);
    if (!this.#rows.has(key)) this.#rows.set(key, rowOf(hint));
  }

  #later(ms) {
    if (this.#timer !== null) this.clearTimer(this.#timer);
    this.#timer = this.setTimer(() => { this.#timer = null; this.#request(); }, ms);
  }

  async #request() {
    if (this.#asking || this.#over || !this.online()) return;
    const wait = this.#quietUntil - this.now();
    if (wait > 0) {
      this.#later(wait);
      return;
    }
    const edits = this.#edits;
    this.#asking = true;
    try {
      const { hints } = await this.ask(this.read());
      if (edits === this.#edits) this.#take(listOf(hints));
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#asking = false;
    }
    // Checks the changes whose timer ended during this request.
    if (edits !== this.#edits && this.#timer === null && !this.#over) this.#later(0);
  }

  #take(hints) {
    this.#latest = hints;
    const currentKeys = new Set(hints.map(keyOf));
    // A hint counts as fixed if a later reply of the server does not contain it.
    for (const [key, row] of this.#rows) row.fixed = !currentKeys.has(key);
    this.render();
  }

  #failed(error) {
    this.#over = ['expired', 'refused'].includes(error?.code);
    this.#quietUntil = this.now() + (error?.retryAfter ? error.retryAfter * 1000 : AFTER_FAILURE_MS);
  }
}

const listOf = (value) => (Array.isArray(value) ? value : []);

// The server counts code points, JavaScript UTF-16 units: the quote is cut between code points.
function rowOf({ rule, card, field, quote }, fixed = false) {
  return { rule, card, field, quote: [...quote].slice(0, MAX_QUOTE_LENGTH).join(''), fixed };
}
