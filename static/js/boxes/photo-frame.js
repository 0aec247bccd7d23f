/** A photo with zoom: buttons, keys, wheel, mouse and fingers enlarge and move it, without drawing. */
import { Fingers } from './fingers.js';
import { Zoom, wheelScale } from './zoom.js';

const KEYS = { '+': 'in', '=': 'in', '-': 'out', '0': 'fit' };
/** CSS pixels after which a press is a drag. */
const DRAG = 4;

export class PhotoFrame {
  #from = null;
  #dragged = false;

  /**
   * @param {HTMLElement} frame scroll container of one <svg>, whose viewBox is the photo's size
   * @param {() => number} roomHeight the photo's maximum height in CSS pixels
   * @param {(zoom: Zoom) => void} onZoom
   * @param {{pressable?: boolean}} [options] pressable: a click on the photo means something, so a double click does not
   *   zoom, and two fingers do (with touch-action: none on the photo)
   */
  constructor(frame, roomHeight, onZoom, { pressable = false } = {}) {
    const svg = frame.querySelector('svg');
    const { width, height } = svg.viewBox.baseVal;
    this.frame = frame;
    this.zoom = new Zoom(frame, svg, { width, height }, roomHeight);
    this.zoom.addEventListener('zoom', () => onZoom(this.zoom));
    this.#keys();
    this.#wheel();
    this.#drag(svg, pressable);
    if (pressable) this.#pinch(svg);
    else svg.addEventListener('dblclick', (e) => (this.zoom.fitting ? this.zoom.to(this.zoom.scale * 2.5, { x: e.clientX, y: e.clientY }) : this.zoom.fit()));
  }

  get size() { return this.zoom.size; }

  /** @param {'in'|'out'|'fit'|'one'} name */
  run(name) {
    if (name === 'one') this.zoom.to(1);
    else this.zoom[name]();
  }

  // The browser scrolls the focused frame by arrow keys.
  #keys() {
    this.frame.addEventListener('keydown', (e) => {
      const name = KEYS[e.key];
      if (!name || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      this.run(name);
    });
  }

  #wheel() {
    this.frame.addEventListener('wheel', (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      this.zoom.to(wheelScale(this.zoom.scale, e), { x: e.clientX, y: e.clientY });
    }, { passive: false });
  }

  // A mouse drags the photo, and so does a finger if the browser leaves touch to the page.
  #drag(svg, fingers) {
    svg.addEventListener('pointerdown', (e) => {
      this.#dragged = false;
      if (e.button !== 0 || (e.pointerType !== 'mouse' && !fingers)) return;
      this.#from = { id: e.pointerId, x: e.clientX, y: e.clientY };
    });
    svg.addEventListener('pointermove', (e) => {
      if (this.#from?.id !== e.pointerId) return;
      const [dx, dy] = [e.clientX - this.#from.x, e.clientY - this.#from.y];
      if (!this.#dragged && Math.hypot(dx, dy) < DRAG) return;
      if (!this.#dragged) svg.setPointerCapture(e.pointerId);
      this.#dragged = true;
      // A photo that is not enlarged cannot be moved: a finger moves the page.
      if (this.zoom.fitting && e.pointerType !== 'mouse') window.scrollBy(0, -dy);
      else this.zoom.pan(dx, dy);
      this.#from = { id: e.pointerId, x: e.clientX, y: e.clientY };
    });
    for (const type of ['pointerup', 'pointercancel']) svg.addEventListener(type, () => { this.#from = null; });
    // A drag ends with a click, which is no press.
    svg.addEventListener('click', (e) => this.#dragged && e.stopImmediatePropagation(), { capture: true });
  }

  #pinch(svg) {
    const fingers = new Fingers();
    let start = null;
    const touches = (run) => (e) => e.pointerType === 'touch' && run(e);
    svg.addEventListener('pointerdown', touches((e) => {
      fingers.down(e);
      if (!fingers.begins) return;
      const { middle, span } = fingers.shape;
      start = { span, scale: this.zoom.scale, share: this.zoom.shareAt(middle) };
      this.#from = null;
      this.#dragged = true;
    }));
    svg.addEventListener('pointermove', touches((e) => {
      if (!fingers.move(e) || !start) return;
      const { middle, span } = fingers.shape;
      this.zoom.hold((start.scale * span) / start.span, start.share, middle);
    }));
    for (const type of ['pointerup', 'pointercancel']) svg.addEventListener(type, touches((e) => fingers.up(e)));
  }
}
