/**
 * Rows of ratings: each row a fieldset of real radios. A digit rates the current row and moves to the next
 * unrated one; up and down move between rows without rating, left and right within a row, as for all radios.
 */
import { isTyping } from '../boxes/keyboard.js';
import { singleKeys } from '../ui/keys.js';
import { acceptsKeys } from './judging.js';

const radiosOf = (row) => [...row.querySelectorAll('input[type="radio"]')];

/** @returns {string|null} the chosen value of a row */
export const valueOf = (row) => radiosOf(row).find((r) => r.checked)?.value ?? null;

/** @returns {number} index of the next unrated row after `from`, wrapping around, -1 if all are rated */
export function nextOpen(rated, from) {
  for (let step = 1; step <= rated.length; step += 1) {
    const at = (from + step) % rated.length;
    if (!rated[at]) return at;
  }
  return -1;
}

export class RatingRows {
  #current = 0;

  /**
   * @param {HTMLElement[]} rows elements that hold one group of radios each
   * @param {{changed: () => void, preview: boolean, reveal?: (index: number) => void}} page `reveal` shows a row before
   *   it becomes the current one, on pages that show a few rows at a time
   */
  constructor(rows, { changed, preview, reveal = () => {} }) {
    Object.assign(this, { rows, changed, preview, reveal });
    rows.forEach((row, index) => {
      row.addEventListener('change', () => this.changed());
      row.addEventListener('focusin', () => this.#mark(index));
      row.addEventListener('pointerdown', () => this.#mark(index));
    });
    document.addEventListener('keydown', (e) => this.#key(e));
    this.#mark(0);
  }

  get rated() { return this.rows.map((row) => valueOf(row) !== null); }

  /**
   * @param {(number: number) => string} name of a row, counted from 1
   * @returns {object[]} the unrated rows as gaps of the answer; row 3 has the id "row3"
   */
  gaps(name) {
    return this.rated.flatMap((done, i) => (done ? [] : [{ key: `r${i + 1}`, href: `#row${i + 1}`, text: String(i + 1), name: name(i + 1), focus: () => this.goTo(i) }]));
  }

  /** Makes a row the current one and puts focus on its radios. */
  goTo(index) {
    const row = this.rows[index];
    if (!row) return;
    this.#mark(index);
    const radios = radiosOf(row);
    (radios.find((r) => r.checked) ?? radios[0]).focus();
    row.scrollIntoView({ block: 'nearest' });
  }

  /** Sets the value of a row without moving to another; null clears it. */
  set(index, value) {
    for (const radio of radiosOf(this.rows[index])) radio.checked = radio.value === String(value);
  }

  /** Makes the first unrated row the current one. */
  resume() { this.#mark(Math.max(0, nextOpen(this.rated, -1))); }

  #mark(index) {
    this.#current = index;
    this.reveal(index);
    this.rows.forEach((row, i) => row.classList.toggle('row--now', i === index));
  }

  #key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !acceptsKeys(this.preview)) return;
    // Arrows scroll the instructions where these have the focus.
    const step = event.target.closest?.('.how') ? 0 : { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      this.goTo(Math.min(Math.max(this.#current + step, 0), this.rows.length - 1));
    } else if (/^[1-9]$/.test(event.key) && singleKeys()) this.#rate(Number(event.key), event);
  }

  #rate(digit, event) {
    const row = this.rows[this.#current];
    const radio = radiosOf(row)[digit - 1];
    if (!radio) return;
    event.preventDefault();
    if (!radio.checked) {
      radio.checked = true;
      radio.dispatchEvent(new Event('change', { bubbles: true }));
    }
    const next = nextOpen(this.rated, this.#current);
    if (next >= 0) this.goTo(next);
    else radio.focus();
  }
}
