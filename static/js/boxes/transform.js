/**
 * All conversions between screen and photo coordinates.
 *
 * `rect` is the drawn photo's client rectangle (getBoundingClientRect of the <svg>), after zoom,
 * scrolling and CSS transforms; `size` is the photo in its own pixels.
 *
 * @typedef {import('./geometry.js').Size} Size
 * @typedef {import('./geometry.js').Point} Point
 * @typedef {{left: number, top: number, width: number, height: number}} Rect
 */

/**
 * @param {number} clientX @param {number} clientY CSS pixels, as pointer events give them
 * @param {Rect} rect @param {Size} size
 * @returns {Point} photo pixels, not rounded, possibly outside the photo
 */
export function toImage(clientX, clientY, rect, size) {
  return {
    x: ((clientX - rect.left) / rect.width) * size.width,
    y: ((clientY - rect.top) / rect.height) * size.height,
  };
}

/** @returns {number} photo pixels per CSS pixel (`--k`); 1 before layout. */
export function pixelsPerCss(shownWidth, naturalWidth) {
  return shownWidth > 0 ? naturalWidth / shownWidth : 1;
}

/**
 * The part of the photo that is visible in a scroll container.
 * @param {Rect} rect the drawn photo @param {Rect} frame the container, both client rectangles
 * @param {Size} size
 * @returns {{left: number, top: number, width: number, height: number}} photo pixels, inside the photo
 */
export function visiblePart(rect, frame, size) {
  const left = Math.max(rect.left, frame.left);
  const top = Math.max(rect.top, frame.top);
  const right = Math.min(rect.left + rect.width, frame.left + frame.width);
  const bottom = Math.min(rect.top + rect.height, frame.top + frame.height);
  if (right <= left || bottom <= top) return { left: 0, top: 0, ...size };
  const a = toImage(left, top, rect, size);
  const b = toImage(right, bottom, rect, size);
  return { left: a.x, top: a.y, width: b.x - a.x, height: b.y - a.y };
}
