/**
 * The boxes of a task, with undo and redo.
 *
 * Arrays and boxes are frozen: a change makes a new array, and the history keeps the earlier ones.
 * Events: `change` {kind, box, before, count}, `select` {id}, `active` {obs}.
 *
 * @typedef {import('./geometry.js').Box} Box
 * @typedef {Box & {id: number, obs: number}} StoredBox
 */
import { MIN_SIDE, isValid, sameBox } from './geometry.js';

/** Successive key presses within this time are one undo step. */
export const MERGE_MS = 800;

/** @returns {string} a, b, … z, aa, ab, … for 0, 1, … */
export function letters(index) {
  let text = '';
  for (let i = index; i >= 0; i = Math.floor(i / 26) - 1) text = String.fromCharCode(97 + (i % 26)) + text;
  return text;
}

/** @returns {string} "2" for the only box of observation 2, "2a", "2b" … for several. */
export function labelIn(boxes, box) {
  const mine = boxes.filter((b) => b.obs === box.obs);
  return mine.length === 1 ? String(box.obs) : `${box.obs}${letters(mine.findIndex((b) => b.id === box.id))}`;
}

const plain = ({ left, top, width, height }) => ({ left, top, width, height });

export class BoxStore extends EventTarget {
  #boxes = Object.freeze([]);
  #undo = [];
  #redo = [];
  #lastId = 0;
  #selected = null;
  #active = null;
  #merge = { tag: null, at: 0 };
  #now;

  /**
   * @param {{width: number, height: number}} size the photo, in its own pixels
   * @param {{min?: number, most?: number, now?: () => number}} [options] minimum side; maximum number
   *   of boxes per observation; clock in ms for merging
   */
  constructor(size, { min = MIN_SIDE, most = Infinity, now = Date.now } = {}) {
    super();
    this.size = Object.freeze({ width: size.width, height: size.height });
    this.min = min;
    this.most = most;
    this.#now = now;
  }

  /** @returns {readonly StoredBox[]} in order of drawing */
  get boxes() { return this.#boxes; }
  /** @returns {number|null} id of the selected box */
  get selectedId() { return this.#selected; }
  /** @returns {StoredBox|null} */
  get selected() { return this.get(this.#selected); }
  /** @returns {number|null} observation whose card is open: new boxes belong to it */
  get active() { return this.#active; }
  get canUndo() { return this.#undo.length > 0; }
  get canRedo() { return this.#redo.length > 0; }

  /** @returns {StoredBox|null} */
  get(id) { return this.#boxes.find((b) => b.id === id) ?? null; }
  /** @returns {StoredBox[]} the boxes of one observation */
  of(obs) { return this.#boxes.filter((b) => b.obs === obs); }
  /** @returns {string} see labelIn */
  label(box) { return labelIn(this.#boxes, box); }

  /** @returns {boolean} whether an observation may have another box */
  hasRoom(obs) { return this.of(obs).length < this.most; }

  /** Adds a box and selects it. @returns {StoredBox|null} null if the box is invalid or over the maximum */
  add(obs, box) { return this.addMany([{ obs, box }])[0] ?? null; }

  /** Adds several boxes as one undo step, without invalid ones and those over the maximum. @returns {StoredBox[]} */
  addMany(items) {
    const made = items.filter(({ obs, box }) => Number.isInteger(obs) && isValid(box, this.size, this.min))
      .filter(({ obs }, i, all) => this.of(obs).length + all.slice(0, i).filter((other) => other.obs === obs).length < this.most)
      .map(({ obs, box }) => Object.freeze({ id: ++this.#lastId, obs, ...plain(box) }));
    if (made.length === 0) return [];
    this.#commit([...this.#boxes, ...made], { kind: 'add', box: made.at(-1), count: made.length });
    this.select(made.at(-1).id);
    return made;
  }

  /**
   * Changes the position or size of a box.
   * @param {string|null} [merge] changes with the same tag within MERGE_MS are one undo step
   * @returns {boolean} false if there is no such box, the new box is invalid, or nothing changes
   */
  replace(id, box, { merge = null } = {}) {
    const before = this.get(id);
    if (!before || sameBox(before, box) || !isValid(box, this.size, this.min)) return false;
    const after = Object.freeze({ id, obs: before.obs, ...plain(box) });
    const kind = before.width === after.width && before.height === after.height ? 'move' : 'resize';
    this.#commit(this.#boxes.map((b) => (b.id === id ? after : b)), { kind, box: after, before }, merge);
    return true;
  }

  /** @returns {boolean} whether there was such a box */
  remove(id) {
    const box = this.get(id);
    if (!box) return false;
    const label = this.label(box);
    this.#commit(this.#boxes.filter((b) => b.id !== id), { kind: 'remove', box, label });
    return true;
  }

  /** Removes every box of an observation as one undo step. @returns {StoredBox[]} the removed boxes */
  removeAll(obs) {
    const gone = this.of(obs);
    if (gone.length) {
      this.#commit(this.#boxes.filter((b) => b.obs !== obs), { kind: 'remove', box: gone.at(-1), count: gone.length });
    }
    return gone;
  }

  /** Loads the valid boxes of a draft, and clears history and selection. */
  load(items) {
    this.#boxes = Object.freeze(items
      .filter(({ obs, box }) => Number.isInteger(obs) && isValid(box, this.size, this.min))
      .map(({ obs, box }) => Object.freeze({ id: ++this.#lastId, obs, ...plain(box) })));
    this.#undo = [];
    this.#redo = [];
    this.#merge = { tag: null, at: 0 };
    this.#emit('change', { kind: 'load', box: null });
    this.select(null);
  }

  /** @returns {boolean} whether there was a step to undo */
  undo() { return this.#step(this.#undo, this.#redo, 'undo'); }
  /** @returns {boolean} whether there was a step to redo */
  redo() { return this.#step(this.#redo, this.#undo, 'redo'); }

  /** Selects a box by id, or none. */
  select(id) {
    const next = this.get(id) ? id : null;
    if (next === this.#selected) return;
    this.#selected = next;
    this.#merge.tag = null;
    this.#emit('select', { id: next });
  }

  /** Selects the box after (+1) or before (-1) the selected one, and wraps around. */
  cycle(step) {
    if (this.#boxes.length === 0) return;
    const at = this.#boxes.findIndex((b) => b.id === this.#selected);
    const from = at < 0 && step < 0 ? 0 : at;
    this.select(this.#boxes[(from + step + this.#boxes.length) % this.#boxes.length].id);
  }

  /** Sets the observation that new boxes belong to; null if no card is open. */
  setActive(obs) {
    if (obs === this.#active) return;
    this.#active = obs;
    this.#emit('active', { obs });
  }

  #commit(next, detail, merge = null) {
    const now = this.#now();
    const joins = merge !== null && this.#merge.tag === merge && now - this.#merge.at <= MERGE_MS;
    if (!joins) this.#undo.push(this.#boxes);
    this.#merge = { tag: merge, at: now };
    this.#redo = [];
    this.#set(next, detail);
  }

  #step(from, to, kind) {
    if (from.length === 0) return false;
    const before = this.#boxes;
    to.push(before);
    this.#merge.tag = null;
    this.#set(from.pop(), { kind, box: null, previous: before });
    return true;
  }

  #set(next, detail) {
    this.#boxes = Object.freeze(next);
    this.#emit('change', detail);
    if (this.#selected !== null && !this.get(this.#selected)) this.select(null);
  }

  #emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
