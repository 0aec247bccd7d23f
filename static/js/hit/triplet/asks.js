/**
 * Questions that are asked one after another, so that a key has one meaning at a time. A key chooses in the open
 * question, and Enter goes on. Answered questions stay open to changes.
 *
 * Markup: `.ask[data-ask=NAME]` with a `.ask-head` button, a `[data-given]` place for its answer, an `.ask-body`, and a
 * `[data-next]` button. Radio buttons with `data-key` have a key.
 */
import { isTyping } from '../../boxes/keyboard.js';
import { singleKeys } from '../../ui/keys.js';
import { acceptsKeys } from '../judging.js';

const TAKES_ENTER = 'a, button, summary, select, textarea, [contenteditable="true"]';

export class Asks {
  #open = 0;

  /**
   * @param {HTMLElement[]} sections
   * @param {{isDone: (name: string) => boolean, given: (name: string) => string, preview: boolean, moved: () => void}} page
   *   given: the answer in a few words, '' without one; moved: called after another question was opened
   */
  constructor(sections, page) {
    Object.assign(this, { sections, page, all: sections });
    sections.forEach((section) => {
      section.querySelector('.ask-head').addEventListener('click', () => this.goTo(section.dataset.ask));
      section.querySelector('[data-next]').addEventListener('click', () => this.next());
    });
    document.addEventListener('keydown', (e) => this.#key(e));
    this.render();
  }

  get names() { return this.sections.map((section) => section.dataset.ask); }
  get current() { return this.names[this.#open]; }

  /** Asks only some of the questions; the others are hidden. @param {string[]|null} names null for all */
  only(names) {
    const { current } = this;
    this.sections = this.all.filter((section) => names?.includes(section.dataset.ask) ?? true);
    for (const section of this.all) section.hidden = !this.sections.includes(section);
    this.#open = Math.max(0, this.names.indexOf(current));
  }

  /** Opens a question without moving the focus, as far as those before it are answered. */
  restore(name) {
    const target = this.names.indexOf(name);
    this.#open = Math.min(target < 0 ? this.#firstOpen() : target, this.#firstOpen());
    this.render();
  }

  /** Opens a question and puts the focus into it. */
  goTo(name) { this.#go(this.names.indexOf(name)); }

  /** Goes on to the next question, or after the last one to the button that submits. */
  next() {
    if (!this.page.isDone(this.current)) {
      this.#focus();
      return;
    }
    if (this.#open + 1 < this.sections.length) this.#go(this.#open + 1);
    else document.getElementById('submit').focus();
  }

  /** Shows which question is open and what the others' answers are. */
  render() {
    const reached = this.#firstOpen();
    this.sections.forEach((section, index) => {
      const open = this.page.preview || index === this.#open;
      const name = section.dataset.ask;
      const head = section.querySelector('.ask-head');
      head.setAttribute('aria-expanded', String(open));
      head.disabled = index > reached;
      section.querySelector('.ask-body').hidden = !open;
      section.querySelector('[data-given]').textContent = open ? '' : this.page.given(name);
      section.classList.toggle('ask--open', open);
      section.classList.toggle('ask--done', this.page.isDone(name));
    });
  }

  #firstOpen() {
    const open = this.names.findIndex((name) => !this.page.isDone(name));
    return open < 0 ? this.sections.length - 1 : open;
  }

  #go(index) {
    if (index < 0 || index > this.#firstOpen()) return;
    const moved = index !== this.#open;
    this.#open = index;
    this.render();
    if (moved) this.page.moved();
    this.#focus();
  }

  // A text field would open a phone's keyboard over the images.
  #focus() {
    const section = this.sections[this.#open];
    const text = section.querySelector('.ask-body textarea');
    const radios = [...section.querySelectorAll('.ask-body input[type="radio"]')].filter((one) => one.checkVisibility?.() ?? true);
    const target = text ?? radios.find((one) => one.checked) ?? radios[0];
    const isLate = text && matchMedia('(pointer: coarse)').matches;
    (isLate ? section.querySelector('.ask-head') : target)?.focus({ preventScroll: true });
    section.scrollIntoView({ block: 'nearest' });
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector('dialog[open]')) return;
    if (isTyping(event.target) || event.target.closest?.('.how') || !acceptsKeys(this.page.preview)) return;
    if (event.key === 'Enter' && !event.repeat && !event.target.closest?.(TAKES_ENTER)) {
      event.preventDefault();
      this.next();
    } else if (!event.defaultPrevented && singleKeys() && this.#choose(event.key.toLowerCase())) event.preventDefault();
  }

  #choose(key) {
    const radios = [...this.sections[this.#open].querySelectorAll('.ask-body input[data-key]')];
    const radio = radios.find((one) => one.dataset.key === key);
    if (!radio) return false;
    if (!radio.checked) {
      radio.checked = true;
      radio.dispatchEvent(new Event('change', { bubbles: true }));
    }
    radio.focus({ preventScroll: true });
    return true;
  }
}
