/** The form of a review: four choices for each question, advice, and what should become of the work. */
import { PlainForm } from '../js/hit/plain-form.js';
import { countWords } from '../js/mentions/segments.js';
import { MentionReader } from '../js/mentions/reader.js';
import { setText } from '../js/ui/dom.js';
import { gettext, interpolate, ngettext } from '../js/ui/i18n.js';
import { adviceProblem } from './advice.js';
import { fieldOf, toAnswer, toFields } from './answer.js';

const words = {
  few: (count, least) => interpolate(gettext('%(n)s of %(least)s words'), { n: count, least }),
  long: (most) => interpolate(gettext('use at most %(n)s sentences'), { n: most }),
  open: (number, n) => interpolate(ngettext('question %(number)s: %(n)s choice', 'question %(number)s: %(n)s choices', n), { number, n }),
  counted: (n) => interpolate(ngettext('%(n)s word', '%(n)s words', n), { n }),
};

export class ReviewForm extends PlainForm {
  start(page) {
    super.start(page);
    const { objects, triplets, limits } = page.config.unit;
    this.count = triplets.length;
    this.limits = limits;
    this.advice = document.getElementById('advice');
    this.reader = new MentionReader({ objects, announce: page.announce });
    for (const type of ['input', 'change']) this.advice.addEventListener(type, () => this.#check());
    this.#check();
  }

  read() { return toAnswer(super.read(), this.count); }

  write(answer) { super.write(toFields(answer)); }

  answer() { return toAnswer(super.answer(), this.count); }

  /** One gap for each question, however many choices it still needs. */
  gaps() {
    this.#check();
    const gaps = super.gaps();
    const numberOf = ({ key }) => /-(\d)$/.exec(key)?.[1];
    return gaps.flatMap((gap) => {
      const number = numberOf(gap);
      if (!number) return [gap];
      const open = gaps.filter((other) => numberOf(other) === number);
      return open[0] === gap ? [{ ...gap, text: words.open(number, open.length) }] : [];
    });
  }

  place(path) { return super.place(fieldOf(path)); }

  #check() {
    const count = countWords([this.advice.value]);
    const problem = adviceProblem(this.advice.value, count, this.limits);
    const text = { few: () => words.few(problem.count, this.limits.words), long: () => words.long(this.limits.sentences) }[problem?.code]?.() ?? '';
    this.advice.setCustomValidity(text);
    setText(document.getElementById('advice-count'), text || words.counted(count));
  }
}
