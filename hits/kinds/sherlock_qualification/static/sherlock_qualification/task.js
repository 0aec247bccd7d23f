/** Three photos, one at a time, with three pairs and a description each; then the exam questions, if any. */
import { boot } from '../js/hit/page.js';
import { element, icon, setText } from '../js/ui/dom.js';
import { descriptionGap, isComplete, missingFrom, photoState, toAnswer } from './answer.js';
import { PairCard } from './pair.js';
import { PhotoFrame } from '../js/boxes/photo-frame.js';
import { words } from './words.js';

const byId = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

class QualificationTask {
  #step = 0;

  start({ config, announce, preview, changed }) {
    Object.assign(this, { config, announce, preview });
    this.maxSentences = config.unit.limits.sentences;
    this.questions = config.unit.questions.map(({ id }) => id);
    this.panels = all('.panel[data-panel]');
    this.steps = all('.step');
    this.photos = config.unit.photos.map((photo, at) => this.#photo(photo, at));
    this.radios = all('.exam').map((row) => all('input', row));
    byId('work').addEventListener('input', () => {
      this.#render();
      changed();
    });
    this.steps.forEach((step, at) => step.addEventListener('click', () => this.#show(at, { spoken: true })));
    for (const button of all('[data-next]')) button.addEventListener('click', () => this.#advance(Number(button.dataset.next)));
    document.querySelector('.toolbar').addEventListener('click', (e) => this.#enlarge(e.target.closest('[data-tool]')?.dataset.tool));
    this.#show(0);
    this.#render();
  }

  read() {
    return {
      images: this.photos.map(({ id, description, pairs }) => ({ image: id, description: description.value, pairs: pairs.map((pair) => pair.read()) })),
      exam: this.radios.flatMap((row, at) => {
        const chosen = row.find((radio) => radio.checked);
        return chosen ? [{ question: this.questions[at], choice: Number(chosen.value) }] : [];
      }),
    };
  }

  write(answer) {
    const photos = Array.isArray(answer?.images) ? answer.images : [];
    for (const { id, description, pairs } of this.photos) {
      const saved = photos.find((photo) => photo?.image === id);
      description.value = saved?.description ?? '';
      pairs.forEach((pair, at) => pair.write(saved?.pairs?.[at]));
    }
    const exam = new Map((Array.isArray(answer?.exam) ? answer.exam : []).map((row) => [row?.question, row?.choice]));
    this.radios.forEach((row, at) => row.forEach((radio) => { radio.checked = Number(radio.value) === exam.get(this.questions[at]); }));
    this.#render();
  }

  answer() { return toAnswer(this.read()); }

  gaps() { return missingFrom(this.read(), this.questions, this.maxSentences).map((gap) => this.#gap(gap)); }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    const photo = /^images\[(\d)\]\.(?:(description)|pairs\[(\d)\]\.(clue|inference|confidence))/.exec(field);
    if (photo) return this.#placeOnPhoto(Number(photo[1]), photo[3] === undefined ? null : Number(photo[3]), photo[4]);
    const exam = /^exam\[(\d+)\]/.exec(field);
    const at = exam ? this.questions.indexOf(this.answer().exam[Number(exam[1])]?.question) : -1;
    return at < 0 ? null : { control: this.radios[at][0], name: words.gapQuestion(at + 1), reveal: () => this.#show(this.photos.length) };
  }

  /** @param {number} card the server's number of a card in hints: 1 to 9 over the photos @returns {HTMLElement|null} */
  hintPlace(card) {
    const each = this.config.unit.pairs.length;
    return this.photos[Math.floor((card - 1) / each)]?.pairs[(card - 1) % each]?.hints ?? null;
  }

  resume() {
    const states = this.read().images.map((photo) => photoState(photo, this.maxSentences));
    const next = states.findIndex((state) => state !== 'complete');
    this.#show(next < 0 ? this.steps.length - 1 : next);
    const { pairs } = this.photos[Math.max(0, next)];
    (pairs.find((pair) => !isComplete(pair.read())) ?? pairs[0]).open();
  }

  #photo(photo, at) {
    const pairs = all('.ocard', this.panels[at]).map((details) => new PairCard(details));
    for (const pair of pairs) pair.details.addEventListener('toggle', () => pair.details.open && closeOthers(pairs, pair));
    const frame = new PhotoFrame(all('.stage')[at], roomHeight, (zoom) => at === this.#step && showScale(zoom));
    return { id: photo.id, description: byId(`desc-${at + 1}`), pairs, frame };
  }

  #show(at, { spoken = false } = {}) {
    this.#step = at;
    this.panels.forEach((panel, i) => { panel.hidden = i !== at; });
    this.steps.forEach((step, i) => (i === at ? step.setAttribute('aria-current', 'step') : step.removeAttribute('aria-current')));
    const photo = this.photos[at];
    document.querySelector('.canvas').hidden = !photo;
    document.querySelector('.work').classList.toggle('work--exam', !photo);
    this.photos.forEach(({ frame }, i) => { frame.frame.hidden = i !== at; });
    if (photo) {
      for (const credit of all('[data-credit]')) credit.hidden = Number(credit.dataset.credit) !== at + 1;
      photo.frame.zoom.refresh();
      showScale(photo.frame.zoom);
    }
    if (spoken) this.announce(photo ? words.shown(at + 1, this.photos.length, this.#stateOf(at)) : words.questionsShown(this.questions.length));
  }

  /** Moves to the next step: scrolls to the top of the page and focuses the heading, which is then read out. */
  #advance(at) {
    this.#show(at);
    const title = byId(`t-${at + 1}`);
    title.focus({ preventScroll: true });
    // Not scrollIntoView: on a phone it reserves space for a sticky photo that is not shown yet.
    window.scrollBy(0, document.querySelector('.steps').getBoundingClientRect().top);
    if (this.photos[at]) this.photos[at].pairs[0].open();
  }

  #focus(at, control, pair = null) {
    this.#show(at);
    pair?.open();
    control.focus({ preventScroll: true });
    control.scrollIntoView({ block: 'center' });
  }

  #gap({ photo, what, pair, fields, question, questions }) {
    if (questions !== undefined || question !== undefined) {
      const first = question ?? 0;
      const text = questions === undefined ? words.gapQuestion(question + 1) : words.gapQuestions(questions);
      return { key: `q${first}`, href: `#q-${first + 1}`, text, begun: questions === undefined, focus: () => this.#focus(this.photos.length, this.radios[first][0]) };
    }
    const shown = this.photos[photo];
    if (pair === undefined) {
      const text = { photo: words.gapPhoto, missing: words.gapMissing, long: words.gapLong }[what](photo + 1);
      return { key: `d${photo}`, href: `#desc-${photo + 1}`, text, focus: () => this.#focus(photo, shown.description) };
    }
    const card = shown.pairs[pair];
    return {
      key: `p${photo}-${pair}`, href: `#p-${photo + 1}-${pair + 1}`, text: words.gapPair(photo + 1, pair + 1, fields), focus: () => this.#focus(photo, card.control(fields[0]), card),
    };
  }

  #placeOnPhoto(at, pair, field) {
    const photo = this.photos[at];
    if (!photo) return null;
    if (pair === null) return { control: photo.description, name: words.named(at + 1, words.field.description), reveal: () => this.#show(at) };
    const card = photo.pairs[pair];
    const reveal = () => {
      this.#show(at);
      card.open();
    };
    return card ? { control: card.control(field), name: words.namedPair(at + 1, pair + 1, words.field[field]), reveal } : null;
  }

  #render() {
    const now = this.read();
    const done = now.images.flatMap(({ pairs }) => pairs).filter(isComplete).length;
    for (const { pairs } of this.photos) for (const pair of pairs) pair.render();
    now.images.forEach((photo, at) => {
      const state = photoState(photo, this.maxSentences);
      renderStep(this.steps[at], state, this.#stateOf(at));
      const long = descriptionGap(photo, this.maxSentences) === 'long';
      byId(`long-${at + 1}`).hidden = !long;
      this.photos[at].description.setAttribute('aria-invalid', String(long));
    });
    if (this.questions.length) {
      const answered = now.exam.length;
      renderStep(this.steps.at(-1), answered === 0 ? 'empty' : answered === this.questions.length ? 'complete' : 'begun', words.of(answered, this.questions.length));
    }
    const [count, rest] = words.tally(done, this.photos.length * this.config.unit.pairs.length);
    byId('tally')?.replaceChildren(element('b', { text: count }), rest);
  }

  #stateOf(at) {
    const photo = this.read().images[at];
    const state = photoState(photo, this.maxSentences);
    if (state === 'complete') return words.complete;
    return state === 'empty' ? words.notStarted : words.of(photo.pairs.filter(isComplete).length, photo.pairs.length);
  }

  #enlarge(name) {
    const photo = this.photos[this.#step];
    if (!name || !photo) return;
    photo.frame.run(name);
    this.announce(words.zoomed(Math.round(photo.frame.zoom.scale * 100)));
  }
}

function renderStep(step, state, text) {
  const badge = step.querySelector('[data-badge]');
  badge.className = `badge num${state === 'complete' ? ' badge--ok' : state === 'begun' ? ' badge--warn' : ''}`;
  if (badge.textContent !== text) badge.replaceChildren(...(state === 'complete' ? [icon('ok')] : []), element('span', { text }));
}

function showScale(zoom) { setText(byId('zoom'), `${Math.round(zoom.scale * 100)}%`); }

// Browsers that support <details name> close the other cards; older ones do not.
function closeOthers(pairs, opened) {
  for (const pair of pairs) if (pair !== opened) pair.details.open = false;
}

/** The photo's maximal height in CSS pixels: it fits between header and submit bar; less on a phone. */
function roomHeight() {
  if (window.matchMedia('(max-width: 60rem)').matches) return window.innerHeight * 0.36;
  const taken = ['.hitbar', '.steps', '.toolbar', '.submitbar'].map((s) => document.querySelector(s)?.offsetHeight ?? 0);
  return Math.max(260, window.innerHeight - taken.reduce((a, b) => a + b, 0) - 120);
}

boot(new QualificationTask());
