import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as geometry from '../../static/js/boxes/geometry.js';
import { toImage, visiblePart, pixelsPerCss } from '../../static/js/boxes/transform.js';
import { generator } from './helpers/random.js';

/** @returns {Point} the client position (CSS pixels) of a photo point. */
function toScreen(x, y, rect, size) {
  return {
    x: rect.left + (x / size.width) * rect.width,
    y: rect.top + (y / size.height) * rect.height,
  };
}

const cases = JSON.parse(readFileSync(new URL('./geometry_cases.json', import.meta.url), 'utf8'));

test('the shared cases hold', async (t) => {
  for (const [i, { op, args, expect, why }] of cases.entries()) {
    await t.test(`${i} ${op}: ${why}`, () => assert.deepEqual(geometry[op](...args), expect));
  }
});

test('whatever is drawn, moved or resized stays whole and inside', () => {
  const r = generator(1);
  for (let i = 0; i < 20000; i += 1) {
    const size = { width: r.int(1, 3000), height: r.int(1, 3000) };
    const point = () => [r.number(-500, 3500), r.number(-500, 3500)];
    let box = geometry.fromCorners(...point(), ...point(), size);
    if (!geometry.bigEnough(box, size)) continue;
    for (let step = 0; step < 4; step += 1) {
      assert.ok(geometry.isValid(box, size), JSON.stringify({ box, size, i }));
      const [dx, dy] = [r.number(-900, 900), r.number(-900, 900)];
      box = r.chance(0.5) ? geometry.move(box, dx, dy, size) : geometry.resize(box, r.pick(geometry.EDGES), dx, dy, size);
    }
  }
});

test('resizing leaves the opposite side where it is', () => {
  const r = generator(2);
  const size = { width: 900, height: 700 };
  for (let i = 0; i < 5000; i += 1) {
    const box = { left: r.int(0, 400), top: r.int(0, 300), width: r.int(4, 400), height: r.int(4, 300) };
    const edge = r.pick(geometry.EDGES);
    const out = geometry.resize(box, edge, r.number(-900, 900), r.number(-900, 900), size);
    if (!edge.includes('w')) assert.equal(out.left, box.left);
    if (!edge.includes('n')) assert.equal(out.top, box.top);
    if (!edge.includes('e')) assert.equal(out.left + out.width, box.left + box.width);
    if (!edge.includes('s')) assert.equal(out.top + out.height, box.top + box.height);
  }
});

test('a starting box is valid wherever the photo is scrolled to, and two never coincide', () => {
  const r = generator(3);
  for (let i = 0; i < 2000; i += 1) {
    const size = { width: r.int(40, 6000), height: r.int(40, 4000) };
    const visible = { left: r.number(0, size.width / 2), top: r.number(0, size.height / 2), width: r.number(1, size.width / 2), height: r.number(1, size.height / 2) };
    const box = geometry.startingBox(visible, i, size);
    assert.ok(geometry.isValid(box, size));
  }
  const size = { width: 640, height: 427 };
  const whole = { left: 0, top: 0, ...size };
  assert.notDeepEqual(geometry.startingBox(whole, 0, size), geometry.startingBox(whole, 1, size));
});

test('a window on a region keeps the proportions of the photo and holds the region', () => {
  const r = generator(4);
  for (let i = 0; i < 2000; i += 1) {
    const size = { width: r.int(50, 3000), height: r.int(50, 3000) };
    const region = { left: r.int(0, size.width - 10), top: r.int(0, size.height - 10), width: 10, height: 10 };
    const w = geometry.windowOn(region, size);
    assert.ok(Math.abs(w.width / w.height - size.width / size.height) < 1e-9);
    assert.ok(w.left <= region.left + 1e-9 && w.left + w.width >= region.left + region.width - 1e-9);
    assert.ok(w.top >= 0 && w.top + w.height <= size.height + 1e-9);
  }
});

test('screen to photo and back, at any zoom and scroll position', () => {
  const r = generator(5);
  for (let i = 0; i < 5000; i += 1) {
    const size = { width: r.int(1, 6000), height: r.int(1, 4000) };
    const scale = r.number(0.05, 8);
    const rect = { left: r.number(-4000, 900), top: r.number(-4000, 900), width: size.width * scale, height: size.height * scale };
    const corner = { x: r.int(0, size.width), y: r.int(0, size.height) };
    const at = toScreen(corner.x, corner.y, rect, size);
    const back = toImage(at.x, at.y, rect, size);
    assert.equal(geometry.round(back.x), corner.x);
    assert.equal(geometry.round(back.y), corner.y);
  }
});

test('the visible part of a scrolled photo', () => {
  const size = { width: 1000, height: 500 };
  const frame = { left: 100, top: 100, width: 400, height: 200 };
  assert.deepEqual(visiblePart({ left: -300, top: 0, width: 2000, height: 1000 }, frame, size), { left: 200, top: 50, width: 200, height: 100 });
  assert.deepEqual(visiblePart({ left: 9000, top: 0, width: 10, height: 5 }, frame, size), { left: 0, top: 0, width: 1000, height: 500 });
  assert.equal(pixelsPerCss(0, 1000), 1);
  assert.equal(pixelsPerCss(500, 1000), 2);
});
