/** Match each sentence to a part of the photo: by dragging, by two clicks, or by a letter key. */
import { acceptsKeys, showProgress } from '../js/hit/judging.js';
import { boot } from '../js/hit/page.js';
import { around, windowOn } from '../js/boxes/geometry.js';
import { isTyping } from '../js/boxes/keyboard.js';
import { setIcon, setText } from '../js/ui/dom.js';
import { singleKeys } from '../js/ui/keys.js';
import { draggable } from './drag.js';
import { Matching } from './matching.js';
import { Regions } from './regions.js';
import { words } from './words.js';

const byId = (id) => document.getElementById(id);
const MOVES = { ArrowLeft: -1, ArrowRight: 1 };

class LocalizationTask {
  #current = 0;
  #highlighted = null;

  start({ config, preview, announce, changed }) {
    const { image, regions, inferences } = config.unit;
    Object.assign(this, { config, announce, changed, regions, inferences });
    this.enabled = () => acceptsKeys(preview);
    this.matching = new Matching(inferences.map(({ id }) => id), regions.map(({ id }) => id));
    this.cards = [...document.querySelectorAll('.sentence')];
    this.slots = [...document.querySelectorAll('.slot')];
    this.view = new Regions(byId('photo'), byId('stage'), regions, image);
    this.cards.forEach((card, at) => this.#wireCard(card, at));
    byId('photo').addEventListener('click', (e) => this.#choosePart(e.target.closest('[data-region]')));
    for (const slot of this.slots) slot.addEventListener('click', () => this.#choosePart(slot));
    this.#wireHighlights();
    this.#wireTools();
    document.addEventListener('keydown', (e) => this.#key(e));
    this.#setCurrent(0);
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

  resume() { this.#setCurrent(Math.max(0, this.matching.next(-1))); }

  #letters(at) { return [...this.cards[at].querySelectorAll('.letter')]; }

  #letterOf(region) { return this.regions.find(({ id }) => id === region)?.letter ?? ''; }

  #indexOf(inference) { return this.inferences.findIndex(({ id }) => id === inference); }

  // -- changes

  // A click on a part, on the photo or below it, gives it to the current sentence, and the next sentence becomes current.
  #choosePart(target) {
    const region = target?.dataset.region;
    if (!region || !this.enabled()) return;
    this.#assign(this.#current, region);
    this.#goToNext();
  }

  #assign(at, region) {
    const { changed, other } = this.matching.assign(this.inferences[at].id, region);
    if (!changed) return;
    const letter = this.#letterOf(region);
    const its = other && this.matching.regionOf(other);
    if (its) this.announce(words.swapped(at + 1, letter, this.#indexOf(other) + 1, this.#letterOf(its)));
    else if (other) this.announce(words.takenFrom(at + 1, letter, this.#indexOf(other) + 1));
    else this.announce(words.given(at + 1, letter));
    this.#setCurrent(at);
    this.#update();
  }

  #clear(at) {
    if (!this.matching.clear(this.inferences[at].id)) return;
    this.announce(words.cleared(at + 1));
    this.#update();
  }

  #undo(again = false) {
    const did = again ? this.matching.redo() : this.matching.undo();
    this.announce(did ? (again ? words.redone : words.undone) : words.nothingToUndo);
    if (did) this.#update();
  }

  #update() {
    this.#render();
    this.changed();
  }

  #goToNext() {
    const next = this.matching.next(this.#current);
    if (next >= 0) this.#goTo(next);
  }

  #goTo(at) {
    this.#setCurrent(at);
    const letters = this.#letters(at);
    (letters.find((one) => one.tabIndex === 0) ?? letters[0]).focus({ preventScroll: true });
    this.cards[at].scrollIntoView({ block: 'nearest' });
  }

  #setCurrent(at) {
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
    card.addEventListener('focusin', () => this.#setCurrent(at));
    card.addEventListener('pointerdown', () => this.#setCurrent(at));
    for (const button of letters) {
      button.addEventListener('click', () => {
        if (button.getAttribute('aria-pressed') === 'true') this.#clear(at);
        else this.#assign(at, button.dataset.region);
        setTabStop(letters, button);
      });
      button.addEventListener('keydown', (e) => {
        const step = MOVES[e.key];
        if (!step || e.ctrlKey || e.metaKey || e.altKey) return;
        e.preventDefault();
        const next = letters[(letters.indexOf(button) + step + letters.length) % letters.length];
        setTabStop(letters, next);
        next.focus();
        this.#highlight(next.dataset.region);
      });
    }
    setTabStop(letters, letters[0]);
    for (const handle of card.querySelectorAll('[data-drag]')) {
      draggable(handle, {
        enabled: this.enabled,
        byTouch: handle.dataset.drag === 'touch',
        label: () => `${at + 1}  ${this.inferences[at].text}`,
        over: (region) => this.#highlight(region),
        drop: (region) => this.#assign(at, region),
        onDragging: (on) => document.body.classList.toggle('dragging', on),
      });
    }
  }

  // Pointing at a part's letter or slot highlights the part on the photo; so do the arrow keys. Focus alone does not: at
  // the next sentence, it would highlight the first letter's part, as if that were the answer.
  #wireHighlights() {
    for (const part of document.querySelectorAll('.letter, .slot')) {
      part.addEventListener('pointerenter', () => this.#highlight(part.dataset.region));
      for (const type of ['pointerleave', 'blur']) part.addEventListener(type, () => this.#highlight(null));
    }
    for (const slot of this.slots) slot.addEventListener('focus', () => slot.matches(':focus-visible') && this.#highlight(slot.dataset.region));
  }

  #highlight(region) {
    if (region !== null) this.#highlighted = region;
    this.view.highlight(region);
    for (const slot of this.slots) slot.classList.toggle('slot--over', slot.dataset.region === region);
  }

  #wireTools() {
    byId('undo').addEventListener('click', () => { if (this.enabled()) this.#undo(); });
    byId('peek').addEventListener('click', () => this.#toggleZoom());
    byId('help').addEventListener('click', () => byId('shortcuts').showModal());
  }

  // Zooms to the part that was highlighted last, or to the current sentence's; or shows the whole photo.
  #toggleZoom() {
    const { image } = this.config.unit;
    const button = byId('peek');
    const zoomed = button.getAttribute('aria-pressed') !== 'true';
    const target = this.#highlighted ?? this.matching.regionOf(this.inferences[this.#current].id) ?? this.regions[0].id;
    const boxes = this.regions.find(({ id }) => id === target).boxes;
    const view = zoomed ? windowOn(around(boxes), image) : { left: 0, top: 0, width: image.width, height: image.height };
    byId('photo').setAttribute('viewBox', `${view.left} ${view.top} ${view.width} ${view.height}`);
    button.setAttribute('aria-pressed', String(zoomed));
    setText(button.querySelector('span'), zoomed ? words.zoomOut : words.zoomIn);
    setIcon(button.querySelector('svg'), zoomed ? 'out' : 'in');
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
    if (low === 'z' && singleKeys() && !ctrlKey && !metaKey) return () => this.#toggleZoom();
    if (!this.enabled()) return null;
    if (ctrlKey || metaKey) {
      if (low === 'z') return () => this.#undo(shiftKey);
      return low === 'y' ? () => this.#undo(true) : null;
    }
    // Arrow keys scroll the instructions.
    const step = target.closest?.('.how') ? 0 : { ArrowDown: 1, ArrowUp: -1 }[low];
    if (step) return () => this.#goTo(Math.min(Math.max(this.#current + step, 0), this.cards.length - 1));
    if (low === 'Delete' || low === 'Backspace') return () => this.#clear(this.#current);
    const region = singleKeys() ? this.regions.find(({ letter }) => letter.toLowerCase() === low) : undefined;
    return region ? () => {
      this.#assign(this.#current, region.id);
      this.#goToNext();
    } : null;
  }

  // -- display

  #render() {
    this.cards.forEach((card, at) => this.#renderCard(card, at));
    for (const { id, letter } of this.regions) {
      const owner = this.#owner(id);
      const name = owner ? words.partOf(letter, owner) : words.partFree(letter);
      const slot = this.slots.find((one) => one.dataset.region === id);
      slot.setAttribute('aria-label', name);
      setText(slot.querySelector('.slot-text'), owner ? String(owner) : '–');
      slot.classList.toggle('slot--full', owner > 0);
      this.view.setLabel(id, name);
    }
    this.#progress();
  }

  // The number of a part's sentence; 0 without one.
  #owner(region) { return this.#indexOf(this.matching.inferenceOf(region)) + 1; }

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
    if (chosen && !letters.includes(document.activeElement)) setTabStop(letters, chosen);
    card.classList.toggle('sentence--done', mine !== null);
  }

  #progress() {
    const { done } = this.matching;
    const count = done.filter(Boolean).length;
    showProgress(count, done.length, words.matched(count, done.length));
    byId('undo').disabled = !this.matching.canUndo;
  }
}

/** Makes one of a card's letters its only tab stop. */
function setTabStop(letters, to) {
  for (const one of letters) one.tabIndex = one === to ? 0 : -1;
}

boot(new LocalizationTask());
