/** The photo with its objects, its zoom and its toolbar, as pages use it that write mentions or only show them. */
import { PhotoFrame } from '../boxes/photo-frame.js';
import { setText } from '../ui/dom.js';
import { ObjectPhoto } from './objects.js';
import { words } from './words.js';

/** Up to this number of objects, all outlines are shown at first. */
const SHOWN_AT_FIRST = 8;

/** @returns {number} the photo's maximum height in CSS pixels: it fits between header and submit bar, and what `more` selects; less on a phone */
export function roomBeside(...more) {
  if (window.matchMedia('(max-width: 60rem)').matches) return window.innerHeight * 0.36;
  const otherHeights = ['.hitbar', '.toolbar', '.object-strip', '.below', '.submitbar', ...more].map((s) => document.querySelector(s)?.offsetHeight ?? 0);
  return Math.max(260, window.innerHeight - otherHeights.reduce((a, b) => a + b, 0) - 100);
}

/**
 * Draws the objects into the photo of hits/mentions/_photo.html, and connects its toolbar.
 * @param {import('./objects.js').DetectedObject[]} objects
 * @param {{announce: (text: string) => void, roomHeight: () => number, pick: Function, point: Function}} page pick and
 *   point: see ObjectPhoto
 * @returns {{photo: ObjectPhoto, frame: PhotoFrame}}
 */
export function showPhoto(objects, { announce, roomHeight, pick, point }) {
  const byId = (id) => document.getElementById(id);
  const photo = new ObjectPhoto(byId('photo'), objects, { pick, point });
  const zoomed = (zoom) => {
    photo.setScale(zoom.k);
    setText(byId('zoom'), `${Math.round(zoom.scale * 100)}%`);
  };
  const frame = new PhotoFrame(byId('stage'), roomHeight, zoomed, { pressable: true });
  zoomed(frame.zoom);
  const toolbar = document.querySelector('.toolbar');
  const all = toolbar.querySelector('[data-tool="all"]');
  const showAll = (on) => {
    all.setAttribute('aria-pressed', String(on));
    photo.showAll(on);
  };
  showAll(objects.length <= SHOWN_AT_FIRST);
  toolbar.addEventListener('click', (e) => {
    const name = e.target.closest('[data-tool]')?.dataset.tool;
    if (name === 'all') showAll(all.getAttribute('aria-pressed') !== 'true');
    else if (name) {
      frame.run(name);
      announce(words.zoomed(Math.round(frame.zoom.scale * 100)));
    }
  });
  return { photo, frame };
}
