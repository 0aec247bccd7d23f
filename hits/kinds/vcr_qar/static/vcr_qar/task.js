/** The question task: one photo with objects, one to three questions with answers and reasons, and whether the photo is interesting. */
import { boot } from '../js/hit/page.js';
import { canonical } from '../js/hit/canonical.js';
import { safeStorage } from '../js/hit/storage.js';
import { MentionEditor } from '../js/mentions/editor.js';
import { showGestures } from '../js/mentions/gestures.js';
import { roomBeside } from '../js/mentions/photo-tools.js';
import { answerProblems, tidyTriplet } from '../js/mentions/rules.js';
import { TripletCard } from '../js/mentions/triplet-card.js';
import { words as shared } from '../js/mentions/words.js';
import { element } from '../js/ui/dom.js';
import { toast } from '../js/ui/toast.js';
import { words } from './words.js';

const byId = (id) => document.getElementById(id);

class QuestionTask {
  start({ config, announce, preview, changed }) {
    Object.assign(this, { config, changed });
    const { objects, limits } = config.unit;
    this.editor = new MentionEditor({ objects, announce, readOnly: preview, roomHeight: roomBeside, current: () => this.#open.fields.question });
    const touched = () => {
      this.#render();
      changed();
    };
    this.cards = [...document.querySelectorAll('[data-triplet]')]
      .map((root) => new TripletCard(root, this.editor, { limits, bonusCents: config.pay.bonus_cents, changed: touched }));
    this.interest = [...byId('interest').querySelectorAll('input')];
    for (const radio of this.interest) radio.addEventListener('change', touched);
    for (const card of this.cards) this.#wire(card);
    showGestures(byId('gestures'), safeStorage());
    this.#render();
  }

  read() {
    return { triplets: this.cards.map((card) => card.read()), interest: this.#interest, objects_sha256: this.config.unit.objects_sha256 };
  }

  /** A draft from another object list is not shown: its numbers mean other objects. */
  write(answer) {
    const kept = answer?.objects_sha256 === this.config.unit.objects_sha256 ? answer : null;
    this.cards.forEach((card, at) => card.write(kept?.triplets?.[at]));
    for (const radio of this.interest) radio.checked = Number(radio.value) === (kept?.interest ?? null);
    this.#render();
  }

  answer() {
    return { ...this.read(), triplets: this.#written.map((card) => tidyTriplet(card.read())) };
  }

  gaps() {
    const cards = this.#written;
    const { triplets, mentions } = answerProblems(cards.map((card) => card.read()), this.config.unit.limits, this.editor.names);
    const gaps = cards.flatMap((card, at) => (triplets[at].length ? [this.#gap(card, triplets[at])] : []));
    // Who has not written everything yet may still mention something.
    if (mentions && !gaps.length) gaps.push({ key: 'mentions', href: '#q1', text: words.mentions(mentions), focus: () => cards.at(-1).focusOn('question') });
    if (this.#interest === null) gaps.push({ key: 'interest', href: '#interest', text: words.interest, focus: () => this.interest[0].focus() });
    return gaps;
  }

  cents() {
    const { reward_cents: reward, bonus_cents: bonus } = this.config.pay;
    return reward + bonus * this.cards.filter((card) => card.bonus && card.isComplete).length;
  }

  place(field) {
    if (field === 'interest') return { control: this.interest[0], name: words.interestName };
    const match = /^triplets(?:\[(\d)\](?:\.(question|answer|rationale|likelihood))?)?/.exec(field);
    const card = match ? this.#written[Number(match[1] ?? 0)] : null;
    if (!card) return null;
    const part = match[2] ?? 'question';
    return { control: card.control(part), name: words.named(card.index, shared.field[part]), reveal: () => card.open() };
  }

  // Hints count the triplets of the draft, which are all cards.
  hintPlace(card) { return this.cards[card - 1]?.hints ?? null; }

  summary(answer) {
    const written = (answer?.triplets ?? []).filter((triplet) => triplet.question?.length);
    return words.summary(written.length);
  }

  differences(mine, theirs) {
    const of = (answer, at) => canonical(answer?.triplets?.[at]);
    return words.differ(this.cards.map((_, at) => at).filter((at) => of(mine, at) !== of(theirs, at)).map((at) => String(at + 1)));
  }

  resume() { (this.cards.find((card) => card.problems().length) ?? this.cards[0]).open(); }

  /** The cards that count: the first one, and bonus cards with anything in them. */
  get #written() { return this.cards.filter((card) => !card.bonus || !card.isBlank); }

  get #interest() {
    const chosen = this.interest.find((radio) => radio.checked);
    return chosen ? Number(chosen.value) : null;
  }

  #gap(card, problems) {
    return {
      key: `q${card.index}`, href: `#q${card.index}`, text: words.gap(card.index, shared.gap(problems), card.bonus), focus: () => card.focusOn(problems[0].field),
    };
  }

  get #open() { return this.cards.find((card) => card.isOpen) ?? this.cards[0]; }

  #wire(card) {
    card.root.addEventListener('toggle', () => {
      if (!card.isOpen) for (const field of Object.values(card.fields)) this.editor.leave(field);
      // Browsers that support <details name> close the other cards; older ones do not.
      else for (const other of this.cards) if (other !== card) other.root.open = false;
    });
    card.root.querySelector('[data-clear]')?.addEventListener('click', () => {
      const before = card.read();
      const restore = (triplet) => {
        card.write(triplet);
        this.#render();
        this.changed();
      };
      restore(null);
      card.fields.question.focus();
      toast(words.cleared(card.index), () => restore(before));
    });
  }

  #render() {
    for (const card of this.cards) card.render();
    const done = this.cards.filter((card) => card.isComplete).length;
    const [count, rest] = words.tally(done, this.cards.length);
    byId('tally')?.replaceChildren(element('b', { text: count }), rest);
  }
}

boot(new QuestionTask());
