/**
 * Pure arithmetic on boxes. No DOM.
 *
 * A box is {left, top, width, height} in whole pixels of the photo as stored, half-open:
 * it covers columns left … left + width - 1 and rows top … top + height - 1, so that
 * 0 <= left, left + width <= the photo's width, and likewise for top and height.
 * Halves round up (floor(v + 0.5)), also below zero, so that Python can repeat it.
 *
 * @typedef {{left: number, top: number, width: number, height: number}} Box
 * @typedef {{width: number, height: number}} Size
 * @typedef {{x: number, y: number}} Point
 */

/** Smallest side of a box, in photo pixels. */
export const MIN_SIDE = 4;

/** The eight grips, clockwise from the top left corner. */
export const EDGES = Object.freeze(['nw', 'n', 'ne', 'e', 'se', 's', 'sw', 'w']);

/** @returns {number} v limited to lo … hi (hi if lo > hi). */
export const clamp = (v, lo, hi) => Math.min(Math.max(v, lo), hi);

/** @returns {number} the nearest integer, halves upwards. */
export const round = (v) => Math.floor(v + 0.5);

/** @returns {Size} the smallest box allowed on a photo of this size (a tiny photo allows a tiny box). */
export function smallest(size, min = MIN_SIDE) {
  return { width: Math.min(min, size.width), height: Math.min(min, size.height) };
}

/**
 * The box between two corners given in photo pixels (fractions and points outside allowed).
 * It may be smaller than the minimum: check with `bigEnough`.
 * @returns {Box}
 */
export function fromCorners(ax, ay, bx, by, size) {
  const left = clamp(round(Math.min(ax, bx)), 0, size.width);
  const right = clamp(round(Math.max(ax, bx)), 0, size.width);
  const top = clamp(round(Math.min(ay, by)), 0, size.height);
  const bottom = clamp(round(Math.max(ay, by)), 0, size.height);
  return { left, top, width: right - left, height: bottom - top };
}

/** @returns {boolean} whether both sides reach the minimum. */
export function bigEnough(box, size, min = MIN_SIDE) {
  const least = smallest(size, min);
  return box.width >= least.width && box.height >= least.height;
}

/** @returns {boolean} whether this is a whole-pixel box of allowed size inside the photo. */
export function isValid(box, size, min = MIN_SIDE) {
  return [box.left, box.top, box.width, box.height].every(Number.isInteger)
    && box.left >= 0 && box.top >= 0
    && box.left + box.width <= size.width && box.top + box.height <= size.height
    && bigEnough(box, size, min);
}

/** @returns {Box} the shifted box, limited to the photo; its size does not change. */
export function move(box, dx, dy, size) {
  return {
    left: clamp(round(box.left + dx), 0, size.width - box.width),
    top: clamp(round(box.top + dy), 0, size.height - box.height),
    width: box.width,
    height: box.height,
  };
}

/**
 * The box with one edge or corner (a name from EDGES) shifted. The opposite side stays where it is;
 * a side stops at the minimum and at the photo's edge.
 * @returns {Box}
 */
export function resize(box, edge, dx, dy, size, min = MIN_SIDE) {
  const least = smallest(size, min);
  let [left, top] = [box.left, box.top];
  let [right, bottom] = [box.left + box.width, box.top + box.height];
  if (edge.includes('w')) left = clamp(round(left + dx), 0, right - least.width);
  if (edge.includes('e')) right = clamp(round(right + dx), left + least.width, size.width);
  if (edge.includes('n')) top = clamp(round(top + dy), 0, bottom - least.height);
  if (edge.includes('s')) bottom = clamp(round(bottom + dy), top + least.height, size.height);
  return { left, top, width: right - left, height: bottom - top };
}

/** @returns {boolean} whether the point lies in the box (half-open). */
export function contains(box, point) {
  return point.x >= box.left && point.x < box.left + box.width
    && point.y >= box.top && point.y < box.top + box.height;
}

/** @returns {Box} the box with a margin on each side; it may reach beyond the photo. */
export const withMargin = (box, by) => ({ left: box.left - by, top: box.top - by, width: box.width + 2 * by, height: box.height + 2 * by });

/** @returns {number} area in square pixels. */
export const area = (box) => box.width * box.height;

/** @returns {boolean} whether two boxes are the same. */
export function sameBox(a, b) {
  return a.left === b.left && a.top === b.top && a.width === b.width && a.height === b.height;
}

/**
 * The box that a key adds: a fifth of the visible part's width and height, at its centre, shifted by a step for
 * each box already drawn, so that new boxes do not hide each other.
 * @param {Box} visible the visible part of the photo
 * @param {number} count boxes already drawn
 * @returns {Box}
 */
export function startingBox(visible, count, size, min = MIN_SIDE) {
  const least = smallest(size, min);
  const width = clamp(round(visible.width / 5), least.width, size.width);
  const height = clamp(round(visible.height / 5), least.height, size.height);
  const step = (count % 6) * Math.max(1, round(Math.min(width, height) / 4));
  const left = round(visible.left + (visible.width - width) / 2) + step;
  const top = round(visible.top + (visible.height - height) / 2) + step;
  return move({ left, top, width, height }, 0, 0, size);
}

/** @returns {Box|null} the smallest box that contains all boxes, null without boxes. */
export function around(boxes) {
  if (boxes.length === 0) return null;
  const left = Math.min(...boxes.map((b) => b.left));
  const top = Math.min(...boxes.map((b) => b.top));
  const right = Math.max(...boxes.map((b) => b.left + b.width));
  const bottom = Math.max(...boxes.map((b) => b.top + b.height));
  return { left, top, width: right - left, height: bottom - top };
}

/**
 * A crop of the photo around a region: with a margin, in the photo's aspect ratio, inside the photo.
 * @param {number} [pad] margin on each side as a share of the region's longer side
 * @returns {{left: number, top: number, width: number, height: number}} fractions allowed
 */
export function windowOn(region, size, pad = 0.25) {
  const margin = Math.max(region.width, region.height) * pad;
  const share = Math.min(1, Math.max(
    (region.width + 2 * margin) / size.width, (region.height + 2 * margin) / size.height));
  const [width, height] = [size.width * share, size.height * share];
  return {
    left: clamp(region.left + region.width / 2 - width / 2, 0, size.width - width),
    top: clamp(region.top + region.height / 2 - height / 2, 0, size.height - height),
    width,
    height,
  };
}
