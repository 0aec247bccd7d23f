/**
 * A page whose texts mention objects and are only read (hits/task/_tagged_text.html): what is pointed at in a text is lit
 * in the photo, and back. The photo is that of hits/mentions/_photo.html with `reading`.
 */
import { PhotoFrame } from '../boxes/photo-frame.js';
import { setText } from '../ui/dom.js';
import { ObjectPhoto } from './objects.js';
import { words } from './words.js';

/** Up to this number of objects, all outlines are shown at first. */
const SHOWN_AT_FIRST = 8;

const objectsOf = (mention) => mention.dataset.objects.split(' ').map(Number);

export class MentionReader {
  #held = [];

  /**
   * @param {{objects: import('./objects.js').DetectedObject[], announce: (text: string) => void,
   *   roomHeight?: () => number}} page roomHeight: the photo's maximum height in CSS pixels
   */
  constructor({ objects, announce, roomHeight = photoRoom }) {
    const byId = (id) => document.getElementById(id);
    this.announce = announce;
    this.mentions = [...document.querySelectorAll('.mention[data-objects]')];
    this.photo = new ObjectPhoto(byId('photo'), objects, { point: (object) => this.#point(object === null ? [] : [object]), pick: (object) => this.#hold([object]) });
    this.frame = new PhotoFrame(byId('stage'), roomHeight, (zoom) => this.#zoomed(zoom), { pressable: true });
    this.#zoomed(this.frame.zoom);
    for (const mention of this.mentions) this.#watch(mention);
    this.#toolbar(document.querySelector('.toolbar'), objects.length <= SHOWN_AT_FIRST);
  }

  #watch(mention) {
    mention.addEventListener('pointerenter', (e) => e.pointerType !== 'touch' && this.#point(objectsOf(mention)));
    mention.addEventListener('pointerleave', (e) => e.pointerType !== 'touch' && this.#point([]));
    mention.addEventListener('click', (e) => e.detail > 0 && this.#hold(objectsOf(mention)));
  }

  // A press keeps objects lit, since a finger points at nothing; another press ends it.
  #hold(objects) {
    this.#held = String(objects) === String(this.#held) ? [] : objects;
    this.#point([]);
  }

  #point(objects) {
    const lit = objects.length ? objects : this.#held;
    this.photo.light(lit);
    for (const mention of this.mentions) mention.classList.toggle('mention--lit', objectsOf(mention).some((object) => lit.includes(object)));
  }

  #zoomed(zoom) {
    this.photo.setScale(zoom.k);
    setText(document.getElementById('zoom'), `${Math.round(zoom.scale * 100)}%`);
  }

  #toolbar(toolbar, showsAll) {
    const all = toolbar.querySelector('[data-tool="all"]');
    const show = (on) => {
      all.setAttribute('aria-pressed', String(on));
      this.photo.showAll(on);
    };
    show(showsAll);
    toolbar.addEventListener('click', (e) => {
      const name = e.target.closest('[data-tool]')?.dataset.tool;
      if (!name) return;
      if (name === 'all') show(all.getAttribute('aria-pressed') !== 'true');
      else {
        this.frame.run(name);
        this.announce(words.zoomed(Math.round(this.frame.zoom.scale * 100)));
      }
    });
  }
}

/** @returns {number} the photo fits between header and submit bar; less on a phone, where the text needs the room */
function photoRoom() {
  if (window.matchMedia('(max-width: 60rem)').matches) return window.innerHeight * 0.38;
  const taken = ['.hitbar', '.toolbar', '.submitbar'].map((s) => document.querySelector(s)?.offsetHeight ?? 0);
  return Math.max(260, window.innerHeight - taken.reduce((a, b) => a + b, 0) - 100);
}
