/**
 * The view of the image viewer as plain numbers: how large an image is shown, and which of its points is in the middle.
 * All images share one view, so that moving on to the next one shows the same part of it.
 *
 * @typedef {{scale: number, x: number, y: number}} View `scale` 1 fits the image into the room; `x` and `y` are the
 *   shares of the image's width and height that stand in the middle of the room
 * @typedef {{width: number, height: number}} Size
 */
import { clamp } from '../../boxes/geometry.js';
import { fitScale } from '../../boxes/zoom.js';

export const WHOLE = Object.freeze({ scale: 1, x: 0.5, y: 0.5 });
export const MOST = 8;

/** @param {View} view @param {Size} size @param {Size} room @returns {Size} the image in CSS pixels */
export function shownSize(view, size, room) {
  const scale = fitScale(size, room) * view.scale;
  return { width: size.width * scale, height: size.height * scale };
}

/** @returns {View} the view without empty space beside an image that is larger than the room */
export function clampView(view, size, room) {
  const scale = clamp(view.scale, 1, MOST);
  const shown = shownSize({ scale }, size, room);
  return { scale, x: middle(view.x, shown.width, room.width), y: middle(view.y, shown.height, room.height) };
}

function middle(share, shown, room) {
  if (shown <= room) return 0.5;
  const half = room / 2 / shown;
  return clamp(share, half, 1 - half);
}

/** @returns {{left: number, top: number, width: number, height: number}} where the image stands in the room */
export function place(view, size, room) {
  const shown = shownSize(view, size, room);
  return { left: room.width / 2 - view.x * shown.width, top: room.height / 2 - view.y * shown.height, ...shown };
}

/**
 * Zooms by a factor; the image's point at `at` (CSS pixels in the room) stays where it is.
 * @param {{x: number, y: number}} at @returns {View}
 */
export function zoomAt(view, factor, at, size, room) {
  const scale = clamp(view.scale * factor, 1, MOST);
  const [before, after] = [shownSize(view, size, room), shownSize({ scale }, size, room)];
  const share = (own, offset, length, now) => own + offset / length - offset / now;
  return clampView({
    scale,
    x: share(view.x, at.x - room.width / 2, before.width, after.width),
    y: share(view.y, at.y - room.height / 2, before.height, after.height),
  }, size, room);
}

/** Moves the image by CSS pixels. @returns {View} */
export function pan(view, dx, dy, size, room) {
  const shown = shownSize(view, size, room);
  return clampView({ ...view, x: view.x - dx / shown.width, y: view.y - dy / shown.height }, size, room);
}
