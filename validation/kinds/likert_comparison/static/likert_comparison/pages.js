/** Sentences a few at a time. Rows stand in the page from the start, so that without this script all are seen. */
import { valueOf } from '../js/hit/ratings.js';
import { setText } from '../js/ui/dom.js';
import { gettext, interpolate } from '../js/ui/i18n.js';

const byId = (id) => document.getElementById(id);
const words = {
  range: (first, last, of) => interpolate(gettext('%(first)s to %(last)s of %(of)s'), { first, last, of }),
  next: (n) => interpolate(gettext('Next %(n)s'), { n }),
  previous: (n) => interpolate(gettext('Previous %(n)s'), { n }),
};

export class Pages {
  #page = -1;

  /**
   * @param {HTMLElement[]} rows all of them @param {number} size rows on a page
   * @param {{turned: (index: number) => void}} options called with the row to go on with, after a button turned the page
   */
  constructor(rows, size, { turned }) {
    Object.assign(this, { rows, size });
    byId('pager').hidden = rows.length <= size;
    for (const [id, step] of [['previous', -1], ['next', 1]]) {
      byId(id).addEventListener('click', () => {
        const first = (this.#page + step) * size;
        const open = rows.slice(first, first + size).findIndex((row) => valueOf(row) === null);
        turned(first + Math.max(0, open));
      });
    }
  }

  /** Turns to the page of a row. */
  show(index) {
    const page = Math.floor(index / this.size);
    if (page === this.#page) return;
    this.#page = page;
    this.rows.forEach((row, i) => { row.hidden = Math.floor(i / this.size) !== page; });
    const [first, of] = [page * this.size, this.rows.length];
    setText(byId('range'), words.range(first + 1, Math.min(first + this.size, of), of));
    this.#button('previous', words.previous, Math.min(this.size, first));
    this.#button('next', words.next, Math.min(this.size, of - first - this.size));
  }

  #button(id, text, count) {
    byId(id).hidden = count <= 0;
    if (count > 0) setText(byId(id).querySelector('span'), text(count));
  }
}
