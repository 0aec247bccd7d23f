/**
 * From pointer events to boxes. Knows the store and a few callbacks, not the drawing.
 *
 * - Press on a grip: resize. Press inside the selected box: move. Anywhere else: draw for the open card,
 *   so that a box can be drawn inside another one.
 * - A press without a drag selects the smallest box under it; pressing again goes to the next one there.
 * - The pointer is captured. Released outside a cross-origin frame no pointerup arrives: the next
 *   pointermove with no button down, or the loss of capture, ends the drag and keeps the box.
 * - A second finger takes the drag back (and is free for panning and zooming).
 *
 * Events: `draft` {box, id, obs} while dragging (box null when it is over), `refuse` {reason}, `pan` {dx, dy}.
 *
 * @typedef {import('./geometry.js').Box} Box
 * @typedef {import('./geometry.js').Point} Point
 */
import { area, bigEnough, contains, fromCorners, move, resize } from './geometry.js';

/** CSS pixels a pointer may tremble during a press. */
export const SLACK = 4;

/**
 * The box a press selects: smallest first, and one further if one of them is selected already.
 * @param {readonly import('./store.js').StoredBox[]} boxes @param {Point} point @param {number|null} selectedId
 * @returns {number|null} id
 */
export function pick(boxes, point, selectedId) {
  const under = boxes.filter((b) => contains(b, point)).sort((a, b) => area(a) - area(b) || b.id - a.id);
  if (under.length === 0) return null;
  const at = under.findIndex((b) => b.id === selectedId);
  return under[(at + 1) % under.length].id;
}

export class BoxTool extends EventTarget {
  #drag = null;
  #listeners = new AbortController();

  /**
   * @param {EventTarget} surface the svg
   * @param {import('./store.js').BoxStore} store
   * @param {{point: (event: any) => Point, target: (event: any) => {edge?: string, id?: number},
   *   focus?: () => void}} view how an event maps to photo pixels and to grips and boxes
   */
  constructor(surface, store, view) {
    super();
    this.surface = surface;
    this.store = store;
    this.view = view;
    this.mode = 'draw';
    this.enabled = true;
    const on = (type, handler) => surface.addEventListener(type, handler, { signal: this.#listeners.signal });
    on('pointerdown', (e) => this.#down(e));
    on('pointermove', (e) => this.#move(e));
    on('pointerup', (e) => this.#up(e));
    on('pointercancel', (e) => this.#drag?.pointerId === e.pointerId && this.cancel());
    on('lostpointercapture', (e) => this.#drag?.pointerId === e.pointerId && this.finish());
    // The browser's own mouse handling would focus the box pressed on; focus is set on purpose instead.
    on('mousedown', (e) => e.preventDefault());
  }

  /** @returns {boolean} whether a drag is on */
  get busy() { return this.#drag !== null; }

  /** Takes all listeners off. */
  destroy() { this.#listeners.abort(); this.#drag = null; }

  /** Ends a drag and keeps its box; called on submit too. */
  finish() {
    const drag = this.#drag;
    if (!drag) return;
    this.#end(drag);
    if (drag.kind === 'pan') return;
    if (!drag.moved) this.store.select(drag.tag ?? pick(this.store.boxes, drag.start, this.store.selectedId));
    else if (drag.kind === 'draw') this.#finishDrawing(drag);
    else this.store.replace(drag.id, drag.box);
  }

  /** Ends a drag and leaves everything as it was. */
  cancel() {
    if (this.#drag) this.#end(this.#drag);
  }

  #end(drag) {
    this.#drag = null;
    this.#emit('draft', { box: null, id: null, obs: null });
    if (this.surface.hasPointerCapture?.(drag.pointerId)) this.surface.releasePointerCapture(drag.pointerId);
  }

  #finishDrawing(drag) {
    if (drag.obs === null) this.#emit('refuse', { reason: 'no-card' });
    else if (!bigEnough(drag.box, this.store.size, this.store.min)) this.#emit('refuse', { reason: 'too-small' });
    else if (!this.store.hasRoom(drag.obs)) this.#emit('refuse', { reason: 'too-many' });
    else this.store.add(drag.obs, drag.box);
  }

  #down(event) {
    if (!this.enabled) return;
    if (this.#drag) {
      if (event.pointerId !== this.#drag.pointerId) this.cancel();
      return;
    }
    if (event.button !== 0 || event.isPrimary === false) return;
    this.#drag = this.#begin(event);
    this.surface.setPointerCapture?.(event.pointerId);
    this.view.focus?.();
    event.preventDefault();
  }

  #begin(event) {
    const start = this.view.point(event);
    const hit = this.view.target(event);
    const selected = this.store.selected;
    const drag = {
      pointerId: event.pointerId, start, client: { x: event.clientX, y: event.clientY }, moved: false,
      obs: this.store.active, id: null, edge: null, from: null, box: null, tag: null, kind: 'draw',
    };
    if (this.mode === 'pan') return { ...drag, kind: 'pan' };
    if (selected && hit.edge) return { ...drag, kind: 'resize', edge: hit.edge, id: selected.id, obs: selected.obs, from: selected, tag: selected.id };
    const grabbed = selected && (contains(selected, start) || hit.id === selected.id);
    if (grabbed) return { ...drag, kind: 'move', id: selected.id, obs: selected.obs, from: selected };
    // A number tab may stand outside its box: a press on it selects that box.
    const outside = hit.id !== undefined && !this.store.boxes.some((b) => contains(b, start));
    return { ...drag, tag: outside ? hit.id : null };
  }

  #move(event) {
    const drag = this.#drag;
    if (!drag || event.pointerId !== drag.pointerId) return;
    if (event.type === 'pointermove' && event.buttons === 0) {
      this.finish();
      return;
    }
    const [dx, dy] = [event.clientX - drag.client.x, event.clientY - drag.client.y];
    if (drag.kind === 'pan') {
      drag.client = { x: event.clientX, y: event.clientY };
      this.#emit('pan', { dx, dy });
      return;
    }
    if (!drag.moved && Math.max(Math.abs(dx), Math.abs(dy)) < SLACK) return;
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
    if (!this.#drag || event.pointerId !== this.#drag.pointerId) return;
    this.#move(event);
    this.finish();
  }

  #emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
