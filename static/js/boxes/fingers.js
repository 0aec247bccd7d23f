/**
 * Which fingers are on the photo. The first two together move and zoom it; a third is only counted, so that
 * the photo comes to rest when one of the pair is lifted and nothing is drawn until the last one is.
 *
 * @typedef {{x: number, y: number}} Point
 */
export class Fingers {
  #at = new Map();
  #pair = null;
  #several = false;
  /** whether the latest finger made the pair */
  begins = false;

  /** @returns {number[]|null} pointer ids of the two that move the photo */
  get pair() { return this.#pair; }
  /** @returns {boolean} whether there were two at once since the last time the glass was free */
  get several() { return this.#several; }
  /** @returns {{middle: Point, span: number}} of the pair, in client pixels; the span is never nothing */
  get shape() {
    const [a, b] = this.#pair.map((id) => this.#at.get(id));
    return { middle: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }, span: Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)) };
  }

  /** A finger has come down. */
  down(event) {
    // The first finger on the glass: whatever was not seen leaving has left.
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

  /** @returns {boolean} whether it was one of several */
  up(event) {
    if (!this.#at.delete(event.pointerId)) return false;
    const several = this.#several;
    if (this.#pair?.includes(event.pointerId)) this.#pair = null;
    if (this.#at.size === 0) this.clear();
    return several;
  }

  /** Forgets them all. */
  clear() {
    this.#at.clear();
    this.#pair = null;
    this.#several = false;
  }
}
