/** Four questions about a scene that another person wrote, and where it was seen before. */
import { boot } from '../js/hit/page.js';
import { RatingRows, valueOf } from '../js/hit/ratings.js';
import { element } from '../js/ui/dom.js';
import { gettext, interpolate, ngettext, pieces } from '../js/ui/i18n.js';

const byId = (id) => document.getElementById(id);
const words = {
  // The count is shown in bold and comes first, in translations too.
  answered: (n, of) => pieces(gettext('%(count)s answered'), { count: interpolate(gettext('%(n)s of %(of)s'), { n, of }) }),
  gap: {
    plausible: gettext('choose the more plausible one'),
    needs_premise: gettext('answer whether the premise is needed'),
    drawable: gettext('answer whether pictures can show it'),
    seen: gettext('answer whether you have seen it'),
  },
  name: {
    plausible: gettext('More plausible'), needs_premise: gettext('Premise needed'), drawable: gettext('Can be shown'), seen: gettext('Seen before'), like: gettext('Where'),
  },
  like: gettext('write where you have seen it'),
  long: (n) => interpolate(ngettext('shorten where by %(n)s character', 'shorten where by %(n)s characters', n), { n }),
};

class SceneReviewTask {
  start({ config, preview, changed }) {
    this.config = config;
    this.items = [...document.querySelectorAll('.rate')];
    this.names = this.items.map((item) => item.dataset.question);
    this.like = byId('like');
    const show = () => {
      this.#show();
      changed();
    };
    this.rows = new RatingRows(this.items, { preview, changed: show });
    this.like.addEventListener('input', changed);
    this.#show();
  }

  read() {
    const chosen = this.items.map((item, at) => [this.names[at], valueOf(item)]).filter(([, value]) => value !== null);
    return { ...Object.fromEntries(chosen), like: this.like.value };
  }

  write(answer) {
    this.names.forEach((name, at) => this.rows.set(at, answer?.[name] ?? null));
    this.like.value = answer?.like ?? '';
    this.#show();
  }

  /** What is written where nothing was seen is kept in the draft and not sent. */
  answer() { return { ...this.read(), like: this.#isSeen ? this.like.value : '' }; }

  gaps() {
    const open = this.rows.rated.flatMap((done, at) => (done ? [] : [{ key: this.names[at], href: `#q${at + 1}`, text: words.gap[this.names[at]], focus: () => this.rows.goTo(at) }]));
    const problem = this.#isSeen ? this.#likeProblem : '';
    return problem ? [...open, { key: 'like', href: '#like', text: problem, focus: () => this.like.focus() }] : open;
  }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    if (field === 'like') return { control: this.like, name: words.name.like };
    const at = this.names.indexOf(field);
    return at < 0 ? null : { control: byId(`${field}-1`), name: words.name[field], reveal: () => this.rows.goTo(at) };
  }

  resume() { this.rows.resume(); }

  get #isSeen() { return valueOf(this.items[this.names.indexOf('seen')]) === 'yes'; }

  get #likeProblem() {
    const text = this.like.value.trim();
    if (!text) return words.like;
    const over = [...text].length - this.config.unit.max_like;
    return over > 0 ? words.long(over) : '';
  }

  #show() {
    byId('like-field').hidden = !this.#isSeen;
    const rated = this.rows.rated;
    const [count, rest] = words.answered(rated.filter(Boolean).length, rated.length);
    byId('count').replaceChildren(element('b', { text: count }), rest);
  }
}

boot(new SceneReviewTask());
