/** The exam: multiple-choice questions, then one question with its answer and reason about a photo. */
import { boot } from '../js/hit/page.js';
import { safeStorage } from '../js/hit/storage.js';
import { MentionEditor } from '../js/mentions/editor.js';
import { showGestures } from '../js/mentions/gestures.js';
import { roomBeside } from '../js/mentions/photo-tools.js';
import { answerProblems, isBlank, tidyTriplet } from '../js/mentions/rules.js';
import { TripletCard } from '../js/mentions/triplet-card.js';
import { words as shared } from '../js/mentions/words.js';
import { element, icon } from '../js/ui/dom.js';
import { words } from './words.js';

const byId = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

class ExamTask {
  start({ config, announce, preview, changed }) {
    this.config = config;
    const { objects, limits, questions } = config.unit;
    this.questions = questions.map(({ id }) => id);
    this.editor = new MentionEditor({ objects, announce, readOnly: preview, roomHeight: () => roomBeside('.steps'), current: () => this.card.fields.question });
    const touched = () => {
      this.#render();
      changed();
    };
    this.card = new TripletCard(document.querySelector('[data-triplet]'), this.editor, { limits, changed: touched });
    this.radios = all('.exam').map((row) => all('input', row));
    for (const radio of this.radios.flat()) radio.addEventListener('change', touched);
    for (const step of all('.step')) step.addEventListener('click', () => this.#show(step.dataset.step));
    document.querySelector('[data-next]')?.addEventListener('click', () => this.#advance());
    showGestures(byId('gestures'), safeStorage());
    this.#show(this.questions.length ? 'exam' : 'write');
    this.#render();
  }

  read() {
    return { exam: this.#choices(), triplet: this.card.read(), objects_sha256: this.config.unit.objects_sha256 };
  }

  /** A draft about another object list is not shown: its numbers mean other objects. */
  write(answer) {
    const exam = new Map((Array.isArray(answer?.exam) ? answer.exam : []).map((row) => [row?.question, row?.choice]));
    this.radios.forEach((row, at) => row.forEach((radio) => { radio.checked = Number(radio.value) === exam.get(this.questions[at]); }));
    this.card.write(answer?.objects_sha256 === this.config.unit.objects_sha256 ? answer.triplet : null);
    this.#render();
  }

  answer() { return { ...this.read(), triplet: tidyTriplet(this.card.read()) }; }

  gaps() {
    const open = this.radios.flatMap((row, at) => (row.some((radio) => radio.checked) ? [] : [at]));
    const focus = (at) => () => {
      this.#show('exam');
      this.radios[at][0].focus();
    };
    const gaps = open.length > 1 && open.length === this.radios.length
      ? [{ key: 'exam', href: '#exam-1', text: words.questions(open.length), focus: focus(0) }]
      : open.map((at) => ({ key: `exam${at}`, href: `#exam-${at + 1}`, text: words.question(at + 1), focus: focus(at) }));
    return [...gaps, ...this.#writtenGaps()];
  }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    const exam = /^exam\[(\d+)\]/.exec(field);
    if (exam) {
      const at = this.questions.indexOf(this.#choices()[Number(exam[1])]?.question);
      return at < 0 ? null : { control: this.radios[at][0], name: words.question(at + 1), reveal: () => this.#show('exam') };
    }
    const triplet = /^triplet(?:\.(question|answer|rationale|likelihood))?$/.exec(field);
    if (!triplet) return null;
    const part = triplet[1] ?? 'question';
    return { control: this.card.control(part), name: shared.field[part], reveal: () => this.#show('write') };
  }

  hintPlace() { return this.card.hints; }

  resume() {
    const isAnswered = this.radios.every((row) => row.some((radio) => radio.checked));
    if (isAnswered) this.#show('write');
  }

  #choices() {
    return this.radios.flatMap((row, at) => {
      const chosen = row.find((radio) => radio.checked);
      return chosen ? [{ question: this.questions[at], choice: Number(chosen.value) }] : [];
    });
  }

  #writtenGaps() {
    const { triplets: [problems], mentions } = answerProblems([this.card.read()], this.config.unit.limits, this.editor.names);
    const focus = (part) => () => {
      this.#show('write');
      this.card.focusOn(part);
    };
    if (problems.length) return [{ key: 'triplet', href: '#question-1', text: words.written(shared.gap(problems)), focus: focus(problems[0].field) }];
    return mentions ? [{ key: 'mentions', href: '#question-1', text: words.mention, focus: focus('question') }] : [];
  }

  #show(name) {
    for (const panel of all('[data-panel]')) panel.hidden = panel.dataset.panel !== name;
    for (const step of all('.step')) {
      if (step.dataset.step === name) step.setAttribute('aria-current', 'step');
      else step.removeAttribute('aria-current');
    }
    document.querySelector('.canvas').hidden = name === 'exam';
    document.querySelector('.work').classList.toggle('work--exam', name === 'exam');
    this.editor.frame.zoom.refresh();
  }

  #advance() {
    this.#show('write');
    byId('write-title').focus({ preventScroll: true });
    window.scrollBy(0, document.querySelector('.steps').getBoundingClientRect().top);
  }

  #render() {
    this.card.render();
    const answered = this.#choices().length;
    const [exam, write] = ['exam', 'write'].map((name) => document.querySelector(`.step[data-step="${name}"]`));
    if (exam) badge(exam, answered, this.radios.length, words.of(answered, this.radios.length));
    const done = this.#writtenGaps().length === 0;
    badge(write, done ? 1 : isBlank(this.card.read()) ? 0 : 0.5, 1, done ? words.complete : isBlank(this.card.read()) ? words.notStarted : words.begun);
  }
}

function badge(step, done, of, text) {
  const place = step.querySelector('[data-badge]');
  place.className = `badge num${done === of ? ' badge--ok' : done > 0 ? ' badge--warn' : ''}`;
  place.replaceChildren(...(done === of ? [icon('ok')] : []), element('span', { text }));
}

boot(new ExamTask());
