/** The images of a triplet on the page: equal tiles that open the viewer, and some of which a question may put away. */
import { element, setText } from '../../ui/dom.js';
import { gettext } from '../../ui/i18n.js';
import { Viewer } from './viewer.js';

const SAME_SHAPE = 0.02;
const words = { hide: gettext('Hide the images'), show: gettext('Show the images') };
const byId = (id) => document.getElementById(id);

export class Tiles {
  constructor() {
    this.root = byId('triplet');
    this.tiles = [...this.root.querySelectorAll('.tile')];
    // A page of texts has no viewer.
    this.viewer = byId('viewer') ? new Viewer(() => this.#shown().map(imageOf)) : null;
    for (const tile of this.tiles) {
      tile.querySelector('.tile-open')?.addEventListener('click', () => this.viewer.open(this.#shown().indexOf(tile)));
    }
    byId('triplet-fold').addEventListener('click', ({ currentTarget }) => {
      const folded = this.root.classList.toggle('triplet--folded');
      currentTarget.setAttribute('aria-expanded', String(!folded));
      setText(currentTarget, folded ? words.show : words.hide);
    });
    this.#shape();
  }

  /** Shows only some tiles; the others keep their places. @param {(place: string) => boolean} isShown */
  show(isShown) {
    for (const tile of this.tiles) {
      const away = !isShown(tile.dataset.tile);
      tile.classList.toggle('tile--away', away);
      for (const part of tile.querySelectorAll('.tile-open, .tile-text')) part.hidden = away;
      tile.querySelector('.tile-away').hidden = !away;
    }
  }

  /** Marks the tiles that an answer chooses, with a word. @param {(place: string) => string} wordFor '' for none */
  mark(wordFor) {
    for (const tile of this.tiles) {
      const word = wordFor(tile.dataset.tile);
      tile.classList.toggle('tile--chosen', word !== '');
      tile.querySelector('[data-chosen]').replaceChildren(...(word ? [element('span', { text: word })] : []));
    }
  }

  /** Makes the images small on a phone, where the questions need the room. @param {boolean} on */
  shrink(on) { this.root.classList.toggle('triplet--strip', on); }

  /** @returns {string} the name of a tile as the page shows it */
  name(place) { return this.root.querySelector(`.tile[data-tile="${CSS.escape(place)}"] .tile-name`)?.textContent.trim() ?? ''; }

  #shown() { return this.tiles.filter((tile) => !tile.classList.contains('tile--away') && tile.querySelector('.tile-open')); }

  // Tiles are square, or have the shape of the images if all have one shape.
  #shape() {
    const ratios = [...this.root.querySelectorAll('.tile-open img')].map((img) => img.getAttribute('width') / img.getAttribute('height'));
    const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
    if (ratios.length && most - least < SAME_SHAPE) this.root.style.setProperty('--ratio', String(most));
  }
}

function imageOf(tile) {
  const img = tile.querySelector('img');
  return { name: img.alt, src: img.src, width: Number(img.getAttribute('width')), height: Number(img.getAttribute('height')) };
}
