/** One observation card: its fields, its list of boxes, its state in the summary. */
import { element, icon, setText } from '../ui/dom.js';
import { money } from '../ui/format.js';
import { isComplete, isEmpty, missing, tidy } from './answer.js';
import { words } from './words.js';

export class Card {
  /**
   * @param {HTMLDetailsElement} details @param {import('../boxes/store.js').BoxStore} store
   * @param {{bonusCents: number}} pay
   */
  constructor(details, store, pay) {
    this.details = details;
    this.store = store;
    this.pay = pay;
    this.index = Number(details.dataset.obs);
    this.bonus = 'bonus' in details.dataset;
    this.clue = details.querySelector(`#clue${this.index}`);
    this.inference = details.querySelector(`#inf${this.index}`);
    this.radios = [...details.querySelectorAll('input[type="radio"]')];
    this.draw = details.querySelector('[data-draw]');
    this.boxList = details.querySelector('.boxes ul');
    this.clearing = details.querySelector('.clear');
    for (const field of [this.clue, this.inference]) field.addEventListener('input', () => grow(field));
    // A clue is one line: Enter moves focus to the Draw button.
    this.clue.addEventListener('keydown', (e) => {
      if (e.key !== 'Enter' || e.isComposing) return;
      e.preventDefault();
      this.draw.focus();
    });
  }

  get isOpen() { return this.details.open; }

  /** @returns {import('./answer.js').Observation} */
  read() {
    const chosen = this.radios.find((r) => r.checked);
    return {
      index: this.index,
      bonus: this.bonus,
      clue: this.clue.value,
      inference: this.inference.value,
      confidence: chosen ? Number(chosen.value) : null,
      boxes: this.store.of(this.index).map(({ left, top, width, height }) => ({ left, top, width, height })),
    };
  }

  /** Shows texts and confidence; boxes belong to the store. */
  write({ clue = '', inference = '', confidence = null } = {}) {
    this.clue.value = clue;
    this.inference.value = inference;
    for (const radio of this.radios) radio.checked = Number(radio.value) === confidence;
    grow(this.clue);
    grow(this.inference);
  }

  /** Opens the card, which closes the others. */
  open() {
    this.details.open = true;
    grow(this.clue);
    grow(this.inference);
  }

  /** Opens the card and focuses one of its parts (a name from PARTS). */
  focusOn(part) {
    this.open();
    const control = this.control(part);
    control.focus({ preventScroll: true });
    control.scrollIntoView({ block: 'center' });
  }

  /** @returns {HTMLElement} the control of a part */
  control(part) {
    return { clue: this.clue, inference: this.inference, box: this.draw, confidence: this.radios[0] }[part];
  }

  /** Updates summary, badge and box list from the answer. */
  render() {
    const now = this.read();
    this.#summary(now);
    this.#boxes();
    setText(this.draw.querySelector('[data-draw-text]'), now.boxes.length ? words.drawMore : words.drawFirst);
    if (this.clearing) this.clearing.hidden = isEmpty(now);
  }

  #summary(now) {
    const [bonus, empty, complete] = [this.bonus, isEmpty(now), isComplete(now)];
    this.details.querySelector('[data-dot]').classList.toggle('dot--empty', empty);
    setText(this.details.querySelector('[data-short]'), tidy(now.clue) || (bonus ? words.bonus : words.observation(this.index)));
    const badge = this.details.querySelector('[data-badge]');
    const [kind, text] = complete ? ['ok', words.complete] : empty
      ? [bonus ? 'info' : '', bonus ? words.bonusPay(money(this.pay.bonusCents)) : words.notStarted]
      : ['warn', words.missing(missing(now).length)];
    badge.className = `badge num${kind ? ` badge--${kind}` : ''}`;
    if (badge.textContent !== text) badge.replaceChildren(...(complete ? [icon('ok')] : []), text);
  }

  #boxes() {
    const boxes = this.store.of(this.index);
    const shown = boxes.map((b) => `${b.id}:${this.store.label(b)}:${b.width}x${b.height}:${b.id === this.store.selectedId}`).join();
    if (this.boxList.dataset.shown === shown) return;
    this.boxList.dataset.shown = shown;
    this.boxList.replaceChildren(...boxes.map((box) => this.#chip(box)));
  }

  #chip(box) {
    const label = this.store.label(box);
    const on = box.id === this.store.selectedId;
    return element('li', { class: `chip obs obs-${this.index}${on ? ' chip--on' : ''}` },
      element('button', { type: 'button', class: 'chip-name', 'data-select': box.id, 'aria-pressed': String(on), 'aria-label': words.selectBox(label, box) },
        element('b', { text: label }), ' ', element('span', { class: 'muted num', text: `${box.width} × ${box.height}` })),
      element('button', { type: 'button', 'data-remove': box.id, 'aria-label': words.deleteBox(label), text: '×' }));
  }
}

// For browsers without field-sizing.
function grow(field) {
  if (CSS.supports('field-sizing', 'content') || !field.offsetParent) return;
  field.style.height = 'auto';
  field.style.height = `${field.scrollHeight + 2}px`;
}
