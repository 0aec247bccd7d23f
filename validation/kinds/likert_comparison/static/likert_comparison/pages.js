/** Shows the sentences page by page. All rows are in the HTML, so without this script all of them are visible. */
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
   * @param {HTMLElement[]} rows all rows @param {number} size rows on a page
   * @param {{onPageChange: (index: number) => void}} options called after a button changed the page, with the row to rate next
   */
  constructor(rows, size, { onPageChange }) {
    Object.assign(this, { rows, size });
    byId('pager').hidden = rows.length <= size;
    for (const [id, step] of [['previous', -1], ['next', 1]]) {
      byId(id).addEventListener('click', () => {
        const first = (this.#page + step) * size;
        const open = rows.slice(first, first + size).findIndex((row) => valueOf(row) === null);
        onPageChange(first + Math.max(0, open));
      });
    }
  }

  /** Shows the page that contains a row. */
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
