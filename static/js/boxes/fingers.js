/**
 * The fingers on the photo. The first two together move and zoom it; others are only counted. If one of the pair is
 * lifted, the photo stops, and nothing is drawn until all fingers are lifted.
 *
 * @typedef {{x: number, y: number}} Point
 */
export class Fingers {
  #at = new Map();
  #pair = null;
  #several = false;
  /** whether the latest finger completed the pair */
  begins = false;

  /** @returns {number[]|null} pointer ids of the two that move the photo */
  get pair() { return this.#pair; }
  /** @returns {boolean} whether two fingers were down at once since the last time that none was */
  get several() { return this.#several; }
  /** @returns {{middle: Point, span: number}} of the pair, in client pixels; the span is at least 1 */
  get shape() {
    const [a, b] = this.#pair.map((id) => this.#at.get(id));
    return { middle: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }, span: Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)) };
  }

  /** Registers a finger that went down. */
  down(event) {
    // A primary pointer is the first finger: the lifting of any earlier one was missed.
    if (event.isPrimary) this.clear();
    this.#at.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.begins = !this.#several && this.#at.size === 2;
    if (!this.begins) return;
    this.#several = true;
    this.#pair = [...this.#at.keys()];
  }

  /** @returns {boolean} whether the pair has moved */
  move(event) {
    if (!this.#at.has(event.pointerId)) return false;
    this.#at.set(event.pointerId, { x: event.clientX, y: event.clientY });
    return this.#pair?.includes(event.pointerId) ?? false;
  }

  /** @returns {boolean} whether it was one of several fingers */
  up(event) {
    if (!this.#at.delete(event.pointerId)) return false;
    const several = this.#several;
    if (this.#pair?.includes(event.pointerId)) this.#pair = null;
    if (this.#at.size === 0) this.clear();
    return several;
  }

  /** Forgets all fingers. */
  clear() {
    this.#at.clear();
    this.#pair = null;
    this.#several = false;
  }
}
