/**
 * A text field of one paragraph with tags as chips. The model is the truth: the page only shows it. Letters are typed
 * by the browser into the editable element and read back, so that input methods, dictation and screen readers work as in
 * any field; tags, deletions beside them, pasting, undo and redo go through the model.
 *
 * Events: `change` {typed} after every change; `caret` after the selection moved; `enter` on Enter; `point` {objects}
 * when the pointer or the selection is on a chip, and with null when it has left.
 *
 * @typedef {import('./segments.js').Segment} Segment
 */
import { chip, objectsOf } from './chip.js';
import { placeOf, positionIn, readChildren, readSelection, show } from './field-view.js';
import { MentionModel } from './model.js';
import { copyText, parse } from './segments.js';

const STEPS = { ArrowLeft: -1, ArrowRight: 1 };

export class MentionField extends EventTarget {
  #composing = false;
  #announcing = false;
  #pointed = null;
  #hovered = null;
  #spaceAt = null;

  /**
   * @param {HTMLElement} root the element with role "textbox"; its label and description are the template's
   * @param {string[]} names the class of each object of the image
   */
  constructor(root, names) {
    super();
    Object.assign(this, { root, names, model: new MentionModel(), kept: new Set() });
    root.contentEditable = 'true';
    this.#listen();
  }

  /** @returns {Segment[]} */
  get segments() { return [...this.model.segments]; }
  /** @returns {boolean} whether an input method is composing a word */
  get isComposing() { return this.#composing; }

  /** Shows a text, and forgets the history. @param {Segment[]} segments @param {string[]} [kept] numbers that stay text */
  write(segments, kept = []) {
    this.model.load(segments);
    this.kept = new Set(kept);
    this.#show();
  }

  /** Shows the text read-only. */
  disable() {
    this.root.contentEditable = 'false';
    this.root.setAttribute('aria-disabled', 'true');
  }

  /** Puts focus on the field, with the caret where it was. */
  focus(options = { preventScroll: true }) {
    this.root.focus(options);
    this.#placeCaret();
  }

  /** Changes the text through the model. @param {(model: MentionModel) => void} change */
  apply(change) {
    change(this.model);
    this.#show();
    this.#changed({ typed: false });
  }

  /** Replaces the selection, or a part of the text, by a tag. A word that is typed behind it gets a space before it. */
  insertTag(objects, from, to) {
    this.apply((model) => model.insertTag(objects, from, to));
    this.#spaceAt = this.model.focus;
  }

  /** Marks the chips of an object, or none. */
  light(object) {
    for (const made of this.root.querySelectorAll('[data-objects]')) {
      made.classList.toggle('mention--lit', object !== null && objectsOf(made).includes(object));
    }
  }

  /** @returns {DOMRect} where the text at a position is on the screen */
  rectAt(position) {
    const { node, offset } = placeOf(this.root, this.model.segments, position);
    const range = document.createRange();
    range.setStart(node, offset);
    const [rect] = range.getClientRects();
    return rect ?? this.root.getBoundingClientRect();
  }

  #listen() {
    const { root } = this;
    root.addEventListener('beforeinput', (e) => this.#beforeInput(e));
    root.addEventListener('input', () => this.#announcing || this.#readBack());
    root.addEventListener('compositionstart', () => { this.#composing = true; });
    root.addEventListener('compositionend', () => {
      this.#composing = false;
      this.#readBack();
      this.#emit('change', { typed: true });
    });
    root.addEventListener('keydown', (e) => this.#key(e));
    for (const type of ['copy', 'cut']) root.addEventListener(type, (e) => this.#copy(e));
    root.addEventListener('paste', (e) => {
      e.preventDefault();
      this.#readSelection();
      this.#paste(e.clipboardData);
    });
    root.addEventListener('dragstart', (e) => e.preventDefault());
    root.addEventListener('mousedown', (e) => this.#pressChip(e));
    root.addEventListener('pointerover', (e) => this.#hover(e.target));
    root.addEventListener('pointerleave', () => this.#hover(null));
    root.addEventListener('focus', () => this.#placeCaret());
    root.addEventListener('blur', () => this.#selectionShown());
    document.addEventListener('selectionchange', () => this.#selectionMoved());
  }

  // What is not handled here happens in the element, and is read back.
  #beforeInput(event) {
    const { inputType: type, data, dataTransfer } = event;
    if (this.#composing || event.isComposing || !event.cancelable) return;
    this.#readSelection();
    const done = () => {
      event.preventDefault();
      this.#show();
      this.#changed({ typed: type === 'insertText' });
    };
    if (type === 'historyUndo' || type === 'historyRedo') this.#step(type === 'historyUndo') && event.preventDefault();
    else if (type.startsWith('format') || type === 'insertParagraph' || type === 'insertLineBreak') event.preventDefault();
    else if (type.startsWith('delete')) {
      const direction = type.endsWith('Forward') ? 1 : -1;
      const selecting = this.model.isCollapsed;
      if (this.model.remove(direction)) {
        event.preventDefault();
        this.#show();
        if (selecting) this.#emit('caret');
        else this.#changed({ typed: false });
      } else if (this.model.focus === (direction < 0 ? 0 : this.model.length)) event.preventDefault();
    } else if (dataTransfer && type !== 'insertReplacementText') {
      event.preventDefault();
      this.#paste(dataTransfer);
    } else if (type === 'insertText' && !this.model.isCollapsed && data) {
      this.model.insert([data]);
      done();
    }
  }

  #readBack() {
    const segments = readChildren(this.root);
    const { anchor, focus } = readSelection(this.root);
    const has = this.model.replaceAll(segments, focus, 'typing');
    if (anchor !== focus) this.model.select(anchor, focus);
    // Redrawing would end the composition.
    if (!this.#composing) {
      if (this.#spaceAt !== null) this.model.spaceWord(this.#spaceAt);
      this.#spaceAt = null;
      this.#show();
    }
    if (has) this.#changed({ typed: true });
  }

  #key(event) {
    if (event.defaultPrevented || event.isComposing) return;
    this.#readSelection();
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const command = event.ctrlKey || event.metaKey;
    if (command && !event.altKey && (key === 'z' || key === 'y')) {
      event.preventDefault();
      this.#step(key === 'z' && !event.shiftKey);
    } else if (key === 'Enter' && !command) {
      event.preventDefault();
      this.#emit('enter');
    } else if (STEPS[key] && !command && !event.altKey && this.model.walk(STEPS[key], { extend: event.shiftKey })) {
      event.preventDefault();
      this.#placeCaret();
      this.#emit('caret');
    }
  }

  #step(back) {
    if (!(back ? this.model.undo() : this.model.redo())) return false;
    this.#show();
    this.#changed({ typed: false });
    return true;
  }

  #copy(event) {
    event.preventDefault();
    this.#readSelection();
    if (this.model.isCollapsed) return;
    event.clipboardData.setData('text/plain', copyText(this.model.selected, this.names));
    if (event.type === 'cut') this.apply((model) => model.insert([]));
  }

  #paste(transfer) {
    const pasted = parse(transfer.getData('text/plain'), this.names);
    if (pasted.length) this.apply((model) => model.insert(pasted));
  }

  // The browser cannot put the caret into a chip: a press selects it.
  #pressChip(event) {
    const made = event.target.closest?.('[data-objects]');
    if (!made) return;
    event.preventDefault();
    this.root.focus({ preventScroll: true });
    const at = positionIn(this.root, made, 0);
    this.model.select(at, at + 1);
    this.#placeCaret();
    this.#emit('caret');
  }

  #show() {
    show(this.root, this.model.segments, (tag) => chip(tag, this.names));
    this.#placeCaret();
    this.#selectionShown();
  }

  #placeCaret() {
    if (document.activeElement !== this.root) return;
    const { model, root } = this;
    const now = getSelection();
    const isShown = (node, offset, position) => node?.nodeType === Node.TEXT_NODE && node.parentNode === root && positionIn(root, node, offset) === position;
    const [anchor, focus] = [placeOf(root, model.segments, model.anchor), placeOf(root, model.segments, model.focus)];
    const same = isShown(now.anchorNode, now.anchorOffset, model.anchor) && isShown(now.focusNode, now.focusOffset, model.focus);
    if (!same) now.setBaseAndExtent(anchor.node, anchor.offset, focus.node, focus.offset);
    this.#selectionShown();
  }

  /** Takes over the browser's selection. Its event comes later than the next key. @returns {boolean} whether it moved */
  #readSelection() {
    if (this.#composing || document.activeElement !== this.root) return false;
    const { anchor, focus } = readSelection(this.root);
    if (anchor === this.model.anchor && focus === this.model.focus) return false;
    this.model.select(anchor, focus);
    return true;
  }

  #selectionMoved() {
    if (!this.#readSelection()) return;
    this.#spaceAt = null;
    this.#selectionShown();
    this.#emit('caret');
  }

  // Chips in the selection are marked: the browser's own mark does not cover them.
  #selectionShown() {
    const focused = document.activeElement === this.root;
    const { from, to, isCollapsed } = this.model;
    let only = null;
    for (const made of this.root.querySelectorAll('[data-objects]')) {
      const at = positionIn(this.root, made, 0);
      const on = focused && !isCollapsed && at >= from && at < to;
      made.classList.toggle('mention--on', on);
      if (on && to - from === 1) only = made;
    }
    this.#point(this.#hovered ?? only);
  }

  #hover(target) {
    this.#hovered = target?.closest?.('[data-objects]') ?? null;
    this.#selectionShown();
  }

  #point(made) {
    const objects = made ? objectsOf(made) : null;
    if (String(objects) === String(this.#pointed)) return;
    this.#pointed = objects;
    this.#emit('point', { objects });
  }

  /** Tells about a change; the browser tells about its own by an `input` event, so pages get one for all others too. */
  #changed({ typed }) {
    if (!typed) {
      this.#announcing = true;
      this.root.dispatchEvent(new Event('input', { bubbles: true }));
      this.#announcing = false;
    }
    this.#emit('change', { typed });
  }

  #emit(type, detail = {}) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}

