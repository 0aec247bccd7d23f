/** Rate ten sentences; one key press rates one sentence. */
import { boot } from '../js/hit/page.js';
import { showProgress } from '../js/hit/judging.js';
import { RatingRows, valueOf } from '../js/hit/ratings.js';
import { watchStages } from '../js/boxes/stage.js';
import { gettext, interpolate, pieces } from '../js/ui/i18n.js';
import { Pages } from './pages.js';
import { wirePhoto } from './photo.js';

const byId = (id) => document.getElementById(id);
const words = {
  // The count is shown in bold and comes first, in translations too.
  rated: (n, of) => pieces(gettext('%(count)s rated'), { count: interpolate(gettext('%(n)s of %(of)s'), { n, of }) }),
  row: (n) => interpolate(gettext('Sentence %(n)s'), { n }),
};

class ComparisonTask {
  start({ config, preview, changed }) {
    this.config = config;
    this.items = [...document.querySelectorAll('.cand')];
    // A preview shows all sentences, since its page buttons are disabled.
    const pages = new Pages(this.items, preview ? this.items.length : config.unit.per_page, { onPageChange: (index) => this.rows.goTo(index) });
    this.rows = new RatingRows(this.items, {
      preview,
      reveal: (index) => pages.show(index),
      changed: () => {
        this.#progress();
        changed();
      },
    });
    watchStages();
    wirePhoto(config.unit);
    this.#progress();
  }

  read() {
    // The page shows the candidates in the order of the config.
    const rows = this.config.unit.candidates.map(({ id }, i) => ({ candidate: id, rating: Number(valueOf(this.items[i])) || null }));
    return { ratings: rows.filter((row) => row.rating) };
  }

  write(answer) {
    const kept = new Map((answer?.ratings ?? []).map((r) => [String(r.candidate), r.rating]));
    this.items.forEach((item, index) => this.rows.set(index, kept.get(item.dataset.candidate) ?? null));
    this.#progress();
  }

  answer() { return this.read(); }

  gaps() { return this.rows.gaps(words.row); }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    const match = /^ratings\[(\d+)\]/.exec(field);
    const candidate = match ? this.answer().ratings[Number(match[1])]?.candidate : undefined;
    const index = this.config.unit.candidates.findIndex(({ id }) => id === candidate);
    return index < 0 ? null : { control: byId(`r${index + 1}-1`), name: String(index + 1), reveal: () => this.rows.goTo(index) };
  }

  resume() { this.rows.resume(); }

  #progress() {
    const done = this.rows.rated.filter(Boolean).length;
    showProgress(done, this.items.length, words.rated(done, this.items.length));
  }
}

boot(new ComparisonTask());
