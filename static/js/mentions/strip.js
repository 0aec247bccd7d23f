/**
 * The list of objects: a row of buttons, below the photo. On a small screen, it stands above the on-screen keyboard while
 * a text is written.
 */
import { element } from '../ui/dom.js';
import { colourOf } from './chip.js';
import { objectLabel } from './segments.js';
import { words } from './words.js';

export class ObjectStrip {
  /**
   * @param {HTMLElement} list a <ul> @param {string[]} names of the objects
   * @param {{pick: (object: number) => void, point: (object: number|null) => void}} page
   */
  constructor(list, names, { pick, point }) {
    this.list = list;
    this.buttons = names.map((name, index) => element('button', {
      type: 'button', class: `object-button ${colourOf(index)}`, tabindex: index === 0 ? '0' : '-1', 'data-object': index, 'aria-label': words.object(objectLabel(names, index)),
    }, element('span', { class: 'dot', text: String(index + 1) }), ` ${name}`));
    list.replaceChildren(...this.buttons.map((button) => element('li', {}, button)));
    // A press must not take focus from the text that is written.
    list.addEventListener('mousedown', (e) => e.preventDefault());
    list.addEventListener('click', (e) => {
      const button = e.target.closest('button');
      if (button) pick(Number(button.dataset.object));
    });
    for (const type of ['pointerover', 'focusin']) list.addEventListener(type, (e) => point(objectOf(e.target)));
    for (const type of ['pointerleave', 'focusout']) list.addEventListener(type, () => point(null));
    list.addEventListener('keydown', (e) => this.#key(e));
  }

  /** Lights objects, and scrolls the first one into view. @param {number[]} lit */
  light(lit) {
    this.buttons.forEach((button, index) => button.classList.toggle('object-button--on', lit.includes(index)));
    const button = this.buttons[lit[0]];
    if (button && this.list.scrollWidth > this.list.clientWidth) {
      this.list.scrollLeft += button.getBoundingClientRect().left - this.list.getBoundingClientRect().left - this.list.clientWidth / 2;
    }
  }

  /** Disables all buttons. */
  disable() { for (const button of this.buttons) button.disabled = true; }

  // One tab stop for all: arrows move between the buttons.
  #key(event) {
    const at = this.buttons.indexOf(event.target);
    const last = this.buttons.length - 1;
    const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    const button = this.buttons[Math.min(Math.max(next, 0), last)];
    for (const one of this.buttons) one.tabIndex = one === button ? 0 : -1;
    button.focus();
  }
}

const objectOf = (target) => {
  const button = target.closest('button');
  return button ? Number(button.dataset.object) : null;
};

/**
 * Keeps an element at the lower edge of the visible part of the page, above an on-screen keyboard: where a keyboard does
 * not resize the page, the element would be behind it.
 * @param {HTMLElement} strip with the custom property --keyboard, which gets the covered height
 */
export function keepAboveKeyboard(strip, view = window.visualViewport) {
  if (!view) return;
  const place = () => {
    const covered = window.innerHeight - view.height - view.offsetTop;
    // A page that is zoomed in has no room for it: it stays at the edge of the page.
    strip.style.setProperty('--keyboard', `${view.scale > 1.01 ? 0 : Math.max(0, Math.round(covered))}px`);
    // A keyboard that has just come may be before the text.
    const { activeElement } = document;
    if (activeElement?.matches('.mention-field')) activeElement.scrollIntoView({ block: 'nearest' });
  };
  view.addEventListener('resize', place);
  place();
}
