/** How a tag is shown: "person 3" with a coloured number. Colours repeat after five objects, numbers never do. */
import { element } from '../ui/dom.js';
import { tagLabel } from './segments.js';

const COLOURS = 5;

/** @param {number} object index from 0 @returns {string} the classes of its colour */
export const colourOf = (object) => `obs obs-${(object % COLOURS) + 1}`;

/** @param {import('./segments.js').Tag} tag @param {string[]} names of all objects @returns {HTMLElement} */
export function chip(tag, names) {
  const parts = tag.objects.flatMap((object, at) => {
    const joint = at === 0 ? [] : [at === tag.objects.length - 1 ? ' and ' : ', '];
    return [...joint, element('span', { class: `mention-object ${colourOf(object)}` },
      `${names[object]} `, element('b', { text: String(object + 1) }))];
  });
  return element('span', {
    class: 'mention', contenteditable: 'false', role: 'img', 'aria-label': tagLabel(tag, names), 'data-objects': tag.objects.join(' '),
  }, ...parts);
}

/** @param {HTMLElement} made a chip @returns {number[]} its objects */
export const objectsOf = (made) => made.dataset.objects.split(' ').map(Number);
