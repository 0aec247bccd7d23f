/** A photo with zoom: buttons, keys, wheel and mouse enlarge and move it, without drawing. */
import { Zoom, wheelScale } from '../js/boxes/zoom.js';

const KEYS = { '+': 'in', '=': 'in', '-': 'out', '0': 'fit' };

export class PhotoFrame {
  #from = null;

  /**
   * @param {HTMLElement} frame scroll container of one <svg>, whose viewBox is the photo's size
   * @param {() => number} roomHeight the photo's maximum height in CSS pixels
   * @param {(zoom: Zoom) => void} onZoom
   */
  constructor(frame, roomHeight, onZoom) {
    const svg = frame.querySelector('svg');
    const { width, height } = svg.viewBox.baseVal;
    this.frame = frame;
    this.zoom = new Zoom(frame, svg, { width, height }, roomHeight);
    this.zoom.addEventListener('zoom', () => onZoom(this.zoom));
    this.#keys();
    this.#wheel(svg);
    this.#drag(svg);
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

  #wheel(svg) {
    this.frame.addEventListener('wheel', (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      this.zoom.to(wheelScale(this.zoom.scale, e), { x: e.clientX, y: e.clientY });
    }, { passive: false });
    svg.addEventListener('dblclick', (e) => (this.zoom.fitting ? this.zoom.to(this.zoom.scale * 2.5, { x: e.clientX, y: e.clientY }) : this.zoom.fit()));
  }

  // The browser handles touch; a mouse drags the photo.
  #drag(svg) {
    svg.addEventListener('pointerdown', (e) => {
      if (e.pointerType !== 'mouse' || e.button !== 0) return;
      this.#from = { x: e.clientX, y: e.clientY };
      svg.setPointerCapture(e.pointerId);
    });
    svg.addEventListener('pointermove', (e) => {
      if (!this.#from) return;
      this.zoom.pan(e.clientX - this.#from.x, e.clientY - this.#from.y);
      this.#from = { x: e.clientX, y: e.clientY };
    });
    for (const type of ['pointerup', 'pointercancel', 'lostpointercapture']) svg.addEventListener(type, () => { this.#from = null; });
  }
}
