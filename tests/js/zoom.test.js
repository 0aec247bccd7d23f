import test from 'node:test';
import assert from 'node:assert/strict';
import { scrollInto, wheelScale } from '../../static/js/boxes/zoom.js';

test('the wheel zooms by as much in as out, a notch by about a quarter, a pinch as far as the fingers went', () => {
  assert.ok(Math.abs(wheelScale(wheelScale(1.3, { deltaY: -120 }), { deltaY: 120 }) - 1.3) < 1e-9);
  assert.ok(wheelScale(1, { deltaY: -120 }) > 1.2 && wheelScale(1, { deltaY: -120 }) < 1.35);
  assert.equal(wheelScale(1, { deltaY: -3, deltaMode: 1 }), wheelScale(1, { deltaY: -48 }), 'lines, as Firefox counts');
  assert.ok(Math.abs(wheelScale(2, { deltaY: -100 * Math.log(1.1) }) - 2.2) < 1e-9, 'browsers report a pinch of 1.1 so');
});

test('what is to be seen is scrolled into view and no further', () => {
  assert.equal(scrollInto(10, 20, 0, 100), 0);
  assert.equal(scrollInto(-30, -10, 0, 100), -30);
  assert.equal(scrollInto(120, 150, 0, 100), 50);
  assert.equal(scrollInto(20, 300, 0, 100), 20, 'too long: its beginning');
  assert.equal(scrollInto(-50, 300, 0, 100), 0, 'it fills the view already');
});
