/**
 * The editable element of a field: its children, and positions of the model in them.
 *
 * Children are text nodes and chips. A browser shows no caret beside a chip without a text node, so an invisible FILLER
 * stands where the text has none.
 */
import { objectsOf } from './chip.js';

const FILLER = '\u200B';
const isText = (node) => node.nodeType === Node.TEXT_NODE;

/** @returns {boolean} whether a node is a chip */
export const isChip = (node) => node?.nodeType === Node.ELEMENT_NODE && node.hasAttribute('data-objects');

const clean = (text) => text.replaceAll(FILLER, '').replace(/[\n\r\u00A0]/g, ' ');
const sizeOf = (node) => (isChip(node) ? 1 : clean(node.textContent).length);

/** @returns {import('./segments.js').Segment[]} what the element holds now */
export const readChildren = (root) => [...root.childNodes].map((node) => (isChip(node) ? { objects: objectsOf(node) } : clean(node.textContent)));

/** @returns {{anchor: number, focus: number}} the browser's selection; what is outside of the element is at its ends */
export function readSelection(root) {
  const { anchorNode, anchorOffset, focusNode, focusOffset } = getSelection();
  return { anchor: placeIn(root, anchorNode, anchorOffset), focus: placeIn(root, focusNode, focusOffset) };
}

function placeIn(root, node, offset) {
  if (root.contains(node)) return positionIn(root, node, offset);
  const isBefore = node && root.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_PRECEDING;
  return isBefore ? 0 : positionIn(root, root, root.childNodes.length);
}

/** @returns {number} the model's position of a place in the element; a place in a chip is before it */
export function positionIn(root, node, offset) {
  if (node === root) return [...root.childNodes].slice(0, offset).reduce((sum, one) => sum + sizeOf(one), 0);
  let child = node;
  while (child.parentNode !== root) child = child.parentNode;
  const before = [...root.childNodes].slice(0, [...root.childNodes].indexOf(child)).reduce((sum, one) => sum + sizeOf(one), 0);
  if (isChip(child)) return before;
  return before + (isText(node) ? clean(node.data.slice(0, offset)).length : 0);
}

/** @returns {{node: Node, offset: number}} the place of a position; in a text node wherever there is one */
export function placeOf(root, segments, position) {
  let left = position;
  for (const node of root.childNodes) {
    const size = sizeOf(node);
    if (isText(node) && left <= size) return { node, offset: offsetIn(node.data, left) };
    left -= size;
    if (left < 0) break;
  }
  return { node: root, offset: root.childNodes.length };
}

// Behind a filler, so that typed letters follow it.
function offsetIn(data, count) {
  let [offset, left] = [0, count];
  while (offset < data.length && (left > 0 || data[offset] === FILLER)) {
    if (data[offset] !== FILLER) left -= 1;
    offset += 1;
  }
  return offset;
}

/**
 * Shows segments with as few changes of the element as possible.
 * @param {(tag: {objects: number[]}) => HTMLElement} chip makes a chip
 */
export function show(root, segments, chip) {
  const target = withFillers(segments);
  const old = [...root.childNodes];
  const chips = old.filter(isChip);
  const nodes = target.map((segment, at) => {
    if (typeof segment !== 'string') {
      const found = chips.findIndex((node) => node.dataset.objects === segment.objects.join(' '));
      return found < 0 ? chip(segment) : chips.splice(found, 1)[0];
    }
    return old[at] && isText(old[at]) ? old[at] : document.createTextNode(segment);
  });
  if (nodes.length !== old.length || nodes.some((node, at) => node !== old[at])) root.replaceChildren(...nodes);
  nodes.forEach((node, at) => {
    if (isText(node) && node.data !== target[at]) node.data = target[at];
  });
}

function withFillers(segments) {
  const target = [];
  for (const segment of segments) {
    const lacks = typeof segment !== 'string' && typeof (target.at(-1) ?? {}) !== 'string';
    target.push(...(lacks ? [FILLER] : []), segment);
  }
  return segments.length && typeof segments.at(-1) !== 'string' ? [...target, FILLER] : target;
}
