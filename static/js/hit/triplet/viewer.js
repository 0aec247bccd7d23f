/**
 * The images of a task over the whole window, one at a time, in the order of the page. Buttons, arrow keys and a swipe
 * move on; wheel, pinch, double tap and + - 0 zoom. All images share one zoom.
 */
import { Fingers } from '../../boxes/fingers.js';
import { isTyping } from '../../boxes/keyboard.js';
import { fitScale, nextStep, wheelScale } from '../../boxes/zoom.js';
import { element, setText } from '../../ui/dom.js';
import { gettext, interpolate } from '../../ui/i18n.js';
import { singleKeys } from '../../ui/keys.js';
import { WHOLE, clampView, pan, place, zoomAt } from './view.js';

const SWIPE_PX = 48;
const PAN_PX = 80;
const NEAR = 3;
const byId = (id) => document.getElementById(id);
const words = { of: (n, of) => interpolate(gettext('%(n)s of %(of)s'), { n, of }) };

export class Viewer {
  #at = 0;
  #view = WHOLE;
  #fingers = new Fingers();
  #drag = null;
  #pinch = null;

  /** @param {() => {name: string, src: string, width: number, height: number}[]} images those that the page shows now */
  constructor(images) {
    this.images = images;
    this.dialog = byId('viewer');
    this.room = byId('viewer-room');
    this.image = byId('viewer-image');
    this.#wireButtons();
    this.#wirePointers();
    this.room.addEventListener('wheel', (e) => this.#wheel(e), { passive: false });
    new ResizeObserver(() => this.isOpen && this.#draw()).observe(this.room);
    document.addEventListener('keydown', (e) => this.#key(e));
  }

  get isOpen() { return this.dialog.open; }
  get #size() { return this.shown[this.#at]; }
  get #roomSize() { return { width: this.room.clientWidth, height: this.room.clientHeight }; }

  /** Opens the viewer at an image. @param {number} index */
  open(index) {
    this.shown = this.images();
    if (!this.shown.length || this.isOpen) return;
    this.#view = WHOLE;
    byId('viewer-strip').replaceChildren(...this.shown.map((one, n) => element('button', {
      type: 'button', class: 'viewer-thumb', 'aria-label': one.name, on: { click: () => this.#show(n) },
    }, element('img', { src: one.src, alt: '', width: one.width, height: one.height }))));
    this.dialog.showModal();
    this.#show(Math.min(Math.max(index, 0), this.shown.length - 1));
  }

  close() { this.dialog.close(); }

  #wireButtons() {
    byId('viewer-close').addEventListener('click', () => this.close());
    byId('viewer-previous').addEventListener('click', () => this.#step(-1));
    byId('viewer-next').addEventListener('click', () => this.#step(+1));
    const act = { in: () => this.#zoomStep(+1), out: () => this.#zoomStep(-1), one: () => this.#zoomTo(1), fit: () => this.#set(WHOLE) };
    for (const tool of this.dialog.querySelectorAll('[data-tool]')) tool.addEventListener('click', () => act[tool.dataset.tool]());
  }

  #step(direction) { this.#show(Math.min(Math.max(this.#at + direction, 0), this.shown.length - 1)); }

  #show(index) {
    this.#at = index;
    const { name, src } = this.#size;
    this.image.src = src;
    this.image.alt = name;
    setText(byId('viewer-name'), name);
    setText(byId('viewer-count'), words.of(index + 1, this.shown.length));
    [...byId('viewer-strip').children].forEach((thumb, n) => thumb.setAttribute('aria-current', String(n === index)));
    byId('viewer-strip').children[index].scrollIntoView({ block: 'nearest', inline: 'center' });
    this.#end('viewer-previous', index === 0);
    this.#end('viewer-next', index === this.shown.length - 1);
    this.#draw();
  }

  // A disabled button would lose the focus at the first and last image.
  #end(id, on) { byId(id).setAttribute('aria-disabled', String(on)); }

  #set(view) {
    this.#view = view;
    this.#draw();
  }

  #draw() {
    this.#view = clampView(this.#view, this.#size, this.#roomSize);
    for (const [side, pixels] of Object.entries(place(this.#view, this.#size, this.#roomSize))) this.image.style[side] = `${pixels}px`;
    setText(byId('zoom'), `${Math.round(100 * this.#natural)}%`);
    this.room.classList.toggle('viewer-room--zoomed', this.#view.scale > 1);
  }

  /** CSS pixels per pixel of the image. */
  get #natural() { return fitScale(this.#size, this.#roomSize) * this.#view.scale; }

  #zoomTo(natural, at = null) {
    const { width, height } = this.#roomSize;
    this.#set(zoomAt(this.#view, natural / this.#natural, at ?? { x: width / 2, y: height / 2 }, this.#size, this.#roomSize));
  }

  #zoomStep(direction) { this.#zoomTo(nextStep(this.#natural, direction)); }

  #inRoom({ x, y }) {
    const { left, top } = this.room.getBoundingClientRect();
    return { x: x - left, y: y - top };
  }

  #wheel(event) {
    event.preventDefault();
    this.#zoomTo(wheelScale(this.#natural, event), this.#inRoom({ x: event.clientX, y: event.clientY }));
  }

  #wirePointers() {
    this.room.addEventListener('pointerdown', (e) => {
      this.room.setPointerCapture(e.pointerId);
      this.#fingers.down(e);
      this.#drag = { id: e.pointerId, x: e.clientX, y: e.clientY, fromX: e.clientX, fromY: e.clientY, zoomed: this.#view.scale > 1 };
      this.#pinch = this.#fingers.begins ? this.#fingers.shape : this.#pinch;
    });
    this.room.addEventListener('pointermove', (e) => this.#move(e));
    for (const type of ['pointerup', 'pointercancel']) this.room.addEventListener(type, (e) => this.#lift(e));
    this.room.addEventListener('dblclick', (e) => {
      const at = this.#inRoom({ x: e.clientX, y: e.clientY });
      this.#set(this.#view.scale > 1 ? WHOLE : zoomAt(this.#view, NEAR, at, this.#size, this.#roomSize));
    });
  }

  #move(event) {
    if (this.#fingers.move(event)) {
      const { middle, span } = this.#fingers.shape;
      const moved = pan(this.#view, middle.x - this.#pinch.middle.x, middle.y - this.#pinch.middle.y, this.#size, this.#roomSize);
      this.#set(zoomAt(moved, span / this.#pinch.span, this.#inRoom(middle), this.#size, this.#roomSize));
      this.#pinch = { middle, span };
    } else if (this.#drag?.id === event.pointerId && this.#drag.zoomed && !this.#fingers.several) {
      this.#set(pan(this.#view, event.clientX - this.#drag.x, event.clientY - this.#drag.y, this.#size, this.#roomSize));
      Object.assign(this.#drag, { x: event.clientX, y: event.clientY });
    }
  }

  #lift(event) {
    const several = this.#fingers.up(event);
    const drag = this.#drag;
    if (drag?.id !== event.pointerId) return;
    this.#drag = null;
    if (several || drag.zoomed || event.type === 'pointercancel') return;
    const [dx, dy] = [event.clientX - drag.fromX, event.clientY - drag.fromY];
    if (Math.abs(dx) > SWIPE_PX && Math.abs(dx) > 2 * Math.abs(dy)) this.#step(dx < 0 ? +1 : -1);
  }

  #key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const key = event.key.toLowerCase();
    if (key === 'z' && singleKeys() && (this.isOpen || !document.querySelector('dialog[open]'))) {
      event.preventDefault();
      if (this.isOpen) this.close();
      else if (!byId('task')?.hidden) this.open(this.#at);
    } else if (this.isOpen && this.#viewKey(event, key)) event.preventDefault();
  }

  #viewKey({ shiftKey }, key) {
    const way = { arrowleft: [-1, 0], arrowright: [1, 0], arrowup: [0, -1], arrowdown: [0, 1] }[key];
    if (way && (shiftKey || way[1])) this.#set(pan(this.#view, -PAN_PX * way[0], -PAN_PX * way[1], this.#size, this.#roomSize));
    else if (way) this.#step(way[0]);
    else if (key === '+' || key === '=') this.#zoomStep(+1);
    else if (key === '-') this.#zoomStep(-1);
    else if (key === '0') this.#set(WHOLE);
    else return false;
    return true;
  }
}
