/** The observation task: one photo and a few cards; new boxes belong to the open card. */
import { BoxEditor } from '../boxes/box-editor.js';
import { clamp } from '../boxes/geometry.js';
import { element, setText } from '../ui/dom.js';
import { toast } from '../ui/toast.js';
import { canonical } from '../hit/canonical.js';
import { Card } from './card.js';
import { bonuses, isComplete, isEmpty, missing, toAnswer, unfinished } from './answer.js';
import { words } from './words.js';

const byId = (id) => document.getElementById(id);

export class ObservationTask {
  start({ config, preview, changed }) {
    this.config = config;
    this.preview = preview;
    this.changed = changed;
    const { width, height } = config.unit.image;
    this.editor = new BoxEditor({
      svg: byId('photo'), frame: byId('stage'), toolbar: document.querySelector('.toolbar'), live: byId('say'),
      size: { width, height }, roomHeight, most: config.unit.limits?.boxes, readOnly: preview, onCommand: (command) => this.#command(command),
    });
    this.store = this.editor.store;
    this.cards = [...document.querySelectorAll('.ocard')]
      .map((details) => new Card(details, this.store, { bonusCents: config.pay.bonus_cents }));
    for (const card of this.cards) this.#wire(card);
    this.store.addEventListener('change', (e) => {
      this.#render();
      if (e.detail.kind !== 'load') this.changed();
    });
    this.store.addEventListener('select', () => this.#selected());
    this.store.addEventListener('active', () => this.#hint());
    this.editor.tool.addEventListener('refuse', () => this.#refused());
    document.querySelector('.toolbar').addEventListener('editor:picked', (e) => this.#picked(e.detail));
    document.querySelector('.toolbar').addEventListener('click', () => this.#hint());
    if (preview) for (const name of ['draw', 'undo', 'redo', 'delete']) document.querySelector(`[data-tool="${name}"]`).disabled = true;
    this.#openChanged();
    this.#render();
  }

  read() { return { observations: this.cards.map((card) => card.read()) }; }

  write(answer) {
    const kept = Array.isArray(answer?.observations) ? answer.observations : [];
    for (const card of this.cards) card.write(kept.find((o) => o.index === card.index));
    this.store.load(kept.flatMap((o) => (o.boxes ?? []).map((box) => ({ obs: o.index, box }))));
    this.#render();
  }

  answer() { return toAnswer(this.read().observations); }

  gaps() {
    return unfinished(this.read().observations).map((o, place) => {
      const parts = missing(o);
      const later = place > 0 && isEmpty(o) ? words.notStartedGap : words.gap(parts);
      const text = o.bonus ? words.bonusGap(parts) : later;
      return {
        key: `o${o.index}`, href: `#o${o.index}`, obs: o.index, begun: !isEmpty(o), text, focus: () => this.cards[o.index - 1].focusOn(parts[0]),
      };
    });
  }

  cents() {
    return this.config.pay.reward_cents + bonuses(this.read().observations) * this.config.pay.bonus_cents;
  }

  place(field) {
    const match = /^observations\[(\d+)\](?:\.(clue|inference|confidence|boxes))?/.exec(field);
    if (!match) return null;
    const index = this.answer().observations[Number(match[1])]?.index;
    const card = this.cards[index - 1];
    if (!card) return null;
    const part = match[2] === 'boxes' ? 'box' : match[2] ?? 'clue';
    return { control: card.control(part), name: `${index}, ${words.field[part]}`, reveal: () => card.open() };
  }

  hintPlace(card) { return this.cards[card - 1]?.details.querySelector('[data-hints]') ?? null; }

  finish() { this.editor.tool.finish(); }

  summary(answer) {
    const all = answer?.observations ?? [];
    const done = all.filter((o) => !o.bonus && isComplete(o)).length;
    const boxes = all.reduce((sum, o) => sum + o.boxes.length, 0);
    return words.summary(done, this.config.unit.required, boxes);
  }

  differences(mine, theirs) {
    const of = (answer, index) => canonical(answer?.observations?.find((o) => o.index === index));
    return words.differ(this.cards.map((card) => card.index).filter((n) => of(mine, n) !== of(theirs, n)).map(String));
  }

  resume() {
    const observations = this.read().observations;
    const next = observations.find((o) => !o.bonus && !isComplete(o)) ?? observations[0];
    this.cards[next.index - 1].open();
  }

  // Keyboard commands for cards: by number, the next or previous one, the first gap.
  #command({ name, number }) {
    const open = this.cards.findIndex((card) => card.isOpen);
    const step = { 'card-next': 1, 'card-previous': -1 }[name];
    if (name === 'card') this.cards[number - 1]?.focusOn('clue');
    else if (step) this.cards[clamp(open + step, 0, this.cards.length - 1)].focusOn('clue');
    else if (name === 'gap') this.gaps()[0]?.focus();
    else return false;
    return true;
  }

  #wire(card) {
    card.details.addEventListener('toggle', () => this.#openChanged(card));
    card.details.addEventListener('input', () => {
      this.#render();
      this.changed();
    });
    card.draw.addEventListener('click', (e) => {
      // Pressed by key, without a pointer: a box is added, to be moved with the arrow keys.
      if (e.detail === 0) this.editor.addByKey();
      else this.editor.arm();
    });
    card.boxList.addEventListener('click', (e) => {
      const [select, remove] = [e.target.closest('[data-select]'), e.target.closest('[data-remove]')];
      if (remove) {
        this.store.remove(Number(remove.dataset.remove));
        (card.boxList.querySelector('button') ?? card.draw).focus();
      } else if (select) {
        this.store.select(Number(select.dataset.select));
        this.editor.view.focusBox(this.store.selectedId);
      }
    });
    card.clearing?.querySelector('[data-clear]').addEventListener('click', () => this.#clear(card));
  }

  #clear(card) {
    const before = card.read();
    card.write();
    this.store.removeAll(card.index);
    this.#render();
    this.changed();
    card.clue.focus();
    toast(words.cleared(card.index), () => {
      card.write(before);
      this.store.addMany(before.boxes.map((box) => ({ obs: card.index, box })));
      this.#render();
      this.changed();
    });
  }

  // Browsers that support <details name> close the other cards; older ones do not.
  #openChanged(opened) {
    if (opened?.isOpen) {
      for (const card of this.cards) if (card !== opened) card.details.open = false;
      opened.open();
    }
    const open = this.cards.find((card) => card.isOpen);
    this.store.setActive(open && !this.preview ? open.index : null);
    if (open && this.store.selected && this.store.selected.obs !== open.index) this.store.select(null);
    this.#hint();
  }

  #selected() {
    const box = this.store.selected;
    if (box && box.obs !== this.store.active) this.cards[box.obs - 1]?.open();
    this.#render();
  }

  #render() {
    const all = this.cards.map((card) => {
      card.render();
      return card.read();
    });
    const done = all.filter((o) => !o.bonus && isComplete(o)).length;
    const [count, rest] = words.tally(done, this.config.unit.required);
    byId('tally').replaceChildren(element('b', { text: count }), rest);
    this.#hint();
  }

  // Also shows the screen reader's message, until the next hint replaces it.
  #refused() {
    byId('hint').textContent = byId('say').textContent;
    byId('hint').classList.add('refused');
  }

  // Shows which of several boxes at one point is selected, without another announcement.
  #picked({ at, count }) {
    const label = this.store.label(this.store.selected);
    byId('hint').replaceChildren(words.hintPicked(label, at, count));
  }

  /** Returns the hint for a selected box; on touch screens it names no keys. */
  #hintSelected(label) {
    return matchMedia('(pointer: coarse), (max-width: 60rem)').matches ? [words.hintTouched(label)] : words.hintSelected(label);
  }

  #hint() {
    byId('hint').classList.remove('refused');
    const { selected, active, size } = this.store;
    const dot = byId('draw-for');
    dot.className = active === null ? 'dot dot--none' : `dot obs obs-${active}`;
    setText(dot, active === null ? '–' : String(active));
    const pan = this.editor.tool.mode === 'pan';
    const text = this.preview ? words.hintPreview : pan ? words.hintPan : active === null ? words.hintNoCard : words.hintDraw(active);
    const parts = selected ? this.#hintSelected(this.store.label(selected)) : [text];
    byId('hint').replaceChildren(...parts.map((p) => (p.key ? element('kbd', { text: p.key }) : p)));
    setText(byId('place'), selected ? words.place(selected) : words.size(size));
  }
}

/** The photo's maximum height in CSS pixels: it fits between header and submit bar; less on a phone. */
function roomHeight() {
  const narrow = window.matchMedia('(max-width: 60rem)').matches;
  if (narrow) return window.innerHeight * 0.42;
  const taken = ['.hitbar', '.toolbar', '.below', '.submitbar'].map((s) => document.querySelector(s)?.offsetHeight ?? 0);
  return Math.max(260, window.innerHeight - taken.reduce((a, b) => a + b, 0) - 110);
}
