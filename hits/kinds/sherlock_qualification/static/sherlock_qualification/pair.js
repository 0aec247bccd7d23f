/** One card: clue, inference, confidence. */
import { icon, setText } from '../js/ui/dom.js';
import { isComplete, isEmpty, missing, tidy } from './answer.js';
import { words } from './words.js';

export class PairCard {
  /** @param {HTMLDetailsElement} details */
  constructor(details) {
    this.details = details;
    this.number = Number(details.dataset.pair);
    this.clue = details.querySelector('[data-field="clue"]');
    this.inference = details.querySelector('[data-field="inference"]');
    this.radios = [...details.querySelectorAll('input[type="radio"]')];
    // A clue is one line: Enter moves to the next field.
    this.clue.addEventListener('keydown', (e) => {
      if (e.key !== 'Enter' || e.isComposing) return;
      e.preventDefault();
      this.inference.focus();
    });
    for (const field of [this.clue, this.inference]) field.addEventListener('input', () => grow(field));
    details.addEventListener('toggle', () => this.#grow());
  }

  get hints() { return this.details.querySelector('[data-hints]'); }

  /** @returns {import('./answer.js').Pair} */
  read() {
    const chosen = this.radios.find((r) => r.checked);
    return { clue: this.clue.value, inference: this.inference.value, confidence: chosen ? Number(chosen.value) : null };
  }

  write({ clue = '', inference = '', confidence = null } = {}) {
    this.clue.value = clue;
    this.inference.value = inference;
    for (const radio of this.radios) radio.checked = Number(radio.value) === confidence;
    this.#grow();
  }

  /** @returns {HTMLElement} the control of a field */
  control(field) { return { clue: this.clue, inference: this.inference, confidence: this.radios[0] }[field]; }

  open() { this.details.open = true; }

  /** Updates summary and badge. */
  render() {
    const now = this.read();
    this.details.querySelector('[data-dot]').classList.toggle('dot--empty', isEmpty(now));
    setText(this.details.querySelector('[data-short]'), tidy(now.clue) || words.pair(this.number));
    const badge = this.details.querySelector('[data-badge]');
    const [kind, text] = isComplete(now) ? ['ok', words.complete] : isEmpty(now) ? ['', words.notStarted] : ['warn', words.missing(missing(now).length)];
    badge.className = `badge num${kind ? ` badge--${kind}` : ''}`;
    if (badge.textContent !== text) badge.replaceChildren(...(kind === 'ok' ? [icon('ok')] : []), text);
  }

  #grow() {
    grow(this.clue);
    grow(this.inference);
  }
}

// For browsers without field-sizing.
function grow(field) {
  if (CSS.supports('field-sizing', 'content') || !field.offsetParent) return;
  field.style.height = 'auto';
  field.style.height = `${field.scrollHeight + 2}px`;
}
