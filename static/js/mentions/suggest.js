/**
 * Suggestions while a text is written. A number that is typed suggests its object, such as "person 3": Space, Enter, Tab
 * or a punctuation mark accepts, Escape keeps the number as text. "[" or "@" opens the list of objects, filtered by what
 * follows it.
 *
 * Focus stays in the field. Assistive technology follows `aria-activedescendant`, and hears how to accept.
 */
import { element } from '../ui/dom.js';
import { colourOf } from './chip.js';
import { MARK, objectLabel } from './segments.js';
import { words } from './words.js';

const TRIGGER = new RegExp(`(?:^|[\\s(${MARK}])([[@])([^[\\]@]{0,24})$`, 'u');
// Not "2.5", "10:30", "1st" or "no-3".
const NUMBER = /(?<![\p{L}\p{N}.,:'’$#-])([1-9]\d{0,2})$/u;
const ACCEPTS = /^[\s.,;:!?'’"”)\]…/]$/u;

/**
 * @param {string} before the text before the caret, with MARK for tags @param {string[]} names
 * @returns {{kind: 'number'|'list', from: number, options: number[]}|null} what to suggest for it, and where it begins
 */
export function suggestionFor(before, names) {
  const trigger = TRIGGER.exec(before);
  if (trigger) {
    const options = matching(trigger[2], names);
    return options.length ? { kind: 'list', from: before.length - trigger[2].length - 1, options } : null;
  }
  const number = NUMBER.exec(before);
  if (!number || Number(number[1]) > names.length) return null;
  return { kind: 'number', from: before.length - number[1].length, options: [Number(number[1]) - 1] };
}

/** @returns {number[]} the objects whose class or number begins with a text, all of them without a text */
export function matching(query, names) {
  const start = query.trim().toLowerCase();
  return names.map((_, index) => index).filter((index) => {
    const label = objectLabel(names, index).toLowerCase();
    return label.startsWith(start) || label.split(' ').some((word) => word.startsWith(start));
  });
}

export class Suggestions {
  #open = null;
  #active = 0;

  /**
   * @param {HTMLElement} list an empty <ul role="listbox"> @param {string[]} names
   * @param {{announce: (text: string) => void, point: (object: number|null) => void}} page point: lights an object
   */
  constructor(list, names, { announce, point }) {
    Object.assign(this, { list, names, announce, point });
    // A press must not take focus from the field.
    list.addEventListener('mousedown', (e) => e.preventDefault());
    list.addEventListener('click', (e) => {
      const option = e.target.closest('[role="option"]');
      if (option) this.#accept(Number(option.dataset.object));
    });
    // In the next frame, because a photo above the text may still change its size.
    const place = () => requestAnimationFrame(() => this.#place());
    for (const type of ['resize', 'scroll']) window.addEventListener(type, place, { passive: true, capture: true });
  }

  /** @param {import('./field.js').MentionField} field */
  watch(field) {
    field.root.setAttribute('aria-autocomplete', 'list');
    field.addEventListener('change', (e) => this.#changed(field, e.detail.typed));
    field.addEventListener('caret', () => this.#open?.field === field && this.#changed(field, false));
    field.root.addEventListener('blur', () => this.close());
    // Before the field's own keys.
    field.root.addEventListener('keydown', (e) => this.#key(e, field), { capture: true });
  }

  close() {
    if (!this.#open) return;
    const { root } = this.#open.field;
    for (const name of ['aria-activedescendant', 'aria-controls']) root.removeAttribute(name);
    this.#open = null;
    this.list.hidden = true;
    this.point(null);
  }

  #changed(field, typed) {
    if (field.isComposing) return;
    const { model } = field;
    if (typed && this.#acceptsTyped(model.before)) {
      this.#acceptBefore(field);
      return;
    }
    const found = model.isCollapsed ? suggestionFor(model.before, this.names) : null;
    const goesOn = found !== null && this.#open?.field === field && this.#open.from === found.from;
    // Only typing opens: somebody who walks through a text wants no list.
    if (found && (goesOn || typed)) this.#show({ ...found, field, end: model.focus });
    else this.close();
  }

  /** @returns {boolean} whether the last typed character accepts the suggested number */
  #acceptsTyped(before) {
    const open = this.#open;
    return open?.kind === 'number' && before.length === open.end + 1 && ACCEPTS.test(before.at(-1));
  }

  #acceptBefore(field) {
    const { from, end, options } = this.#open;
    this.close();
    field.apply((model) => {
      const behind = model.length - model.focus;
      model.insertTag([options[0]], from, end);
      model.select(model.length - behind);
    });
    this.announce(words.inserted(objectLabel(this.names, options[0])));
  }

  #accept(object) {
    const { field, from, end } = this.#open;
    this.close();
    field.focus();
    field.insertTag([object], from, end);
    this.announce(words.inserted(objectLabel(this.names, object)));
  }

  #key(event, field) {
    const open = this.#open;
    if (!open || open.field !== field || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && open.kind === 'list') this.#move(step);
    else if (event.key === 'Enter' || (event.key === 'Tab' && !event.shiftKey)) this.#accept(open.options[this.#active]);
    else if (event.key === 'Escape') this.#keep();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Escape: the text stays as it is. */
  #keep() {
    const { field, kind, options } = this.#open;
    if (kind === 'number') {
      field.kept.add(String(options[0] + 1));
      this.announce(words.kept(options[0] + 1));
    }
    this.close();
  }

  #move(step) {
    const { options } = this.#open;
    this.#active = (this.#active + step + options.length) % options.length;
    this.#mark();
  }

  #show(next) {
    const before = this.#open;
    const same = before && before.field === next.field && String(before.options) === String(next.options);
    this.#open = next;
    if (!same) {
      this.#active = 0;
      this.list.replaceChildren(...next.options.map((object) => this.#option(object, next.kind)));
      this.announce(next.kind === 'number' ? words.suggested(objectLabel(this.names, next.options[0])) : words.listed(next.options.length));
    }
    this.list.hidden = false;
    next.field.root.setAttribute('aria-controls', this.list.id);
    this.#mark();
    this.#place();
  }

  #option(object, kind) {
    return element('li', { role: 'option', id: `${this.list.id}-${object}`, 'data-object': object, class: colourOf(object) },
      element('span', { class: 'dot', text: String(object + 1), 'aria-hidden': 'true' }),
      element('span', { text: this.names[object] }), element('span', { class: 'sr', text: ` ${object + 1}` }),
      ...(kind === 'number' ? [element('kbd', { text: words.space, 'aria-hidden': 'true' })] : []));
  }

  #mark() {
    const { field, options } = this.#open;
    for (const [at, option] of [...this.list.children].entries()) option.setAttribute('aria-selected', String(at === this.#active));
    const active = this.list.children[this.#active];
    active.scrollIntoView({ block: 'nearest' });
    field.root.setAttribute('aria-activedescendant', active.id);
    this.point(options[this.#active]);
  }

  // Under the text, or above it where there is no room; never beside the visible part of the page.
  #place() {
    if (!this.#open) return;
    const rect = this.#open.field.rectAt(this.#open.from);
    const { offsetWidth: width, offsetHeight: height } = this.list;
    const room = window.visualViewport ?? { height: window.innerHeight, width: window.innerWidth, offsetTop: 0, offsetLeft: 0 };
    const below = rect.bottom + 6 + height <= room.offsetTop + room.height;
    this.list.style.top = `${Math.max(0, below ? rect.bottom + 6 : rect.top - 6 - height)}px`;
    this.list.style.left = `${Math.max(room.offsetLeft + 4, Math.min(rect.left - 8, room.offsetLeft + room.width - width - 8))}px`;
  }
}
