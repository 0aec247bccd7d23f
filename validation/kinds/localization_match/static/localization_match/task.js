/** Which part of the photo is each sentence about: by dragging, by pointing twice, or by a letter. */
import { boot } from '../js/hit/page.js';
import { around, windowOn } from '../js/boxes/geometry.js';
import { isTyping } from '../js/boxes/keyboard.js';
import { element, setIcon, setText } from '../js/ui/dom.js';
import { singleKeys } from '../js/ui/keys.js';
import { draggable } from './drag.js';
import { Matching } from './matching.js';
import { Regions } from './regions.js';
import { words } from './words.js';

const byId = (id) => document.getElementById(id);
const MOVES = { ArrowLeft: -1, ArrowRight: 1 };

class LocalizationTask {
  #current = 0;
  #lit = null;

  start({ config, preview, announce, changed }) {
    const { image, regions, inferences } = config.unit;
    Object.assign(this, { config, announce, changed, regions, inferences });
    this.enabled = () => !preview && !byId('work').disabled && !byId('work').inert;
    this.matching = new Matching(inferences.map(({ id }) => id), regions.map(({ id }) => id));
    this.cards = [...document.querySelectorAll('.sentence')];
    this.slots = [...document.querySelectorAll('.slot')];
    this.view = new Regions(byId('photo'), byId('stage'), regions, image);
    this.cards.forEach((card, at) => this.#wireCard(card, at));
    byId('photo').addEventListener('click', (e) => this.#point(e.target.closest('[data-region]')));
    for (const slot of this.slots) slot.addEventListener('click', () => this.#point(slot));
    this.#wireLight();
    this.#wireTools();
    document.addEventListener('keydown', (e) => this.#key(e));
    this.#mark(0);
    this.#render();
  }

  read() { return { matches: this.matching.matches }; }

  write(answer) {
    this.matching.load(answer?.matches);
    this.#render();
  }

  answer() { return this.read(); }

  gaps() {
    return this.matching.done.flatMap((done, at) => (done ? [] : [{
      key: `m${at + 1}`, href: `#m${at + 1}`, text: String(at + 1), name: words.sentence(at + 1), focus: () => this.#goTo(at),
    }]));
  }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    const match = /^matches\[(\d+)\]/.exec(field);
    const given = match ? this.answer().matches[Number(match[1])]?.inference : undefined;
    const at = Math.max(0, this.inferences.findIndex(({ id }) => id === given));
    return { control: this.#letters(at)[0], name: words.sentence(at + 1), reveal: () => this.#goTo(at) };
  }

  resume() { this.#mark(Math.max(0, this.matching.next(-1))); }

  #letters(at) { return [...this.cards[at].querySelectorAll('.letter')]; }

  #letterOf(region) { return this.regions.find(({ id }) => id === region)?.letter ?? ''; }

  #place(inference) { return this.inferences.findIndex(({ id }) => id === inference); }

  // -- doing

  // A part on the photo or below it was pointed at: the current sentence gets it, and the next one has its turn.
  #point(target) {
    const region = target?.dataset.region;
    if (!region || !this.enabled()) return;
    this.#give(this.#current, region);
    this.#goOn();
  }

  #give(at, region) {
    const { changed, other } = this.matching.assign(this.inferences[at].id, region);
    if (!changed) return;
    const letter = this.#letterOf(region);
    const its = other && this.matching.regionOf(other);
    if (its) this.announce(words.swapped(at + 1, letter, this.#place(other) + 1, this.#letterOf(its)));
    else if (other) this.announce(words.takenFrom(at + 1, letter, this.#place(other) + 1));
    else this.announce(words.given(at + 1, letter));
    this.#mark(at);
    this.#done();
  }

  #clear(at) {
    if (!this.matching.clear(this.inferences[at].id)) return;
    this.announce(words.cleared(at + 1));
    this.#done();
  }

  #undo(again = false) {
    const did = again ? this.matching.redo() : this.matching.undo();
    this.announce(did ? (again ? words.redone : words.undone) : words.nothingToUndo);
    if (did) this.#done();
  }

  #done() {
    this.#render();
    this.changed();
  }

  #goOn() {
    const next = this.matching.next(this.#current);
    if (next >= 0) this.#goTo(next);
  }

  #goTo(at) {
    this.#mark(at);
    const letters = this.#letters(at);
    (letters.find((one) => one.tabIndex === 0) ?? letters[0]).focus({ preventScroll: true });
    this.cards[at].scrollIntoView({ block: 'nearest' });
  }

  #mark(at) {
    this.#current = at;
    this.cards.forEach((card, n) => {
      card.classList.toggle('row--now', n === at);
      if (n === at) card.setAttribute('aria-current', 'true');
      else card.removeAttribute('aria-current');
    });
  }

  // -- wiring

  #wireCard(card, at) {
    const letters = this.#letters(at);
    card.addEventListener('focusin', () => this.#mark(at));
    card.addEventListener('pointerdown', () => this.#mark(at));
    for (const button of letters) {
      button.addEventListener('click', () => {
        if (button.getAttribute('aria-pressed') === 'true') this.#clear(at);
        else this.#give(at, button.dataset.region);
        rove(letters, button);
      });
      button.addEventListener('keydown', (e) => {
        const step = MOVES[e.key];
        if (!step || e.ctrlKey || e.metaKey || e.altKey) return;
        e.preventDefault();
        const next = letters[(letters.indexOf(button) + step + letters.length) % letters.length];
        rove(letters, next);
        next.focus();
        this.#light(next.dataset.region);
      });
    }
    rove(letters, letters[0]);
    for (const handle of card.querySelectorAll('[data-drag]')) {
      draggable(handle, {
        enabled: this.enabled,
        byTouch: handle.dataset.drag === 'touch',
        label: () => `${at + 1}  ${this.inferences[at].text}`,
        over: (region) => this.#light(region),
        drop: (region) => this.#give(at, region),
        taken: (on) => document.body.classList.toggle('dragging', on),
      });
    }
  }

  // Whatever stands for a part brings it out on the photo while it is pointed at. So do the arrow keys, but not focus by
  // itself: going on to the next sentence would bring out its first letter, as if that were the answer.
  #wireLight() {
    for (const part of document.querySelectorAll('.letter, .slot')) {
      part.addEventListener('pointerenter', () => this.#light(part.dataset.region));
      for (const type of ['pointerleave', 'blur']) part.addEventListener(type, () => this.#light(null));
    }
    for (const slot of this.slots) slot.addEventListener('focus', () => slot.matches(':focus-visible') && this.#light(slot.dataset.region));
  }

  #light(region) {
    if (region !== null) this.#lit = region;
    this.view.light(region);
    for (const slot of this.slots) slot.classList.toggle('slot--over', slot.dataset.region === region);
  }

  #wireTools() {
    byId('undo').addEventListener('click', () => { if (this.enabled()) this.#undo(); });
    byId('peek').addEventListener('click', () => this.#peek());
    byId('help').addEventListener('click', () => byId('shortcuts').showModal());
  }

  // The part that was brought out last, or the current sentence's, with some room around it; or the whole photo.
  #peek() {
    const { image } = this.config.unit;
    const button = byId('peek');
    const near = button.getAttribute('aria-pressed') !== 'true';
    const target = this.#lit ?? this.matching.regionOf(this.inferences[this.#current].id) ?? this.regions[0].id;
    const boxes = this.regions.find(({ id }) => id === target).boxes;
    const view = near ? windowOn(around(boxes), image) : { left: 0, top: 0, width: image.width, height: image.height };
    byId('photo').setAttribute('viewBox', `${view.left} ${view.top} ${view.width} ${view.height}`);
    button.setAttribute('aria-pressed', String(near));
    setText(button.querySelector('span'), near ? words.zoomOut : words.zoomIn);
    setIcon(button.querySelector('svg'), near ? 'out' : 'in');
    byId('stage').dispatchEvent(new Event('stage:measure'));
  }

  #key(e) {
    if (e.defaultPrevented || e.isComposing || isTyping(e.target) || document.querySelector('dialog[open]')) return;
    const run = this.#command(e);
    if (!run) return;
    e.preventDefault();
    run();
  }

  #command({ key, target, ctrlKey, metaKey, altKey, shiftKey }) {
    const low = key.length === 1 ? key.toLowerCase() : key;
    if (altKey) return null;
    if (low === '?' && singleKeys() && !ctrlKey && !metaKey) return () => byId('shortcuts').showModal();
    if (low === 'z' && singleKeys() && !ctrlKey && !metaKey) return () => this.#peek();
    if (!this.enabled()) return null;
    if (ctrlKey || metaKey) {
      if (low === 'z') return () => this.#undo(shiftKey);
      return low === 'y' ? () => this.#undo(true) : null;
    }
    // The instructions are scrolled by arrows.
    const step = target.closest?.('.how') ? 0 : { ArrowDown: 1, ArrowUp: -1 }[low];
    if (step) return () => this.#goTo(Math.min(Math.max(this.#current + step, 0), this.cards.length - 1));
    if (low === 'Delete' || low === 'Backspace') return () => this.#clear(this.#current);
    const region = singleKeys() ? this.regions.find(({ letter }) => letter.toLowerCase() === low) : undefined;
    return region ? () => {
      this.#give(this.#current, region.id);
      this.#goOn();
    } : null;
  }

  // -- showing

  #render() {
    this.cards.forEach((card, at) => this.#renderCard(card, at));
    for (const { id, letter } of this.regions) {
      const owner = this.#owner(id);
      const name = owner ? words.partOf(letter, owner) : words.partFree(letter);
      const slot = this.slots.find((one) => one.dataset.region === id);
      slot.setAttribute('aria-label', name);
      setText(slot.querySelector('.slot-text'), owner ? String(owner) : '–');
      slot.classList.toggle('slot--full', owner > 0);
      this.view.name(id, name);
    }
    this.#progress();
  }

  // The number of the sentence that has a part; 0 for none.
  #owner(region) { return this.#place(this.matching.inferenceOf(region)) + 1; }

  #renderCard(card, at) {
    const mine = this.matching.regionOf(this.inferences[at].id);
    const letters = this.#letters(at);
    for (const button of letters) {
      const { region } = button.dataset;
      const owner = this.#owner(region);
      const isUsed = owner > 0 && region !== mine;
      button.setAttribute('aria-pressed', String(region === mine));
      button.setAttribute('aria-label', isUsed ? words.partOf(this.#letterOf(region), owner) : words.part(this.#letterOf(region)));
      setText(button.querySelector('small'), isUsed ? String(owner) : '');
      button.classList.toggle('letter--used', isUsed);
    }
    const chosen = letters.find((one) => one.dataset.region === mine);
    if (chosen && !letters.includes(document.activeElement)) rove(letters, chosen);
    card.classList.toggle('sentence--done', mine !== null);
  }

  #progress() {
    // A preview has nothing to count.
    if (!byId('count')) return;
    const { done } = this.matching;
    const count = done.filter(Boolean).length;
    const [figures, rest] = words.matched(count, done.length);
    byId('count').replaceChildren(element('b', { text: figures }), rest);
    const bar = byId('progress');
    bar.setAttribute('aria-valuenow', String(count));
    bar.firstElementChild.style.setProperty('--v', `${(100 * count) / done.length}%`);
    byId('undo').disabled = !this.matching.canUndo;
  }
}

/** One of a card's letters is its tab stop. */
function rove(letters, to) {
  for (const one of letters) one.tabIndex = one === to ? 0 : -1;
}

boot(new LocalizationTask());
