import test from 'node:test';
import assert from 'node:assert/strict';
import { MOST, WHOLE, clampView, pan, place, zoomAt } from '../../static/js/hit/triplet/view.js';

const SIZE = { width: 1024, height: 1024 };
const PHONE = { width: 390, height: 640 };

/** The image's share under a point of the room, computed from where the image stands. */
function shareUnder(view, at, size = SIZE, room = PHONE) {
  const box = place(view, size, room);
  return { x: (at.x - box.left) / box.width, y: (at.y - box.top) / box.height };
}

test('a whole image fits a phone and stands in the middle', () => {
  assert.deepEqual(place(WHOLE, SIZE, PHONE), { left: 0, top: 125, width: 390, height: 390 });
});

test('zooming keeps the point under the fingers', () => {
  const at = { x: 200, y: 330 };
  const before = shareUnder(WHOLE, at);
  const near = zoomAt(WHOLE, 3, at, SIZE, PHONE);
  assert.equal(near.scale, 3);
  const after = shareUnder(near, at);
  assert.ok(Math.abs(before.x - after.x) < 1e-9 && Math.abs(before.y - after.y) < 1e-9);
});

test('an image never leaves the room, and is never smaller than whole or larger than the most', () => {
  const corner = zoomAt(WHOLE, 100, { x: 0, y: 125 }, SIZE, PHONE);
  assert.equal(corner.scale, MOST);
  const box = place(corner, SIZE, PHONE);
  assert.ok(Math.abs(box.left) < 1e-6, 'no gap at the left');
  const far = pan(corner, -1e6, -1e6, SIZE, PHONE);
  const moved = place(far, SIZE, PHONE);
  assert.ok(Math.abs(moved.left + moved.width - PHONE.width) < 1e-6);
  assert.ok(Math.abs(moved.top + moved.height - PHONE.height) < 1e-6);
  assert.deepEqual(zoomAt(corner, 1e-6, { x: 10, y: 10 }, SIZE, PHONE), WHOLE);
});

test('dragging moves the image by as many pixels', () => {
  const near = zoomAt(WHOLE, 4, { x: 195, y: 320 }, SIZE, PHONE);
  const [before, after] = [place(near, SIZE, PHONE), place(pan(near, 30, -20, SIZE, PHONE), SIZE, PHONE)];
  assert.ok(Math.abs(after.left - before.left - 30) < 1e-9 && Math.abs(after.top - before.top + 20) < 1e-9);
});

test('one view on an image of another shape shows the same part of it', () => {
  const view = clampView({ scale: 4, x: 0.5, y: 0.6 }, SIZE, PHONE);
  const wide = { width: 2000, height: 1000 };
  const share = shareUnder(clampView(view, wide, PHONE), { x: 195, y: 320 }, wide);
  assert.ok(Math.abs(share.x - 0.5) < 1e-9);
  assert.ok(share.y > 0.5 - 1e-9 && share.y <= 0.6 + 1e-9);
});
