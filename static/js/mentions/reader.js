/**
 * A page whose texts mention objects and are only read (hits/task/_tagged_text.html): what is pointed at in a text is lit
 * in the photo, and back. The photo is that of hits/mentions/_photo.html with `reading`.
 */
import { objectsOf } from './chip.js';
import { roomBeside, showPhoto } from './photo-tools.js';

export class MentionReader {
  #held = [];

  /**
   * @param {{objects: import('./objects.js').DetectedObject[], announce: (text: string) => void,
   *   roomHeight?: () => number}} page roomHeight: the photo's maximum height in CSS pixels
   */
  constructor({ objects, announce, roomHeight = roomBeside }) {
    this.mentions = [...document.querySelectorAll('.mention[data-objects]')];
    const point = (object) => this.#point(object === null ? [] : [object]);
    Object.assign(this, showPhoto(objects, { announce, roomHeight, point, pick: (object) => this.#hold([object]) }));
    for (const mention of this.mentions) this.#watch(mention);
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
}
