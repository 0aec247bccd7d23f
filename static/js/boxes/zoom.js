/**
 * Zoom by layout: the <svg> gets another CSS size inside a scroll container. Nothing about the boxes
 * changes, and getBoundingClientRect stays the whole truth about where the photo is.
 *
 * Event: `zoom` {scale, k, fit}. Scale is CSS pixels per photo pixel.
 */
import { clamp } from './geometry.js';
import { pixelsPerCss } from './transform.js';

const STEPS = [0.05, 0.1, 0.17, 0.25, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 4, 6, 8];

/** @returns {number} the next rounder scale up (+1) or down (-1) */
export function nextStep(scale, direction) {
  const steps = direction > 0 ? STEPS : [...STEPS].reverse();
  const further = steps.find((s) => (direction > 0 ? s > scale * 1.02 : s < scale * 0.98));
  return further ?? scale;
}

/** @returns {number} the largest scale at which the whole photo shows in the given room (CSS pixels) */
export function fitScale(size, room) {
  return Math.max(0.01, Math.min(room.width / size.width, room.height / size.height));
}

export class Zoom extends EventTarget {
  #scale = 1;
  #fitting = true;

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

  /** Shows the whole photo and keeps it so when the window changes. */
  fit() { this.#apply(this.#fitted, true); }
  in(focus) { this.to(nextStep(this.#scale, +1), focus); }
  out(focus) { this.to(nextStep(this.#scale, -1), focus); }

  /**
   * Sets the scale.
   * @param {{x: number, y: number}} [focus] client position that keeps its photo point; else the middle
   */
  to(scale, focus) {
    const fitted = this.#fitted;
    const target = clamp(scale, Math.min(fitted, 0.5), Math.max(8, fitted));
    const frame = this.frame.getBoundingClientRect();
    const before = this.svg.getBoundingClientRect();
    const at = focus ?? { x: frame.left + frame.width / 2, y: frame.top + frame.height / 2 };
    const share = { x: (at.x - before.left) / before.width, y: (at.y - before.top) / before.height };
    this.#apply(target, false);
    const after = this.svg.getBoundingClientRect();
    this.frame.scrollLeft += after.left + share.x * after.width - at.x;
    this.frame.scrollTop += after.top + share.y * after.height - at.y;
  }

  /** Recomputes after the room has changed. */
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
