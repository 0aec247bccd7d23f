/**
 * The drawing editor: photo, toolbar, keyboard and screen-reader messages around one store.
 * It uses the element ids and data-tool names of the kind's template.
 */
import { BoxStore } from './store.js';
import { BoxTool } from './tool.js';
import { BoxView } from './view.js';
import { Zoom, wheelScale } from './zoom.js';
import { addBox, bindKeys, runCommand } from './keyboard.js';
import { announcer } from './announce.js';
import { clamp } from './geometry.js';
import { toImage, visiblePart } from './transform.js';
import { words } from './words.js';
import { setText } from '../ui/dom.js';
import { singleKeys } from '../ui/keys.js';

const ZOOMS = { 'zoom-in': 'in', 'zoom-out': 'out', 'zoom-fit': 'fit', 'zoom-one': 'one' };
/** Elements on which the space bar has another meaning. */
const PRESSABLE = 'button, a, summary, label, input, select, textarea, [contenteditable="true"]';

export class BoxEditor {
  #readOnly;
  #pinch = null;
  #pressed = null;

  /**
   * @param {{svg: SVGSVGElement, frame: HTMLElement, toolbar: HTMLElement, live: HTMLElement, size: {width: number, height: number},
   *   roomHeight: () => number, most?: number, readOnly?: boolean, onCommand?: (command: {name: string}) => boolean}} parts
   *   frame: scroll container of the svg; most: maximum number of boxes per observation; live: aria-live region;
   *   onCommand: handles a command that is not about the photo (cards, the next gap) and returns whether it did
   */
  constructor({ svg, frame, toolbar, live, size, roomHeight, most = Infinity, readOnly = false, onCommand = () => false }) {
    Object.assign(this, { svg, frame, toolbar, onCommand });
    this.#readOnly = readOnly;
    this.store = new BoxStore(size, { most });
    this.view = new BoxView(svg, this.store, { readOnly });
    this.zoom = new Zoom(frame, svg, this.store.size, roomHeight);
    this.tool = new BoxTool(frame, this.store, {
      point: (e) => toImage(e.clientX, e.clientY, svg.getBoundingClientRect(), this.store.size),
      target: (e) => this.#target(e),
      focus: () => svg.focus({ preventScroll: true }),
    });
    this.announce = announcer(live, this.store, this.tool);
    this.#connect();
  }

  /** @returns {import('./geometry.js').Box} the visible part of the photo */
  visible() {
    return visiblePart(this.svg.getBoundingClientRect(), this.frame.getBoundingClientRect(), this.store.size);
  }

  /** Prepares for drawing a box: draw mode, no selection, focus on the photo. */
  arm() {
    this.setMode('draw');
    this.store.select(null);
    this.svg.focus({ preventScroll: true });
  }

  /** Adds a box without a pointer, for the open card. */
  addByKey() { addBox(this.store, this.#boxActions); }

  /** Puts focus on a box and brings it into view. */
  focusBox(id) {
    this.view.focusBox(id);
    const rect = this.view.rectOf(id);
    if (rect) this.zoom.reveal(rect);
  }

  /** @param {'draw'|'pan'} mode */
  setMode(mode) {
    this.tool.mode = this.#readOnly ? 'pan' : mode;
    this.#showHand();
    this.#button('draw')?.setAttribute('aria-pressed', String(this.tool.mode === 'draw'));
    this.#button('hand')?.setAttribute('aria-pressed', String(this.tool.mode === 'pan'));
  }

  /** @returns {boolean} whether the command was handled */
  run(command) {
    if (command.name in ZOOMS) return this.#zoomBy(ZOOMS[command.name]);
    if (command.name === 'hand') {
      this.setMode(this.tool.mode === 'pan' ? 'draw' : 'pan');
      this.announce(this.tool.mode === 'pan' ? words.handOn : words.handOff);
      return true;
    }
    if (command.name === 'help') {
      document.getElementById('shortcuts')?.showModal();
      return true;
    }
    if (this.onCommand(command)) return true;
    if (this.#readOnly || !runCommand(command, this.store, this.#boxActions)) return false;
    // A box moved by keys stays in view.
    if (this.store.selectedId !== null) this.zoom.reveal(this.view.rectOf(this.store.selectedId));
    return true;
  }

  get #boxActions() {
    return {
      visible: () => this.visible(), tool: this.tool, focus: (id) => this.focusBox(id), announce: this.announce, refuse: (reason) => this.tool.refuse(reason),
    };
  }

  #target(event) {
    // A press on the frame's scroll bars is not a press on the photo.
    const frame = this.frame.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left - this.frame.clientLeft, event.clientY - frame.top - this.frame.clientTop];
    if (event.target === this.frame && (x >= this.frame.clientWidth || y >= this.frame.clientHeight)) return { off: true };
    const point = toImage(event.clientX, event.clientY, this.svg.getBoundingClientRect(), this.store.size);
    return { ...this.view.grip(point, event.pointerType === 'touch' || event.pointerType === 'pen'), id: this.view.idOf(event.target) };
  }

  #zoomBy(how) {
    if (how === 'fit') this.zoom.fit();
    else if (how === 'one') this.zoom.to(1, this.#focus());
    else this.zoom[how](this.#focus());
    this.announce(words.zoomed(Math.round(this.zoom.scale * 100)));
    return true;
  }

  // Without a pointer, zooming keeps the selected box in place, or else the middle.
  #focus() {
    const { selectedId } = this.store;
    if (selectedId === null) return undefined;
    this.zoom.reveal(this.view.rectOf(selectedId));
    const [box, frame] = [this.view.rectOf(selectedId), this.frame.getBoundingClientRect()];
    return {
      x: clamp(box.left + box.width / 2, frame.left, frame.right),
      y: clamp(box.top + box.height / 2, frame.top, frame.bottom),
    };
  }

  #connect() {
    this.tool.addEventListener('draft', (e) => this.view.setDraft(e.detail));
    this.tool.addEventListener('pan', (e) => this.zoom.pan(e.detail.dx, e.detail.dy));
    this.tool.addEventListener('pinch', (e) => this.#pinched(e.detail));
    this.tool.addEventListener('pick', (e) => this.#picked(e.detail));
    this.tool.addEventListener('refuse', () => this.toolbar.dispatchEvent(new CustomEvent('editor:refused', { bubbles: true })));
    this.zoom.addEventListener('zoom', () => this.#zoomed());
    // Focuses the box that was just drawn or pressed, so that keys act on it.
    this.frame.addEventListener('pointerup', () => {
      if (this.store.selectedId !== null && document.activeElement === this.svg) this.view.focusBox(this.store.selectedId);
    });
    for (const type of ['change', 'select']) this.store.addEventListener(type, () => this.#buttons());
    this.toolbar.addEventListener('pointerdown', (e) => { this.#pressed = e.target.closest('[data-tool]'); });
    this.toolbar.addEventListener('focusout', () => { this.#pressed = null; });
    this.toolbar.addEventListener('click', (e) => this.#press(e.target.closest('[data-tool]')));
    bindKeys(this.svg, (command) => this.run(command), singleKeys);
    this.#bindWheel();
    this.#bindHeld();
    this.setMode('draw');
    this.#zoomed();
    this.#buttons();
  }

  #bindWheel() {
    this.frame.addEventListener('wheel', (e) => {
      if (!e.ctrlKey && !e.metaKey) return; // the browser scrolls the photo, or the page if all of the photo is visible
      e.preventDefault();
      this.zoom.to(wheelScale(this.zoom.scale, e), { x: e.clientX, y: e.clientY });
    }, { passive: false });
    // Safari reports a pinch on a trackpad as gesture events.
    let before = 1;
    for (const type of ['gesturestart', 'gesturechange']) {
      this.frame.addEventListener(type, (e) => {
        e.preventDefault();
        if (type === 'gesturestart') before = this.zoom.scale;
        this.zoom.to(before * e.scale, { x: e.clientX, y: e.clientY });
      });
    }
  }

  // Space pans while it is held. Escape cancels a drag wherever focus is. A drag ends if the window loses focus.
  #bindHeld() {
    document.addEventListener('keydown', (e) => {
      if (e.key === 'Escape' && this.tool.busy) {
        this.tool.cancel();
        e.preventDefault();
        e.stopPropagation();
      }
      if (e.key !== ' ' || !this.#startsPan(e.target)) return;
      e.preventDefault();
      this.#hold(true);
    }, { capture: true });
    document.addEventListener('keyup', (e) => e.key === ' ' && this.#hold(false));
    window.addEventListener('blur', () => {
      this.#hold(false);
      this.tool.release();
    });
  }

  #startsPan(target) {
    if (this.svg.contains(target)) return true;
    if (!this.frame.matches(':hover')) return false;
    // A toolbar button that was pressed with the mouse keeps focus, but over the photo Space means panning.
    const pressable = target.closest?.(PRESSABLE);
    return !pressable || pressable === this.#pressed;
  }

  #hold(on) {
    this.tool.held = on;
    this.#showHand();
  }

  #showHand() { this.frame.classList.toggle('stage--pan', this.tool.panning); }

  #pinched({ phase, middle, span }) {
    if (phase === 'start') this.#pinch = { span, scale: this.zoom.scale, share: this.zoom.shareAt(middle) };
    else if (phase === 'move') this.zoom.hold((this.#pinch.scale * span) / this.#pinch.span, this.#pinch.share, middle);
    else this.#pinch = null;
  }

  #picked({ id, at, count }) {
    const box = this.store.get(id);
    if (!box || count < 2) return;
    this.announce(words.picked(this.store.label(box), at, count));
    this.toolbar.dispatchEvent(new CustomEvent('editor:picked', { bubbles: true, detail: { at, count } }));
  }

  #press(button) {
    if (!button) return;
    const name = button.dataset.tool;
    if (name === 'draw') this.arm();
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
      // Disabling the focused button would move focus to the top of the page.
      if (!on && document.activeElement === button) this.svg.focus({ preventScroll: true });
      button.disabled = !on;
    };
    enable('undo', this.store.canUndo);
    enable('redo', this.store.canRedo);
    enable('delete', this.store.selectedId !== null);
  }

  #button(name) { return this.toolbar.querySelector(`[data-tool="${name}"]`); }
}
