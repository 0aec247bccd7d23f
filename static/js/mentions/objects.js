/**
 * The photo with its numbered objects: outlines, or boxes where there is none. A press picks an object; another press at
 * the same place picks the next of several that overlap there.
 *
 * @typedef {{left: number, top: number, width: number, height: number}} Box
 * @typedef {{name: string, box: Box, polygons: [number, number][][]}} DetectedObject
 */
import { area, contains } from '../boxes/geometry.js';
import { toImage } from '../boxes/transform.js';
import { svgElement } from '../boxes/view.js';
import { colourOf } from './chip.js';

const TAB = { height: 22, letter: 9, pad: 13 };
const SAME_PLACE = 12; // CSS pixels

/** @returns {boolean} whether a point is inside a polygon (even-odd rule) */
export function isInside(polygon, { x, y }) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [[ax, ay], [bx, by]] = [polygon[i], polygon[j]];
    if ((ay > y) !== (by > y) && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

const areaOf = ({ box }) => area(box);

/**
 * @param {DetectedObject[]} objects @param {{x: number, y: number}} point photo pixels
 * @returns {number[]} the objects at a point: first those whose outline contains it, the smallest first, then those whose
 *   box does
 */
export function objectsAt(objects, point) {
  const order = objects.map((_, index) => index).filter((index) => contains(objects[index].box, point));
  const isHit = (index) => !objects[index].polygons.length || objects[index].polygons.some((polygon) => isInside(polygon, point));
  return order.sort((a, b) => isHit(b) - isHit(a) || areaOf(objects[a]) - areaOf(objects[b]) || a - b);
}

/**
 * Where the number of each object stands, in photo pixels: at a corner of its box, at its middle where all are taken.
 * @param {number} k photo pixels per CSS pixel @param {{width: number, height: number}} size of the photo
 * @returns {{x: number, y: number, width: number, height: number}[]} left upper corners and sizes
 */
export function placeNumbers(objects, k, size) {
  const chosen = [];
  const order = objects.map((_, index) => index).sort((a, b) => areaOf(objects[a]) - areaOf(objects[b]));
  for (const index of order) {
    const { left, top, width, height } = objects[index].box;
    const [w, h] = [(TAB.pad + TAB.letter * String(index + 1).length) * k, TAB.height * k];
    const corners = [[left, top], [left + width - w, top], [left, top + height - h], [left + width - w, top + height - h],
      [left + (width - w) / 2, top + (height - h) / 2], [left, top - h], [left + width, top]];
    const places = corners.map(([x, y]) => ({ x: Math.min(Math.max(x, 0), size.width - w), y: Math.min(Math.max(y, 0), size.height - h), width: w, height: h }));
    chosen[index] = places.find((place) => !Object.values(chosen).some((other) => overlaps(place, other))) ?? places[0];
  }
  return chosen;
}

const overlaps = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

export class ObjectPhoto {
  #groups;
  #press = null;

  /**
   * @param {SVGSVGElement} svg with the photo, in photo pixels @param {DetectedObject[]} objects
   * @param {{pick: (object: number, at: number, count: number, again: boolean) => void, point: (object: number|null) => void}} page
   *   pick: an object was pressed, the `at`-th of `count` at that place; again: in place of the one pressed before
   */
  constructor(svg, objects, { pick, point }) {
    Object.assign(this, { svg, objects, pick, point });
    const { width, height } = svg.viewBox.baseVal;
    this.size = { width, height };
    // Small objects are drawn last, so that a large one does not cover them.
    const order = objects.map((_, index) => index).sort((a, b) => areaOf(objects[b]) - areaOf(objects[a]));
    this.#groups = objects.map((object, index) => groupOf(object, index));
    svg.append(...order.map((index) => this.#groups[index].shape), ...order.map((index) => this.#groups[index].tab));
    this.#listen();
  }

  /** Sets how many photo pixels one CSS pixel covers: numbers keep their size on the screen. */
  setScale(k) {
    placeNumbers(this.objects, k, this.size).forEach((place, index) => {
      const { tab } = this.#groups[index];
      const [path, text] = tab.children;
      path.setAttribute('d', `M${place.x} ${place.y}h${place.width}v${place.height}h${-place.width}z`);
      text.setAttribute('transform', `translate(${place.x + place.width / 2} ${place.y + 16 * k}) scale(${k})`);
    });
  }

  /** Shows the outlines of all objects, or of the lit one alone. */
  showAll(on) { this.svg.classList.toggle('objects--all', on); }

  /** Lights objects. @param {number[]} lit */
  light(lit) {
    this.#groups.forEach(({ shape, tab }, index) => {
      for (const part of [shape, tab]) part.classList.toggle('object--on', lit.includes(index));
    });
    this.svg.classList.toggle('objects--lit', lit.length > 0);
  }

  /** Forgets where the last press was: the next one picks the first object at its place. */
  forget() { this.#press = null; }

  #listen() {
    const { svg } = this;
    // A press must not take focus from the text that is written.
    svg.addEventListener('mousedown', (e) => e.preventDefault());
    svg.addEventListener('click', (e) => this.#pressed(e));
    svg.addEventListener('pointermove', (e) => e.pointerType !== 'touch' && this.point(this.#at(e)[0] ?? null));
    svg.addEventListener('pointerleave', () => this.point(null));
  }

  /** @returns {number[]} the objects under the pointer; a number's own object comes first */
  #at(event) {
    const found = objectsAt(this.objects, toImage(event.clientX, event.clientY, this.svg.getBoundingClientRect(), this.size));
    const tab = event.target.closest?.('[data-tab]');
    if (!tab) return found;
    const own = Number(tab.dataset.tab);
    return [own, ...found.filter((object) => object !== own)];
  }

  #pressed(event) {
    const found = this.#at(event);
    if (!found.length) return;
    const before = this.#press;
    const again = before !== null && Math.hypot(event.clientX - before.x, event.clientY - before.y) < SAME_PLACE
      && before.found.length > 1 && String(found) === String(before.found);
    const at = again ? (before.at + 1) % found.length : 0;
    this.#press = { x: event.clientX, y: event.clientY, found, at };
    this.pick(found[at], at + 1, found.length, again);
  }
}

function groupOf({ box, polygons }, index) {
  const outline = polygons.length
    ? { tag: 'path', attributes: { d: polygons.map((points) => `M${points.map((point) => point.join(' ')).join('L')}Z`).join('') } }
    : { tag: 'rect', attributes: { x: box.left, y: box.top, width: box.width, height: box.height, rx: 2 } };
  const shape = svgElement('g', { class: `object ${colourOf(index)}`, 'data-object': index });
  for (const name of ['object-halo', 'object-line']) shape.append(svgElement(outline.tag, { class: name, ...outline.attributes }));
  const tab = svgElement('g', { class: `object-tab ${colourOf(index)}`, 'data-tab': index });
  const text = svgElement('text', {});
  text.textContent = String(index + 1);
  tab.append(svgElement('path', {}), text);
  return { shape, tab };
}
