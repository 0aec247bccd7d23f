/** An explanation of a triplet, its facets, and whether the images show their texts: a form with one nested field. */
import { boot } from '../js/hit/page.js';
import { PlainForm } from '../js/hit/plain-form.js';
import { Tiles } from '../js/hit/triplet/tiles.js';

const PARALLEL = 'parallel';
const ALIGNED = 'alignment-';
const byId = (id) => document.getElementById(id);

class WritingTask extends PlainForm {
  start(page) {
    super.start(page);
    this.tiles = new Tiles();
    this.tiles.shrink(!page.preview);
    for (const radio of document.querySelectorAll('input[name="direction"]')) radio.addEventListener('change', () => this.#showDuration());
    this.#showDuration();
  }

  write(answer) {
    super.write(answer);
    this.#showDuration();
  }

  /** Alignments are one field; only a parallel scene has no duration. */
  answer() {
    const rows = Object.entries(super.answer());
    const alignment = Object.fromEntries(rows.filter(([name]) => name.startsWith(ALIGNED)).map(([name, value]) => [name.slice(ALIGNED.length), value]));
    return { duration: '', ...Object.fromEntries(rows.filter(([name]) => !name.startsWith(ALIGNED))), alignment };
  }

  place(path) { return super.place(path.replace(/^alignment\./, ALIGNED)); }

  hintPlace() { return byId('hints'); }

  #showDuration() {
    const isParallel = document.querySelector('input[name="direction"]:checked')?.value === PARALLEL;
    byId('duration').hidden = isParallel;
    byId('duration').disabled = isParallel;
  }
}

boot(new WritingTask());
