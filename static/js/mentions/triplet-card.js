/** The card of one question: its three texts, how likely the answer is, and its state in the summary. */
import { icon, setText } from '../ui/dom.js';
import { money } from '../ui/format.js';
import { FIELDS, fieldProblem, isBlank, tripletProblems } from './rules.js';
import { countWords, displayText, tidy } from './segments.js';
import { words } from './words.js';

export class TripletCard {
  /**
   * @param {HTMLElement} root @param {import('./editor.js').MentionEditor} editor
   * @param {{limits: import('./rules.js').Limits, bonusCents?: number, changed: () => void}} page
   */
  constructor(root, editor, { limits, bonusCents = 0, changed }) {
    Object.assign(this, { root, limits, bonusCents, names: editor.names });
    this.index = Number(root.dataset.triplet);
    this.bonus = 'bonus' in root.dataset;
    this.fields = Object.fromEntries(FIELDS.map((name) => [name, editor.field(root.querySelector(`[data-field="${name}"]`))]));
    this.radios = [...root.querySelectorAll('input[type="radio"]')];
    FIELDS.forEach((name, at) => {
      this.fields[name].addEventListener('change', changed);
      this.fields[name].addEventListener('enter', () => (FIELDS[at + 1] ? this.fields[FIELDS[at + 1]].focus({}) : this.radios[0].focus()));
    });
    for (const radio of this.radios) radio.addEventListener('change', changed);
  }

  get isOpen() { return this.root.open !== false; }
  /** @returns {HTMLElement} the element for live hints */
  get hints() { return this.root.querySelector('[data-hints]'); }

  /** @returns {import('./rules.js').Triplet & {kept: Object<string, string[]>}} as it stands, for the draft */
  read() {
    const chosen = this.radios.find((radio) => radio.checked);
    return {
      ...Object.fromEntries(FIELDS.map((name) => [name, this.fields[name].segments])),
      likelihood: chosen?.value ?? null,
      kept: Object.fromEntries(FIELDS.map((name) => [name, [...this.fields[name].kept]])),
    };
  }

  /** Shows a triplet of a draft. */
  write(triplet) {
    for (const name of FIELDS) this.fields[name].write(triplet?.[name] ?? [], triplet?.kept?.[name] ?? []);
    for (const radio of this.radios) radio.checked = radio.value === triplet?.likelihood;
  }

  /** @returns {import('./rules.js').Problem[]} what the card lacks; an untouched bonus card lacks nothing */
  problems() {
    const now = this.read();
    return this.bonus && isBlank(now) ? [] : tripletProblems(now, this.limits, this.names);
  }

  get isBlank() { return isBlank(this.read()); }
  get isComplete() { return tripletProblems(this.read(), this.limits, this.names).length === 0; }

  open() { this.root.open = true; }

  /** Opens the card and focuses one of its parts: a text, or the likelihood. */
  focusOn(part) {
    this.open();
    const control = this.control(part);
    if (this.fields[part]) this.fields[part].focus();
    else control.focus({ preventScroll: true });
    control.scrollIntoView({ block: 'center' });
  }

  /** @returns {HTMLElement} the control of a part */
  control(part) { return this.fields[part]?.root ?? this.radios[0]; }

  /** Updates counts, summary and badge. */
  render() {
    const now = this.read();
    for (const name of FIELDS) this.#count(name, now[name]);
    const badge = this.root.querySelector('[data-badge]');
    if (!badge) return;
    const problems = tripletProblems(now, this.limits, this.names);
    const blank = isBlank(now);
    this.root.querySelector('[data-dot]').classList.toggle('dot--empty', blank);
    setText(this.root.querySelector('[data-short]'), displayText(tidy(now.question), this.names) || words.question(this.index));
    const [kind, text] = !problems.length ? ['ok', words.complete] : blank
      ? [this.bonus ? 'info' : '', this.bonus ? words.bonusPay(money(this.bonusCents)) : words.notStarted]
      : ['warn', words.missing(problems.length)];
    badge.className = `badge num${kind ? ` badge--${kind}` : ''}`;
    if (badge.textContent !== text) badge.replaceChildren(...(kind === 'ok' ? [icon('ok')] : []), text);
    const clearing = this.root.querySelector('.clear');
    if (clearing) clearing.hidden = blank;
  }

  #count(name, segments) {
    const count = this.root.querySelector(`[data-count="${name}"]`);
    const problem = fieldProblem(segments, name, this.limits, this.names);
    const total = countWords(tidy(segments));
    count.classList.toggle('count--over', problem !== null && problem.code !== 'few');
    setText(count, problem ? words.count[problem.code](problem) : words.counted(total));
  }
}
