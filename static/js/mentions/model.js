/**
 * One text that is being written: its segments, its selection, and undo and redo. No page, no events.
 *
 * States are frozen: an edit makes a new one, and the history keeps the earlier ones.
 *
 * @typedef {import('./segments.js').Segment} Segment
 * @typedef {{segments: Segment[], anchor: number, focus: number}} State positions (segments.js); the caret is at focus
 */
import { flatten, joinGroup, joined, lengthOf, replace, slice, tagAt, tagOf } from './segments.js';

/** Successive typing within this time is one undo step. */
export const MERGE_MS = 800;
const LETTER = /[\p{L}\p{N}\p{M}]/u;

export class MentionModel {
  #state = freeze({ segments: [], anchor: 0, focus: 0 });
  #undo = [];
  #redo = [];
  #merge = { tag: null, at: 0, end: 0 };
  #now;

  /** @param {{now?: () => number}} [options] clock in ms */
  constructor({ now = Date.now } = {}) { this.#now = now; }

  /** @returns {readonly Segment[]} */
  get segments() { return this.#state.segments; }
  get anchor() { return this.#state.anchor; }
  /** @returns {number} the caret */
  get focus() { return this.#state.focus; }
  get from() { return Math.min(this.anchor, this.focus); }
  get to() { return Math.max(this.anchor, this.focus); }
  get isCollapsed() { return this.anchor === this.focus; }
  get length() { return lengthOf(this.segments); }
  get canUndo() { return this.#undo.length > 0; }
  /** @returns {number} the number of steps that can be undone */
  get steps() { return this.#undo.length; }
  get canRedo() { return this.#redo.length > 0; }
  /** @returns {Segment[]} the selected part */
  get selected() { return slice(this.segments, this.from, this.to); }
  /** @returns {boolean} whether exactly one tag is selected */
  get selectsTag() { return this.to - this.from === 1 && tagAt(this.segments, this.from) !== null; }
  /** @returns {string} the text before the caret, with MARK for each tag */
  get before() { return flatten(this.segments).text.slice(0, this.from); }

  /** Shows other segments, and forgets the history. */
  load(segments) {
    const clean = joined(segments.map((s) => (typeof s === 'string' ? s : tagOf(s.objects))));
    const end = lengthOf(clean);
    this.#state = freeze({ segments: clean, anchor: end, focus: end });
    this.#undo = [];
    this.#redo = [];
    this.#merge.tag = null;
  }

  /** Moves the selection; positions outside the text are moved to its ends. */
  select(anchor, focus = anchor) {
    const within = (position) => Math.min(Math.max(position, 0), this.length);
    this.#state = freeze({ ...this.#state, anchor: within(anchor), focus: within(focus) });
  }

  /**
   * Replaces the part between two positions, and puts the caret behind what was inserted.
   * @param {Segment[]} inserted @param {string|null} [merge] edits with the same tag, soon after each other and at one
   *   place, are one undo step
   */
  edit(from, to, inserted, merge = null) {
    const caret = from + lengthOf(inserted);
    this.#commit({ segments: replace(this.segments, from, to, inserted), anchor: caret, focus: caret }, merge, from === to ? from : to);
  }

  /**
   * Takes over segments that were changed elsewhere, such as by typing into the page.
   * @param {number} caret @returns {boolean} whether they differ
   */
  replaceAll(segments, caret, merge = null) {
    const [before, after] = [units(this.segments), units(joined(segments))];
    const most = Math.min(before.length, after.length);
    let [start, end] = [0, 0];
    while (start < most && before[start] === after[start]) start += 1;
    while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
    const same = before.length === after.length && start === before.length;
    if (same) this.select(caret);
    else this.#commit({ segments: joined(segments), anchor: caret, focus: caret }, merge, before.length - end);
    return !same;
  }

  /** Replaces the selection by segments. */
  insert(inserted, merge = null) { this.edit(this.from, this.to, inserted, merge); }

  /**
   * Replaces the part between two positions by a tag. A second tag right after "and" or a comma joins the group: that
   * is an undo step of its own. A space separates the tag from a word before it.
   */
  insertTag(objects, from = this.from, to = this.to) {
    const { text } = flatten(this.segments);
    const space = from > 0 && LETTER.test(text[from - 1]) ? [' '] : [];
    const after = LETTER.test(text[to] ?? '') ? [' '] : [];
    this.edit(from, to, [...space, tagOf(objects), ...after]);
    const behind = from + space.length + 1;
    this.select(behind);
    const group = joinGroup(this.segments, behind);
    if (group) this.#commit({ segments: group.segments, anchor: group.position, focus: group.position });
  }

  /** Puts a space before the word that begins at a position. */
  spaceWord(position) {
    if (!LETTER.test(flatten(this.segments).text[position] ?? '')) return;
    const caret = this.focus + (this.focus > position ? 1 : 0);
    this.#commit({ segments: replace(this.segments, position, position, [' ']), anchor: caret, focus: caret }, 'typing', this.#merge.end);
  }

  /**
   * Deletes the selection. Without one, a tag beside the caret is only selected: the next call deletes it.
   * @param {-1|1} direction backwards or forwards
   * @returns {boolean} whether anything happened; letters beside the caret are the browser's
   */
  remove(direction) {
    if (!this.isCollapsed) {
      this.edit(this.from, this.to, []);
      return true;
    }
    const beside = direction < 0 ? this.focus - 1 : this.focus;
    if (tagAt(this.segments, beside) === null) return false;
    this.select(beside, beside + 1);
    return true;
  }

  /**
   * Moves the caret over a tag beside it: the tag is selected first, then passed.
   * @param {-1|1} direction @param {boolean} extends whether the selection is extended instead
   * @returns {boolean} whether there was a tag; everything else is the browser's
   */
  walk(direction, { extend = false } = {}) {
    const beside = direction < 0 ? this.focus - 1 : this.focus;
    if (extend) {
      if (tagAt(this.segments, beside) === null) return false;
      this.select(this.anchor, this.focus + direction);
      return true;
    }
    if (this.selectsTag) {
      this.select(direction < 0 ? this.from : this.to);
      return true;
    }
    if (!this.isCollapsed || tagAt(this.segments, beside) === null) return false;
    this.select(beside, beside + 1);
    return true;
  }

  /** @returns {boolean} whether there was a step to undo */
  undo() { return this.#step(this.#undo, this.#redo); }
  /** @returns {boolean} whether there was a step to redo */
  redo() { return this.#step(this.#redo, this.#undo); }

  #commit(next, merge = null, at = 0) {
    const now = this.#now();
    const { tag, at: before, end } = this.#merge;
    if (merge === null || tag !== merge || now - before > MERGE_MS || end !== at) this.#undo.push(this.#state);
    this.#merge = { tag: merge, at: now, end: next.focus };
    this.#redo = [];
    this.#state = freeze(next);
  }

  #step(from, to) {
    if (from.length === 0) return false;
    to.push(this.#state);
    this.#merge.tag = null;
    this.#state = from.pop();
    return true;
  }
}

/** One string for each position: a UTF-16 unit, or the objects of a tag. */
const units = (segments) => segments.flatMap((s) => (typeof s === 'string' ? s.split('') : [s.objects.join()]));

function freeze(state) {
  return Object.freeze({ ...state, segments: Object.freeze([...state.segments]) });
}
