/**
 * Seconds in which somebody was at work: the time between two signs of life counts up to 30 s,
 * a hidden page does not count. (The published pages measured the same way.)
 */
export const IDLE_MS = 30_000;

export class ActiveTime {
  #total;
  #since = null;

  /**
   * @param {{now?: () => number, idleMs?: number, startSeconds?: number}} [options] clock in ms that never
   *   goes back; seconds counted before a reload
   */
  constructor({ now = () => performance.now(), idleMs = IDLE_MS, startSeconds = 0 } = {}) {
    this.now = now;
    this.idleMs = idleMs;
    this.#total = startSeconds * 1000;
  }

  /** A sign of life: counts what passed since the last one and starts anew. */
  activity() {
    const now = this.now();
    this.#total += this.#open(now);
    this.#since = now;
  }

  /** The page went out of sight or is being left. */
  pause() {
    this.#total += this.#open(this.now());
    this.#since = null;
  }

  /** Takes over what an earlier visit counted. */
  add(seconds) {
    if (Number.isFinite(seconds) && seconds > 0) this.#total += seconds * 1000;
  }

  /** @returns {number} active seconds until now, to a tenth */
  seconds() { return Math.round((this.#total + this.#open(this.now())) / 100) / 10; }

  #open(now) { return this.#since === null ? 0 : Math.min(Math.max(0, now - this.#since), this.idleMs); }
}

const SIGNS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'scroll', 'touchstart', 'focusin'];

/** Feeds an ActiveTime from a page. */
export function watchActivity(time, page = document) {
  let last = -Infinity;
  const sign = () => {
    // Pointer moves come by the hundred: one a quarter second says as much.
    const now = time.now();
    if (now - last < 250) return;
    last = now;
    time.activity();
  };
  for (const type of SIGNS) page.addEventListener(type, sign, { passive: true, capture: true });
  page.addEventListener('visibilitychange', () => (page.visibilityState === 'hidden' ? time.pause() : time.activity()));
  if (page.visibilityState !== 'hidden') time.activity();
}
