/**
 * Draws the boxes of a store into an <svg> whose user units are photo pixels.
 *
 * Each box has one <g> for its whole life, so that it keeps focus.
 * White halo below, coloured stroke above; the number tab and the grips keep their size on screen
 * through the custom property --k (photo pixels per CSS pixel).
 *
 * @typedef {import('./geometry.js').Box} Box
 * @typedef {import('./geometry.js').Size} Size
 */
import { EDGES, clamp } from './geometry.js';
import { words } from './words.js';

const NS = 'http://www.w3.org/2000/svg';
const TAB_HEIGHT = 22;
const SMALL = 48;

/** @returns {SVGElement} */
export function svgElement(name, attributes = {}) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/**
 * Where the number tab of a box is drawn, in CSS pixels from the box's top left corner.
 * On the top edge; outside a small box; clear of the corner grip on a box that has one; never outside the photo.
 * @param {Box} box @param {string} label @param {number} k photo pixels per CSS pixel @param {Size} size
 * @param {boolean} [gripped] whether the box has grips now
 * @returns {{dx: number, dy: number, width: number, height: number}}
 */
export function tabPlace(box, label, k, size, gripped = false) {
  const width = 14 + 8 * label.length;
  const [left, top] = [box.left / k, box.top / k];
  const dx = clamp(-2, -left, Math.max(-left, size.width / k - left - width));
  const small = box.width / k < SMALL || box.height / k < SMALL;
  const above = TAB_HEIGHT + (gripped ? 9 : 2);
  if (!small && !gripped) return { dx, dy: -Math.min(12, top), width, height: TAB_HEIGHT };
  if (top >= above) return { dx, dy: -above, width, height: TAB_HEIGHT };
  if (!small) return { dx: 12, dy: 10, width, height: TAB_HEIGHT };
  const below = box.height / k + (gripped ? 9 : 2);
  const fits = top + below + TAB_HEIGHT <= size.height / k;
  return { dx, dy: fits ? below : -Math.min(12, top), width, height: TAB_HEIGHT };
}

/** Side of the area in which a grip can be pressed, in CSS pixels: with a mouse, and with a finger or pen. */
const PRESS_SIDE = Object.freeze({ fine: 24, coarse: 44 });
const GRIP = 5;

/**
 * The grips of a box at this zoom: their centres and the areas in which they can be pressed, in photo pixels.
 * Corners always; edge middles only if there is room between the corners. All are inside the photo, so that none is
 * cut off.
 * @param {boolean} [coarse] for a finger: larger areas, and so fewer edge middles
 * @returns {{edge: string, x: number, y: number, left: number, right: number, top: number, bottom: number}[]}
 */
export function gripPlaces(box, k, size, coarse = false) {
  const reach = (coarse ? PRESS_SIDE.coarse : PRESS_SIDE.fine) * k;
  const [wide, high] = [box.width >= 2 * reach, box.height >= 2 * reach];
  return EDGES.filter((edge) => edge.length === 2 || (edge === 'n' || edge === 's' ? wide : high)).map((edge) => {
    const across = alongAxis(box.left, box.width, edge.includes('e') - edge.includes('w'), size.width, k, reach);
    const down = alongAxis(box.top, box.height, edge.includes('s') - edge.includes('n'), size.height, k, reach);
    return { edge, x: across.at, y: down.at, left: across.from, right: across.to, top: down.from, bottom: down.to };
  });
}

// One axis of a grip at the start (-1), the end (+1) or the middle (0) of a box. Its area extends equally inwards and
// outwards, but leaves the inside of a small box free for moving it, and extends further inwards at the photo's edge.
function alongAxis(start, length, side, most, k, reach) {
  const inset = Math.min(GRIP * k, most / 2);
  const at = clamp(start + (length * (side + 1)) / 2, inset, most - inset);
  if (side === 0) return { at, from: at - reach / 2, to: at + reach / 2 };
  const inner = Math.min(reach / 2, length / 4);
  const outer = Math.min(reach - inner, side < 0 ? start : most - start - length);
  const inward = Math.max(inner, Math.min(reach - outer, length * 0.4));
  return side < 0 ? { at, from: start - outer, to: start + inward } : { at, from: start + length - inward, to: start + length + outer };
}

/**
 * The grip that a press takes: the nearest one whose area contains the point.
 * @param {ReturnType<typeof gripPlaces>} places @param {{x: number, y: number}} point photo pixels
 */
export function gripAt(places, { x, y }) {
  const far = (p) => Math.hypot(p.x - x, p.y - y);
  const near = places.filter((p) => x >= p.left && x <= p.right && y >= p.top && y <= p.bottom);
  return near.sort((a, b) => far(a) - far(b))[0] ?? null;
}

export class BoxView {
  #groups = new Map();
  #draft = { box: null, id: null, obs: null };
  #k = 1;
  #coarse = globalThis.matchMedia?.('(pointer: coarse)').matches ?? false;

  /**
   * @param {SVGSVGElement} svg with viewBox "0 0 width height" of the photo
   * @param {import('./store.js').BoxStore} store
   * @param {{readOnly?: boolean}} [options] read-only: no grips, no tab stops, nothing follows the pointer
   */
  constructor(svg, store, { readOnly = false } = {}) {
    this.svg = svg;
    this.store = store;
    this.readOnly = readOnly;
    this.boxLayer = svgElement('g', { class: 'box-layer' });
    this.draftLayer = svgElement('g', { class: 'box-layer', 'aria-hidden': 'true' });
    this.gripLayer = svgElement('g', { class: 'grip-layer', 'aria-hidden': 'true' });
    svg.append(this.boxLayer, this.draftLayer, this.gripLayer);
    for (const type of ['change', 'select', 'active']) store.addEventListener(type, () => this.render());
    if (!readOnly) {
      this.boxLayer.addEventListener('focusin', (e) => {
        const id = this.idOf(e.target);
        if (id !== undefined) store.select(id);
      });
    }
    this.render();
  }

  /** Sets how many photo pixels one CSS pixel covers. */
  setScale(k) {
    this.#k = k;
    this.render();
  }

  /** Shows the box of a drag in progress; a null box ends it. */
  setDraft(draft) {
    const touched = new Set([this.#draft.id, draft.id]);
    this.#draft = draft;
    // Redraws only the dragged box: redrawing fifty boxes at each move would be slow.
    for (const id of touched) if (this.store.get(id)) this.#draw(this.store.get(id));
    this.#drawDraft();
    this.#drawGrips();
  }

  /** @returns {number|undefined} id of the box that an element belongs to */
  idOf(element) {
    const id = element?.closest?.('[data-id]')?.getAttribute('data-id');
    return id === null || id === undefined ? undefined : Number(id);
  }

  /**
   * @param {{x: number, y: number}} point photo pixels @param {boolean} coarse whether a finger or a pen presses there
   * @returns {{edge?: string, onGrip?: boolean}} the grip of the selected box that a press takes there, and whether
   *   the press is on the drawn grip
   */
  grip(point, coarse) {
    const { selected } = this.store;
    if (!selected || this.readOnly) return {};
    // A finger on a screen that is mainly used with a mouse gets the drawn grips, with larger areas.
    const drawn = new Set(this.#places(selected).map((p) => p.edge));
    const found = gripAt(gripPlaces(selected, this.#k, this.store.size, coarse).filter((p) => drawn.has(p.edge)), point);
    if (!found) return {};
    return { edge: found.edge, onGrip: Math.hypot(found.x - point.x, found.y - point.y) <= 8 * this.#k };
  }

  #places(box) { return gripPlaces(box, this.#k, this.store.size, this.#coarse); }

  /** @returns {DOMRect|null} where a box is on the screen */
  rectOf(id) { return this.#groups.get(id)?.querySelector('.line').getBoundingClientRect() ?? null; }

  /** Puts keyboard focus on a box (or the photo if there is no such box). */
  focusBox(id) { (this.#groups.get(id) ?? this.svg).focus({ preventScroll: true }); }

  /** Updates the drawing from the store. */
  render() {
    const { boxes } = this.store;
    const alive = new Set(boxes.map((b) => b.id));
    for (const [id, group] of this.#groups) if (!alive.has(id)) this.#drop(id, group);
    for (const box of boxes) this.#draw(box);
    this.#drawDraft();
    this.#drawGrips();
  }

  #drop(id, group) {
    const focused = group.contains(document.activeElement);
    group.remove();
    this.#groups.delete(id);
    if (focused) this.svg.focus({ preventScroll: true });
  }

  #draw(stored) {
    const box = this.#draft.box && this.#draft.id === stored.id ? { ...stored, ...this.#draft.box } : stored;
    const label = this.store.label(stored);
    let group = this.#groups.get(stored.id);
    if (!group) {
      group = boxGroup();
      this.#groups.set(stored.id, group);
      this.boxLayer.append(group);
    }
    const { active, selectedId } = this.store;
    const on = stored.id === selectedId;
    const dim = active !== null && stored.obs !== active && !on;
    group.setAttribute('class', `box obs obs-${stored.obs}${on ? ' box--on' : ''}${dim ? ' box--dim' : ''}`);
    group.setAttribute('data-id', String(stored.id));
    group.setAttribute('aria-label', words.boxName(label, box));
    if (!this.readOnly) group.setAttribute('tabindex', active === null || stored.obs === active || on ? '0' : '-1');
    shapeGroup(group, box, label, this.#k, this.store.size, on && !this.readOnly);
  }

  #drawDraft() {
    const { box, id, obs } = this.#draft;
    if (!box || id !== null) {
      this.draftLayer.replaceChildren();
      return;
    }
    const group = this.draftLayer.firstChild ?? this.draftLayer.appendChild(boxGroup());
    group.setAttribute('class', obs === null ? 'box box--refused' : `box box--draft obs obs-${obs}`);
    shapeGroup(group, box, obs === null ? '?' : String(obs), this.#k, this.store.size);
  }

  #drawGrips() {
    const { selected } = this.store;
    if (this.readOnly || !selected || (this.#draft.box && this.#draft.id === null)) {
      this.gripLayer.replaceChildren();
      return;
    }
    const box = this.#draft.id === selected.id && this.#draft.box ? this.#draft.box : selected;
    this.gripLayer.setAttribute('class', `grip-layer obs obs-${selected.obs}`);
    const places = this.#places(box);
    const same = places.map((p) => p.edge).join() === [...this.gripLayer.children].map((g) => g.getAttribute('data-edge')).join();
    if (!same) this.gripLayer.replaceChildren(...places.map(gripGroup));
    places.forEach((place, i) => this.#placeGrip(this.gripLayer.children[i], place));
  }

  #placeGrip(group, { x, y, left, right, top, bottom }) {
    group.setAttribute('transform', `translate(${x} ${y})`);
    const area = { x: left - x, y: top - y, width: right - left, height: bottom - top };
    // The area is scaled with the grip, so it is set in CSS pixels.
    for (const [name, value] of Object.entries(area)) group.firstChild.setAttribute(name, String(value / this.#k));
  }
}

function boxGroup() {
  const group = svgElement('g', { role: 'img' });
  const tab = svgElement('g', { class: 'tag' });
  tab.append(svgElement('path'), svgElement('text'));
  const anchor = svgElement('g');
  anchor.append(tab);
  group.append(svgElement('rect', { class: 'halo', rx: 2 }), svgElement('rect', { class: 'line hit', rx: 2 }), anchor);
  return group;
}

function shapeGroup(group, box, label, k, size, gripped = false) {
  const [halo, line, anchor] = group.children;
  for (const rect of [halo, line]) {
    rect.setAttribute('x', String(box.left));
    rect.setAttribute('y', String(box.top));
    rect.setAttribute('width', String(box.width));
    rect.setAttribute('height', String(box.height));
  }
  const tab = tabPlace(box, label, k, size, gripped);
  anchor.setAttribute('transform', `translate(${box.left} ${box.top})`);
  const [path, text] = anchor.firstChild.children;
  path.setAttribute('d', `M${tab.dx} ${tab.dy}h${tab.width}v${tab.height}h${-tab.width}z`);
  text.setAttribute('x', String(tab.dx + tab.width / 2));
  text.setAttribute('y', String(tab.dy + 16));
  if (text.textContent !== label) text.textContent = label;
}

function gripGroup({ edge }) {
  const group = svgElement('g', { class: `handle handle--${edge}`, 'data-edge': edge });
  group.append(
    svgElement('rect', { class: 'grab' }),
    svgElement('rect', { class: 'grip', x: -GRIP, y: -GRIP, width: 2 * GRIP, height: 2 * GRIP, rx: 2 }));
  return group;
}
