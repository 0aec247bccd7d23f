/**
 * Zoom by layout: the <svg> gets another CSS size inside a scroll container. The boxes do not change, and
 * getBoundingClientRect still gives the photo's position.
 *
 * Event: `zoom` {scale, k, fit}. Scale is CSS pixels per photo pixel.
 *
 * @typedef {{x: number, y: number}} Point
 */
import { clamp } from './geometry.js';
import { pixelsPerCss } from './transform.js';

const STEPS = [0.05, 0.1, 0.17, 0.25, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 4, 6, 8];
/** Limits of the scale; the scale that fits the photo is allowed beyond them. */
const [LEAST, MOST] = [0.5, 8];
/** Margin in CSS pixels around a rectangle that is scrolled into view. */
const MARGIN = 24;

/** @returns {number} the next scale of STEPS, larger (+1) or smaller (-1) */
export function nextStep(scale, direction) {
  const steps = direction > 0 ? STEPS : [...STEPS].reverse();
  const further = steps.find((s) => (direction > 0 ? s > scale * 1.02 : s < scale * 0.98));
  return further ?? scale;
}

/** @returns {number} the largest scale at which the whole photo fits into `room` (CSS pixels) */
export function fitScale(size, room) {
  return Math.max(0.01, Math.min(room.width / size.width, room.height / size.height));
}

/**
 * The scale after a turn of the wheel or a pinch on a trackpad, which browsers report as a wheel with Ctrl.
 * @param {number} scale @param {{deltaY: number, deltaMode?: number}} event
 */
export function wheelScale(scale, { deltaY, deltaMode = 0 }) {
  const pixels = deltaY * [1, 16, 100][deltaMode];
  // A trackpad sends a few pixels per event, a mouse 100 per notch: the limit of 25 makes a notch a factor of 1.28.
  return scale * Math.exp(-clamp(pixels, -25, 25) / 100);
}

/** @returns {number} how far to scroll so that from … to is visible between lo and hi, or only its start if it is too long */
export function scrollInto(from, to, lo, hi) {
  if (from <= lo && to >= hi) return 0;
  if (from < lo || to - from > hi - lo) return from - lo;
  return to > hi ? to - hi : 0;
}

export class Zoom extends EventTarget {
  #scale = 1;
  #fitting = true;
  #held = null;

  /**
   * @param {HTMLElement} frame scroll container @param {SVGSVGElement} svg the photo in it
   * @param {{width: number, height: number}} size photo pixels
   * @param {() => number} roomHeight CSS pixels that the photo may be high when fitted
   */
  constructor(frame, svg, size, roomHeight) {
    super();
    Object.assign(this, { frame, svg, size, roomHeight });
    new ResizeObserver(() => this.refresh()).observe(frame.parentElement ?? frame);
    window.addEventListener('resize', () => this.refresh());
    this.fit();
  }

  get scale() { return this.#scale; }
  get fitting() { return this.#fitting; }
  get k() { return pixelsPerCss(this.size.width * this.#scale, this.size.width); }
  get #fitted() { return fitScale(this.size, { width: this.frame.offsetWidth, height: Math.max(160, this.roomHeight()) }); }

  /** Fits the whole photo, also after later changes of the window's size. */
  fit() { this.#apply(this.#fitted, true); }
  in(focus) { this.to(nextStep(this.#scale, +1), focus); }
  out(focus) { this.to(nextStep(this.#scale, -1), focus); }

  /**
   * Sets the scale.
   * @param {Point} [focus] client position whose photo point stays in place; the middle by default
   */
  to(scale, focus) {
    const frame = this.frame.getBoundingClientRect();
    const at = focus ?? { x: frame.left + frame.width / 2, y: frame.top + frame.height / 2 };
    this.hold(scale, this.#sameAs(at) ? this.#held.share : this.shareAt(at), at);
  }

  // A container scrolls by whole pixels: without this, rounding would move the photo away from the pointer.
  #sameAs({ x, y }) {
    const held = this.#held;
    return held !== null && held.at.x === x && held.at.y === y && held.scale === this.#scale
      && held.left === this.frame.scrollLeft && held.top === this.frame.scrollTop;
  }

  /** @returns {Point} a client position as shares of the photo's width and height: 0 to 1 inside the photo */
  shareAt({ x, y }) {
    const photo = this.svg.getBoundingClientRect();
    return { x: (x - photo.left) / photo.width, y: (y - photo.top) / photo.height };
  }

  /** Sets the scale and scrolls so that a point of the photo (see shareAt) is at a client position. */
  hold(scale, share, at) {
    const fitted = this.#fitted;
    const target = clamp(scale, Math.min(fitted, LEAST), Math.max(MOST, fitted));
    if (target !== this.#scale) this.#apply(target, false);
    const photo = this.svg.getBoundingClientRect();
    this.frame.scrollLeft += photo.left + share.x * photo.width - at.x;
    this.frame.scrollTop += photo.top + share.y * photo.height - at.y;
    this.#held = { at, share, scale: this.#scale, left: this.frame.scrollLeft, top: this.frame.scrollTop };
  }

  /** Recomputes the layout after the available space changed. */
  refresh() {
    const fitted = this.#fitted;
    if (this.#fitting && Math.abs(fitted - this.#scale) > 1e-4) this.#apply(fitted, true);
    else if (!this.#fitting) this.#frameHeight(fitted);
  }

  /** Scrolls the photo by CSS pixels. */
  pan(dx, dy) {
    this.frame.scrollLeft -= dx;
    this.frame.scrollTop -= dy;
  }

  /** Scrolls a client rectangle into the frame. */
  reveal(rect) {
    const frame = this.frame.getBoundingClientRect();
    this.frame.scrollLeft += scrollInto(rect.left - MARGIN, rect.right + MARGIN, frame.left, frame.right);
    this.frame.scrollTop += scrollInto(rect.top - MARGIN, rect.bottom + MARGIN, frame.top, frame.bottom);
  }

  #apply(scale, fitting) {
    this.#scale = scale;
    this.#fitting = fitting;
    this.svg.style.width = `${this.size.width * scale}px`;
    this.svg.style.height = `${this.size.height * scale}px`;
    this.#frameHeight(fitting ? scale : this.#fitted);
    this.frame.classList.toggle('stage--fit', fitting);
    this.frame.style.setProperty('--k', String(this.k));
    this.dispatchEvent(new CustomEvent('zoom', { detail: { scale, k: this.k, fit: fitting } }));
  }

  // The frame keeps the fitted height at every zoom, so that nothing below the photo jumps.
  #frameHeight(fitted) { this.frame.style.height = `${Math.round(this.size.height * fitted)}px`; }
}
