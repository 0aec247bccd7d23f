/** Judge photos one after another; one key press judges one photo. */
import { boot } from '../js/hit/page.js';
import { RatingRows, valueOf } from '../js/hit/ratings.js';
import { element } from '../js/ui/dom.js';
import { gettext, interpolate, pieces } from '../js/ui/i18n.js';
import { singleKeys } from '../js/ui/keys.js';

const byId = (id) => document.getElementById(id);
const words = {
  // The count is shown in bold and comes first, in translations too.
  judged: (n, of) => pieces(gettext('%(count)s judged'), { count: interpolate(gettext('%(n)s of %(of)s'), { n, of }) }),
  row: (n) => interpolate(gettext('Photo %(n)s'), { n }),
};

class InterestTask {
  start({ config, preview, changed }) {
    this.config = config;
    this.items = [...document.querySelectorAll('.shot')];
    this.rows = new RatingRows(this.items, {
      enabled: () => !preview && !byId('work').disabled && !byId('work').inert,
      digits: singleKeys,
      changed: () => {
        this.#progress();
        changed();
      },
    });
    this.#progress();
  }

  read() {
    const rows = this.config.unit.images.map(({ id }, i) => ({ image: id, verdict: valueOf(this.items[i]) }));
    return { verdicts: rows.filter((row) => row.verdict !== null).map((row) => ({ ...row, verdict: Number(row.verdict) })) };
  }

  write(answer) {
    const kept = new Map((answer?.verdicts ?? []).map((row) => [row.image, row.verdict]));
    this.config.unit.images.forEach(({ id }, index) => this.rows.set(index, kept.get(id) ?? null));
    this.#progress();
  }

  answer() { return this.read(); }

  gaps() {
    return this.rows.rated.flatMap((done, i) => (done ? [] : [{ key: `r${i + 1}`, href: `#row${i + 1}`, text: String(i + 1), name: words.row(i + 1), focus: () => this.rows.goTo(i) }]));
  }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    const match = /^verdicts\[(\d+)\]/.exec(field);
    const image = match ? this.answer().verdicts[Number(match[1])]?.image : undefined;
    const index = this.config.unit.images.findIndex(({ id }) => id === image);
    return index < 0 ? null : { control: byId(`r${index + 1}-1`), name: words.row(index + 1), reveal: () => this.rows.goTo(index) };
  }

  resume() { this.rows.resume(); }

  #progress() {
    // A preview has no progress bar.
    if (!byId('count')) return;
    const rated = this.rows.rated;
    const done = rated.filter(Boolean).length;
    const [count, rest] = words.judged(done, rated.length);
    byId('count').replaceChildren(element('b', { text: count }), rest);
    const bar = byId('progress');
    bar.setAttribute('aria-valuenow', String(done));
    bar.firstElementChild.style.setProperty('--v', `${(100 * done) / rated.length}%`);
  }
}

boot(new InterestTask());
