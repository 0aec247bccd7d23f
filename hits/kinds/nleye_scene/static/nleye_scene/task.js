/** Write a scene: a form whose texts are counted, compared word by word, and shown as a judge will read them. */
import { boot } from '../js/hit/page.js';
import { PlainForm } from '../js/hit/plain-form.js';
import { lengthOf, textProblems } from '../js/hit/scene-rules.js';
import { countWords, findDifferences, functionWordTest } from '../js/hit/word-diff.js';
import { element, setText } from '../js/ui/dom.js';
import { words } from './words.js';

const byId = (id) => document.getElementById(id);
const TEXTS = ['premise', 'plausible', 'implausible'];
const MOST_DIFFERENCES = 4;
const WIDE = '(min-width: 60.01rem)';

class SceneForm extends PlainForm {
  start(page) {
    const { limits, function_words: functionWords } = page.config.unit;
    this.limits = limits;
    this.isFunctionWord = functionWordTest(functionWords);
    this.texts = Object.fromEntries(Object.keys(limits.characters).map((name) => [name, byId(name)]));
    super.start(page);
    // In the capturing phase, so that the problems are known when the page lists what is missing. Every control also
    // fires `change` when a draft is restored.
    for (const type of ['input', 'change']) this.work.addEventListener(type, () => this.#show(), true);
    byId('guide').open = matchMedia(WIDE).matches;
    this.#show();
  }

  write(answer) {
    super.write(answer);
    this.#show();
  }

  hintPlace(card) { return this.work.querySelector(`[data-hints="${card}"]`); }

  get #written() { return Object.fromEntries(Object.entries(this.texts).map(([name, field]) => [name, field.value])); }

  #chosen(name) {
    const control = this.work.querySelector(`[name="${name}"]:checked, input[type="hidden"][name="${name}"]`);
    return control?.value ?? '';
  }

  #show() {
    const written = this.#written;
    this.#showProblems(written);
    for (const name of [...TEXTS, 'why']) this.#showCount(name, written[name]);
    this.#showDifferences(written);
    for (const place of this.work.querySelectorAll('[data-preview]')) showPreview(place, written[place.dataset.preview]);
    this.#showFields();
  }

  #showProblems(written) {
    const problems = textProblems(written, this.limits.characters);
    for (const [name, field] of Object.entries(this.texts)) {
      const problem = problems[name];
      // An empty field is listed as missing anyway.
      const message = !problem || (problem === 'empty' && !field.value.trim()) ? '' : words.problem(problem, name, lengthOf(field.value), this.limits.characters[name]);
      if (field.validationMessage !== message) field.setCustomValidity(message);
    }
  }

  #showCount(name, text) {
    const most = this.limits.characters[name];
    const count = lengthOf(text);
    const place = byId(`${name}-count`);
    setText(place, words.count(countWords(text), count, most));
    place.classList.toggle('count--over', count > most);
  }

  #showDifferences({ plausible, implausible }) {
    const place = this.work.querySelector('[data-differ]');
    const differences = findDifferences(plausible, implausible, this.isFunctionWord);
    const state = JSON.stringify([plausible, implausible]);
    if (place.dataset.shown === state) return;
    place.dataset.shown = state;
    place.replaceChildren(...differenceParts(plausible, implausible, differences));
  }

  #showFields() {
    const isParallel = this.#chosen('direction') === 'parallel';
    setShown(byId('culture-field'), this.#chosen('category') === 'cultural');
    const duration = byId('duration-field').querySelector('fieldset');
    if (duration.disabled !== isParallel) duration.disabled = isParallel;
    if (byId('no-duration').hidden === isParallel) byId('no-duration').hidden = !isParallel;
  }
}

/** Shows or hides a block; what is hidden is not sent. */
function setShown(block, isShown) {
  const control = block.querySelector('input');
  if (block.hidden === isShown) block.hidden = !isShown;
  if (control.disabled === isShown) control.disabled = !isShown;
}

function showPreview(place, text) {
  setText(place, text.trim() || words.notWritten);
  place.classList.toggle('muted', !text.trim());
}

function differenceParts(first, second, differences) {
  if (!countWords(first) || !countWords(second)) return [element('span', { class: 'muted', text: words.writeBoth })];
  if (!differences.length) return [element('b', { class: 'differ-none', text: words.nothingDiffers })];
  const [{ before, after }] = differences;
  const isAll = differences.length === 1 && countWords(before) === countWords(first) && countWords(after) === countWords(second);
  if (isAll) return [element('span', { text: words.allDiffers })];
  const shown = differences.slice(0, MOST_DIFFERENCES).map(pair);
  const more = differences.length - shown.length;
  return more > 0 ? [...shown, element('span', { class: 'muted', text: words.more(more) })] : shown;
}

/** The words of both hypotheses at one place, each with a word for its side: never by colour alone. */
function pair({ before, after }) {
  const side = (text) => (text
    ? element('b', { lang: 'en', text })
    : element('i', { class: 'muted', text: words.nothing }));
  return element('span', { class: 'differ-pair' }, side(before), element('span', { class: 'differ-arrow', 'aria-hidden': 'true', text: '→' }),
    element('span', { class: 'sr', text: words.becomes }), side(after));
}

boot(new SceneForm());
