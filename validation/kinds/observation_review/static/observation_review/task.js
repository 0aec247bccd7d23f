/** Three questions about another person's observation. */
import { boot } from '../js/hit/page.js';
import { RatingRows, valueOf } from '../js/hit/ratings.js';
import { watchStages } from '../js/boxes/stage.js';
import { element } from '../js/ui/dom.js';
import { gettext, interpolate, pieces } from '../js/ui/i18n.js';

const byId = (id) => document.getElementById(id);
const words = {
  // The count is shown in bold and comes first, in translations too.
  answered: (n, of) => pieces(gettext('%(count)s answered'), { count: interpolate(gettext('%(n)s of %(of)s'), { n, of }) }),
  gap: {
    boxes: gettext('judge the boxes'),
    reasonable: gettext('say how reasonable it is'),
    interesting: gettext('say how interesting it is'),
  },
  name: { boxes: gettext('Boxes'), reasonable: gettext('Reasonable'), interesting: gettext('Interesting') },
};

class ReviewTask {
  start({ config, preview, changed }) {
    this.config = config;
    this.items = [...document.querySelectorAll('.rate')];
    this.names = this.items.map((item) => item.dataset.question);
    this.rows = new RatingRows(this.items, {
      preview,
      changed: () => {
        this.#count();
        changed();
      },
    });
    watchStages();
    this.#count();
  }

  read() {
    return Object.fromEntries(this.items.map((item, i) => [this.names[i], valueOf(item)]).filter(([, value]) => value !== null));
  }

  write(answer) {
    this.names.forEach((name, index) => this.rows.set(index, answer?.[name] ?? null));
    this.#count();
  }

  answer() { return this.read(); }

  gaps() {
    return this.rows.rated.flatMap((done, i) => (done ? [] : [{ key: this.names[i], href: `#q${i + 1}`, text: words.gap[this.names[i]], focus: () => this.rows.goTo(i) }]));
  }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    const index = this.names.indexOf(field);
    return index < 0 ? null : { control: byId(`${field}-1`), name: words.name[field], reveal: () => this.rows.goTo(index) };
  }

  resume() { this.rows.resume(); }

  #count() {
    const rated = this.rows.rated;
    const [count, rest] = words.answered(rated.filter(Boolean).length, rated.length);
    byId('count').replaceChildren(element('b', { text: count }), rest);
  }
}

boot(new ReviewTask());
