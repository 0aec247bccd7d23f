/** The images of a triplet on the console: a press or Z shows them over the whole window, with one shared zoom. */
import { Viewer } from '../../js/hit/triplet/viewer.js';

const tiles = [...document.querySelectorAll('#triplet .tile-open')];
const viewer = new Viewer(() => tiles.map((tile) => {
  const img = tile.querySelector('img');
  return { name: img.alt, src: img.src, width: Number(img.getAttribute('width')), height: Number(img.getAttribute('height')) };
}));
for (const [at, tile] of tiles.entries()) tile.addEventListener('click', () => viewer.open(at));
