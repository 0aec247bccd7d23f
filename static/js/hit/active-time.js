/**
 * Active seconds: the time between two input events counts up to 30 s, and a hidden page does not count.
 * (The published pages of Hessel et al. 2022 measure the same way.)
 */
export const IDLE_MS = 30_000;

export class ActiveTime {
  #total;
  #since = null;

  /**
   * @param {{now?: () => number, idleMs?: number, startSeconds?: number}} [options] monotonic clock in ms;
   *   seconds counted before a reload
   */
  constructor({ now = () => performance.now(), idleMs = IDLE_MS, startSeconds = 0 } = {}) {
    this.now = now;
    this.idleMs = idleMs;
    this.#total = startSeconds * 1000;
  }

  /** Records input: counts the time since the previous input. */
  activity() {
    const now = this.now();
    this.#total += this.#open(now);
    this.#since = now;
  }

  /** Stops counting: the page is hidden or is being left. */
  pause() {
    this.#total += this.#open(this.now());
    this.#since = null;
  }

  /** Adds the seconds of an earlier visit. */
  add(seconds) {
    if (Number.isFinite(seconds) && seconds > 0) this.#total += seconds * 1000;
  }

  /** @returns {number} active seconds until now, to a tenth */
  seconds() { return Math.round((this.#total + this.#open(this.now())) / 100) / 10; }

  #open(now) { return this.#since === null ? 0 : Math.min(Math.max(0, now - this.#since), this.idleMs); }
}

const INPUT_EVENTS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'scroll', 'touchstart', 'focusin'];

/** Records the input events of a page in an ActiveTime. */
export function watchActivity(time, page = document) {
  let last = -Infinity;
  const record = () => {
    // Pointer moves are frequent: one event per 250 ms is enough.
    const now = time.now();
    if (now - last < 250) return;
    last = now;
    time.activity();
  };
  for (const type of INPUT_EVENTS) page.addEventListener(type, record, { passive: true, capture: true });
  page.addEventListener('visibilitychange', () => (page.visibilityState === 'hidden' ? time.pause() : time.activity()));
  if (page.visibilityState !== 'hidden') time.activity();
}
