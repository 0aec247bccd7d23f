/**
 * The whole drawing bench: photo, toolbar, keys and voice around one store.
 * Works on the ids and data-tool names of the kind's template; see bench() for what it expects.
 */
import { BoxStore } from './store.js';
import { BoxTool } from './tool.js';
import { BoxView } from './view.js';
import { Zoom } from './zoom.js';
import { addBox, bindKeys, runCommand } from './keyboard.js';
import { announcer } from './announce.js';
import { toImage, visiblePart } from './transform.js';
import { words } from './words.js';
import { setText } from '../ui/dom.js';

export class Bench {
  #readOnly;

  /**
   * @param {{svg: SVGSVGElement, frame: HTMLElement, toolbar: HTMLElement, live: HTMLElement, size: {width: number, height: number},
   *   roomHeight: () => number, most?: number, readOnly?: boolean, onCard?: (number: number) => void}} parts
   *   frame: scroll container of the svg; most: boxes of one observation; live: aria-live region; onCard: a digit key was pressed
   */
  constructor({ svg, frame, toolbar, live, size, roomHeight, most = Infinity, readOnly = false, onCard = () => {} }) {
    Object.assign(this, { svg, frame, toolbar, onCard });
    this.#readOnly = readOnly;
    this.store = new BoxStore(size, { most });
    this.view = new BoxView(svg, this.store, { readOnly });
    this.zoom = new Zoom(frame, svg, this.store.size, roomHeight);
    this.tool = new BoxTool(svg, this.store, {
      point: (e) => toImage(e.clientX, e.clientY, svg.getBoundingClientRect(), this.store.size),
      target: (e) => ({ edge: this.view.edgeOf(e.target), id: this.view.idOf(e.target) }),
      focus: () => svg.focus({ preventScroll: true }),
    });
    this.say = announcer(live, this.store, this.tool);
    this.#connect();
  }

  /** @returns {import('./geometry.js').Box} the part of the photo in view */
  visible() {
    return visiblePart(this.svg.getBoundingClientRect(), this.frame.getBoundingClientRect(), this.store.size);
  }

  /** Gets ready for the next box: drawing on, nothing selected, focus on the photo. */
  arm() {
    this.setMode('draw');
    this.store.select(null);
    this.svg.focus({ preventScroll: true });
  }

  /** Adds a box without a pointer, for the open card. */
  addByKey() { addBox(this.store, this.#hands); }

  /** @param {'draw'|'pan'} mode */
  setMode(mode) {
    this.tool.mode = this.#readOnly ? 'pan' : mode;
    this.frame.classList.toggle('stage--pan', this.tool.mode === 'pan');
    this.#button('draw')?.setAttribute('aria-pressed', String(this.tool.mode === 'draw'));
    this.#button('hand')?.setAttribute('aria-pressed', String(this.tool.mode === 'pan'));
  }

  /** @returns {boolean} whether the command was one of ours and is done */
  run(command) {
    if (command.name === 'card') {
      this.onCard(command.number);
      return true;
    }
    const zoomed = this.#zoomBy(command.name);
    if (zoomed) return true;
    if (command.name === 'hand') {
      this.setMode(this.tool.mode === 'pan' ? 'draw' : 'pan');
      return true;
    }
    if (command.name === 'help') {
      document.getElementById('shortcuts')?.showModal();
      return true;
    }
    return !this.#readOnly && runCommand(command, this.store, this.#hands);
  }

  get #hands() {
    return { visible: () => this.visible(), tool: this.tool, focus: (id) => this.view.focusBox(id), say: this.say };
  }

  #zoomBy(name) {
    const act = {
      'zoom-in': () => this.zoom.in(), 'zoom-out': () => this.zoom.out(), 'zoom-fit': () => this.zoom.fit(), 'zoom-one': () => this.zoom.to(1),
    }[name];
    if (!act) return false;
    act();
    this.say(words.zoomed(Math.round(this.zoom.scale * 100)));
    return true;
  }

  #connect() {
    this.tool.addEventListener('draft', (e) => this.view.setDraft(e.detail));
    this.tool.addEventListener('pan', (e) => this.zoom.pan(e.detail.dx, e.detail.dy));
    this.tool.addEventListener('refuse', () => this.toolbar.dispatchEvent(new CustomEvent('bench:refused', { bubbles: true })));
    this.zoom.addEventListener('zoom', () => this.#zoomed());
    // A box just drawn or pressed on is the one the keys go to.
    this.svg.addEventListener('pointerup', () => {
      if (this.store.selectedId !== null && document.activeElement === this.svg) this.view.focusBox(this.store.selectedId);
    });
    for (const type of ['change', 'select']) this.store.addEventListener(type, () => this.#buttons());
    this.toolbar.addEventListener('click', (e) => this.#press(e.target.closest('[data-tool]')));
    bindKeys(this.svg, (command) => this.run(command));
    this.setMode('draw');
    this.#zoomed();
    this.#buttons();
  }

  #press(button) {
    if (!button) return;
    const name = button.dataset.tool;
    if (name === 'draw') this.arm();
    else if (name === 'hand') this.setMode(this.tool.mode === 'pan' ? 'draw' : 'pan');
    else {
      const command = { out: 'zoom-out', in: 'zoom-in', fit: 'zoom-fit', one: 'zoom-one', delete: 'remove' }[name] ?? name;
      this.run({ name: command });
    }
  }

  #zoomed() {
    this.view.setScale(this.zoom.k);
    setText(document.getElementById('zoom'), `${Math.round(this.zoom.scale * 100)}%`);
  }

  #buttons() {
    const enable = (name, on) => {
      const button = this.#button(name);
      if (!button) return;
      // A button that goes out under the keyboard's focus would drop it to the top of the page.
      if (!on && document.activeElement === button) this.svg.focus({ preventScroll: true });
      button.disabled = !on;
    };
    enable('undo', this.store.canUndo);
    enable('redo', this.store.canRedo);
    enable('delete', this.store.selectedId !== null);
  }

  #button(name) { return this.toolbar.querySelector(`[data-tool="${name}"]`); }
}
