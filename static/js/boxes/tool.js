/**
 * Turns pointer events into boxes. It uses the store and a few callbacks; BoxView draws.
 *
 * - Press on a grip: resize. Press inside the selected box: move. Anywhere else: draw for the open card,
 *   so that a box can be drawn inside another one. In pan mode, with the space bar or the middle button: move the photo.
 * - A press without a drag selects the smallest box under it; pressing again goes to the next one there.
 * - The pointer is captured. A release outside a cross-origin frame sends no pointerup: then the
 *   next pointermove without the drag's button, or the loss of capture, ends the drag and keeps the box.
 * - A second finger cancels the drag; the two fingers then move and zoom the photo about their middle. A third is
 *   ignored. Nothing is drawn until all fingers are lifted.
 *
 * Events: `draft` {box, id, obs} while dragging (box null when it is over), `refuse` {reason}, `pan` {dx, dy},
 * `pick` {id, at, count} after a press, `pinch` {phase: 'start'|'move'|'end', middle, span}.
 *
 * @typedef {import('./geometry.js').Box} Box
 * @typedef {import('./geometry.js').Point} Point
 */
import { area, bigEnough, contains, fromCorners, move, resize, withMargin } from './geometry.js';
import { Fingers } from './fingers.js';

/** CSS pixels that a pointer may move in a press without starting a drag: a mouse or pen, and a finger. */
export const SLACK = 4;
export const TOUCH_SLACK = 8;

const DRAW_BUTTON = 0;
const PAN_BUTTON = 1;
/** The bit of each `button` in `buttons`, which has another order. */
const BIT = { [DRAW_BUTTON]: 1, [PAN_BUTTON]: 4 };

/**
 * The boxes that a press can select, smallest first: those under it, or else those within `slack` of it.
 * @param {readonly import('./store.js').StoredBox[]} boxes @param {Point} point @param {number} [slack] photo pixels
 */
export function boxesAt(boxes, point, slack = 0) {
  const under = boxes.filter((b) => contains(b, point));
  const found = under.length || !slack ? under : boxes.filter((b) => contains(withMargin(b, slack), point));
  return found.sort((a, b) => area(a) - area(b) || b.id - a.id);
}

/**
 * The box that a press selects: the smallest one, or the next one if one of them is selected already.
 * @param {readonly import('./store.js').StoredBox[]} boxes @param {Point} point @param {number|null} selectedId
 * @returns {number|null} id
 */
export function pick(boxes, point, selectedId, slack = 0) {
  const under = boxesAt(boxes, point, slack);
  if (under.length === 0) return null;
  const at = under.findIndex((b) => b.id === selectedId);
  return under[(at + 1) % under.length].id;
}

const isTouch = (event) => event.pointerType === 'touch';
const client = (event) => ({ x: event.clientX, y: event.clientY });

export class BoxTool extends EventTarget {
  #drag = null;
  #fingers = new Fingers();
  #listeners = new AbortController();

  /**
   * @param {EventTarget} surface what the pointers act on
   * @param {import('./store.js').BoxStore} store
   * @param {{point: (event: any) => Point, target: (event: any) => {edge?: string, id?: number, onGrip?: boolean, off?: boolean},
   *   focus?: () => void}} view how an event maps to photo pixels, to grips (onGrip: on the grip itself, not only
   *   near it) and to boxes; off: it is on a scroll bar or the like
   */
  constructor(surface, store, view) {
    super();
    this.surface = surface;
    this.store = store;
    this.view = view;
    this.mode = 'draw';
    this.enabled = true;
    /** whether the space bar is held, which pans */
    this.held = false;
    const on = (type, handler) => surface.addEventListener(type, handler, { signal: this.#listeners.signal });
    on('pointerdown', (e) => this.#down(e));
    on('pointermove', (e) => this.#move(e));
    on('pointerup', (e) => this.#up(e));
    on('pointercancel', (e) => this.#lost(e, () => this.cancel()));
    on('lostpointercapture', (e) => e.target === surface && this.#lost(e, () => this.finish()));
    // The browser's own mouse handling would focus the pressed box; `view.focus` sets focus instead.
    on('mousedown', (e) => this.view.target(e).off || e.preventDefault());
    // A long press, or the other button during a drag, would open a menu over the drag.
    on('contextmenu', (e) => (this.busy || isTouch(e)) && e.preventDefault());
  }

  /** @returns {boolean} whether a drag is in progress */
  get busy() { return this.#drag !== null; }
  /** @returns {boolean} whether a press moves the photo */
  get panning() { return this.mode === 'pan' || this.held; }

  /** Removes all listeners. */
  destroy() { this.#listeners.abort(); this.#drag = null; }

  /** Ends a drag and keeps its box; called on submit too, and when the window loses the pointer. */
  finish() {
    const drag = this.#drag;
    if (!drag) return;
    this.#end(drag);
    if (drag.kind === 'pan') return;
    if (!drag.moved) this.#press(drag);
    else if (drag.kind === 'draw') this.#finishDrawing(drag);
    else this.store.replace(drag.id, drag.box);
  }

  /** Ends a drag without a change. */
  cancel() {
    if (this.#drag) this.#end(this.#drag);
  }

  /** Ends the drag and forgets the fingers: the window lost focus. */
  release() {
    this.finish();
    if (this.#fingers.pair) this.#emit('pinch', { phase: 'end' });
    this.#fingers.clear();
  }

  #end(drag, { release = true } = {}) {
    this.#drag = null;
    this.#emit('draft', { box: null, id: null, obs: null });
    if (release && this.surface.hasPointerCapture?.(drag.pointerId)) this.surface.releasePointerCapture(drag.pointerId);
  }

  #press(drag) {
    const under = boxesAt(this.store.boxes, drag.start, drag.miss);
    const id = drag.tag ?? pick(this.store.boxes, drag.start, this.store.selectedId, drag.miss);
    this.store.select(id);
    this.#emit('pick', { id, at: under.findIndex((b) => b.id === id) + 1, count: under.length });
  }

  #finishDrawing(drag) {
    if (drag.obs === null) this.refuse('no-card');
    else if (!bigEnough(drag.box, this.store.size, this.store.min)) this.refuse('too-small');
    else if (!this.store.hasRoom(drag.obs)) this.refuse('too-many');
    else this.store.add(drag.obs, drag.box);
  }

  /** Reports why no box was added; keyboard commands use it too. @param {'no-card'|'too-small'|'too-many'} reason */
  refuse(reason) { this.#emit('refuse', { reason }); }

  #down(event) {
    if (!this.enabled || this.view.target(event).off) return;
    if (isTouch(event) && this.#finger(event)) return;
    // The same pointer is pressed again: its release was missed.
    if (this.#drag?.pointerId === event.pointerId) this.finish();
    if (this.#drag) {
      // A second pointer of the same type cancels the drag; one of another type, such as a palm beside a pen, does not.
      if (event.pointerType === this.#drag.pointerType) this.cancel();
      return;
    }
    if (!(event.button in BIT) || event.isPrimary === false) return;
    this.#drag = this.#begin(event);
    this.surface.setPointerCapture?.(event.pointerId);
    this.view.focus?.();
    event.preventDefault();
  }

  /** @returns {boolean} whether this finger is one of several, and so draws nothing */
  #finger(event) {
    this.#fingers.down(event);
    if (!this.#fingers.several) return false;
    event.preventDefault();
    if (!this.#fingers.begins) return true;
    // The first finger stays captured: it becomes one of the pair.
    if (this.#drag) this.#end(this.#drag, { release: false });
    for (const id of this.#fingers.pair) this.surface.setPointerCapture?.(id);
    this.#emit('pinch', { phase: 'start', ...this.#fingers.shape });
    return true;
  }

  #begin(event) {
    const start = this.view.point(event);
    const hit = this.view.target(event);
    const { selected } = this.store;
    const drag = {
      pointerId: event.pointerId, pointerType: event.pointerType, bit: BIT[event.button], start, client: client(event), moved: false,
      slack: isTouch(event) ? TOUCH_SLACK : SLACK, miss: this.#photoPixels(event) * (isTouch(event) ? 12 : 3),
      obs: this.store.active, id: null, edge: null, from: null, box: null, tag: null, kind: 'draw',
    };
    if (this.panning || event.button === PAN_BUTTON) return { ...drag, kind: 'pan' };
    if (selected && hit.edge) {
      const tag = hit.onGrip === false ? null : selected.id;
      return { ...drag, kind: 'resize', edge: hit.edge, id: selected.id, obs: selected.obs, from: selected, tag };
    }
    const grabbed = selected && (contains(selected, start) || hit.id === selected.id);
    if (grabbed) return { ...drag, kind: 'move', id: selected.id, obs: selected.obs, from: selected };
    // A number tab may be outside its box: a press on it selects that box.
    const outside = hit.id !== undefined && !this.store.boxes.some((b) => contains(b, start));
    return { ...drag, tag: outside ? hit.id : null };
  }

  // Photo pixels that one CSS pixel covers.
  #photoPixels(event) {
    const beside = { clientX: event.clientX + 1, clientY: event.clientY };
    return Math.abs(this.view.point(beside).x - this.view.point(event).x);
  }

  #move(event) {
    if (this.#fingers.move(event)) {
      this.#emit('pinch', { phase: 'move', ...this.#fingers.shape });
      return;
    }
    const drag = this.#drag;
    if (!drag || event.pointerId !== drag.pointerId) return;
    if (event.type === 'pointermove' && !(event.buttons & drag.bit)) {
      this.finish();
      return;
    }
    const [dx, dy] = [event.clientX - drag.client.x, event.clientY - drag.client.y];
    if (drag.kind === 'pan') {
      drag.client = client(event);
      this.#emit('pan', { dx, dy });
      return;
    }
    if (!drag.moved && Math.max(Math.abs(dx), Math.abs(dy)) < drag.slack) return;
    drag.moved = true;
    drag.box = this.#shape(drag, this.view.point(event));
    this.#emit('draft', { box: drag.box, id: drag.id, obs: drag.obs });
  }

  #shape(drag, at) {
    const { start, from, edge } = drag;
    const { size, min } = this.store;
    if (drag.kind === 'move') return move(from, at.x - start.x, at.y - start.y, size);
    if (drag.kind === 'resize') return resize(from, edge, at.x - start.x, at.y - start.y, size, min);
    return fromCorners(start.x, start.y, at.x, at.y, size);
  }

  #up(event) {
    if (this.#lift(event)) return;
    if (!this.#drag || event.pointerId !== this.#drag.pointerId) return;
    this.#move(event);
    this.finish();
  }

  #lost(event, end) {
    if (!this.#lift(event) && this.#drag?.pointerId === event.pointerId) end();
  }

  /** @returns {boolean} whether the pointer was one of several fingers */
  #lift(event) {
    const paired = this.#fingers.pair !== null;
    const several = this.#fingers.up(event);
    if (paired && this.#fingers.pair === null) this.#emit('pinch', { phase: 'end' });
    return several;
  }

  #emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
