/**
 * Live hints: asks the server a little while after the last change, shows at most two a card, and remembers which were
 * shown and which were waved away. Silent whenever anything fails: a hint is advice, and work goes on without it.
 *
 * @typedef {{rule: string, card: number, field: string, quote: string, other: number|null, params: object}} Hint
 */
const DELAY_MS = 700;
const AFTER_FAILURE_MS = 5000;
const SHOWN_AT_ONCE = 2;
const MOST_ROWS = 100;
const LONGEST_QUOTE = 200;
const MOST_KEPT = 8000; // characters of JSON

/** @param {Hint} hint @returns {string} what makes a hint the same one as before */
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
   *   show: puts a card's hints in place of those before, and returns those that can be seen;
   *   changed: something was shown or dismissed that the draft should keep
   */
  constructor({ rules, read, ask, show, changed = () => {}, online = () => globalThis.navigator?.onLine !== false, now = Date.now,
    setTimer = setTimeout.bind(globalThis), clearTimer = clearTimeout.bind(globalThis) }) {
    Object.assign(this, { rules, read, ask, show, changed, online, now, setTimer, clearTimer });
  }

  /** The work has changed. */
  touch() {
    if (this.#over || !this.rules?.length) return;
    this.#edits += 1;
    this.#later(DELAY_MS);
  }

  /** Shows again what there is, for instance after a card was opened. */
  render() {
    const byCard = new Map();
    for (const hint of this.#latest) {
      if (!this.#dismissed.has(keyOf(hint))) byCard.set(hint.card, [...(byCard.get(hint.card) ?? []), hint]);
    }
    for (const card of this.#cards) if (!byCard.has(card)) this.show(card, []);
    for (const [card, hints] of byCard) for (const hint of this.show(card, hints.slice(0, SHOWN_AT_ONCE))) this.#seen(hint);
    this.#cards = new Set(byCard.keys());
  }

  /** The person does not want this one. It does not come back. @param {Hint} hint */
  dismiss(hint) {
    this.#dismissed.add(keyOf(hint));
    this.#seen(hint);
    this.render();
    this.changed();
  }

  /** @returns {object[]} what a reload should know, for the draft: rows of the report, the dismissed ones above all */
  kept() {
    const rows = this.report().sort((a, b) => a.dismissed - b.dismissed);
    // A draft has its limit, and the work itself comes first.
    while (JSON.stringify(rows).length > MOST_KEPT) rows.shift();
    return rows;
  }

  /** Takes over what a draft kept. */
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
    return [...this.#rows].slice(-MOST_ROWS)
      .map(([key, { fixed, ...row }]) => ({ ...row, dismissed: this.#dismissed.has(key), fixed }));
  }

  #seen(hint) {
    const key = keyOf(hint);
    if (!this.#rows.has(key)) this.#rows.set(key, rowOf(hint));
  }

  #later(ms) {
    if (this.#timer !== null) this.clearTimer(this.#timer);
    this.#timer = this.setTimer(() => { this.#timer = null; this.#look(); }, ms);
  }

  async #look() {
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
    // What was typed meanwhile, and whose own turn came while the answer was awaited, is looked at now.
    if (edits !== this.#edits && this.#timer === null && !this.#over) this.#later(0);
  }

  #take(hints) {
    this.#latest = hints;
    const stands = new Set(hints.map(keyOf));
    // Mended means that the server looked again and did not find it; where it was not asked, nobody knows.
    for (const [key, row] of this.#rows) row.fixed = !stands.has(key);
    this.render();
  }

  #failed(error) {
    this.#over = ['expired', 'refused'].includes(error?.code);
    this.#quietUntil = this.now() + (error?.retryAfter ? error.retryAfter * 1000 : AFTER_FAILURE_MS);
  }
}

const listOf = (value) => (Array.isArray(value) ? value : []);

// Text lengths are counted in characters by the server and in half characters here: emoji are never cut in two.
function rowOf({ rule, card, field, quote }, fixed = false) {
  return { rule, card, field, quote: [...quote].slice(0, LONGEST_QUOTE).join(''), fixed };
}
