/** Judge photos one after another; one key press judges one photo. */
import { boot } from '../js/hit/page.js';
import { showProgress } from '../js/hit/judging.js';
import { RatingRows, valueOf } from '../js/hit/ratings.js';
import { gettext, interpolate, pieces } from '../js/ui/i18n.js';

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
      preview,
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

  gaps() { return this.rows.gaps(words.row); }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    const match = /^verdicts\[(\d+)\]/.exec(field);
    const image = match ? this.answer().verdicts[Number(match[1])]?.image : undefined;
    const index = this.config.unit.images.findIndex(({ id }) => id === image);
    return index < 0 ? null : { control: byId(`r${index + 1}-1`), name: words.row(index + 1), reveal: () => this.rows.goTo(index) };
  }

  resume() { this.rows.resume(); }

  #progress() {
    const done = this.rows.rated.filter(Boolean).length;
    showProgress(done, this.items.length, words.judged(done, this.items.length));
  }
}

boot(new InterestTask());
