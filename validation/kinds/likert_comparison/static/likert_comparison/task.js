/** Ten short judgments, ten key presses. */
import { boot } from '../js/hit/page.js';
import { RatingRows, valueOf } from '../js/hit/ratings.js';
import { around, windowOn } from '../js/boxes/geometry.js';
import { isTyping } from '../js/boxes/keyboard.js';
import { watchStages } from '../js/boxes/stage.js';
import { element, setIcon, setText } from '../js/ui/dom.js';
import { gettext, interpolate, pieces } from '../js/ui/i18n.js';

const byId = (id) => document.getElementById(id);
const words = {
  // The count is shown bold, so a translation begins with it, too.
  rated: (n, of) => pieces(gettext('%(count)s rated'), { count: interpolate(gettext('%(n)s of %(of)s'), { n, of }) }),
  row: (n) => interpolate(gettext('Sentence %(n)s'), { n }),
  zoomIn: gettext('Zoom to the mark'),
  zoomOut: gettext('Show the whole photo'),
};

class ComparisonTask {
  start({ config, preview, changed }) {
    this.config = config;
    this.items = [...document.querySelectorAll('.cand')];
    this.rows = new RatingRows(this.items, {
      enabled: () => !preview && !byId('work').disabled && !byId('work').inert,
      changed: () => {
        this.#progress();
        changed();
      },
    });
    watchStages();
    wirePeek(config.unit);
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

  gaps() {
    return this.rows.rated.flatMap((done, i) => (done ? [] : [{ key: `r${i + 1}`, href: `#row${i + 1}`, text: String(i + 1), name: words.row(i + 1), focus: () => this.rows.goTo(i) }]));
  }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    const match = /^ratings\[(\d+)\]/.exec(field);
    const candidate = match ? this.answer().ratings[Number(match[1])]?.candidate : undefined;
    const index = this.config.unit.candidates.findIndex(({ id }) => id === candidate);
    return index < 0 ? null : { control: byId(`r${index + 1}-1`), name: String(index + 1), reveal: () => this.rows.goTo(index) };
  }

  resume() { this.rows.resume(); }

  #progress() {
    // A preview has nothing to count.
    if (!byId('count')) return;
    const rated = this.rows.rated;
    const done = rated.filter(Boolean).length;
    const [count, rest] = words.rated(done, rated.length);
    byId('count').replaceChildren(element('b', { text: count }), rest);
    const bar = byId('progress');
    bar.setAttribute('aria-valuenow', String(done));
    bar.firstElementChild.style.setProperty('--v', `${(100 * done) / rated.length}%`);
  }
}

/** The button and key Z: the mark with some room around it, or the whole photo. */
function wirePeek({ image, boxes }) {
  const [button, svg, stage] = [byId('peek'), byId('photo'), byId('stage')];
  const region = around(boxes);
  button.hidden = region === null;
  const toggle = () => {
    const near = button.getAttribute('aria-pressed') !== 'true';
    const view = near ? windowOn(region, image) : { left: 0, top: 0, width: image.width, height: image.height };
    svg.setAttribute('viewBox', `${view.left} ${view.top} ${view.width} ${view.height}`);
    button.setAttribute('aria-pressed', String(near));
    setText(button.querySelector('span'), near ? words.zoomOut : words.zoomIn);
    setIcon(button.querySelector('svg'), near ? 'out' : 'in');
    stage.dispatchEvent(new Event('stage:measure'));
  };
  button.addEventListener('click', toggle);
  document.addEventListener('keydown', (e) => {
    if (e.key.toLowerCase() !== 'z' || e.ctrlKey || e.metaKey || e.altKey || isTyping(e.target) || button.hidden) return;
    e.preventDefault();
    toggle();
  });
}

boot(new ComparisonTask());
