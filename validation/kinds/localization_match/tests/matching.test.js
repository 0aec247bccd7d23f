import test from 'node:test';
import assert from 'node:assert/strict';
import { Matching } from '../static/localization_match/matching.js';

const fresh = () => new Matching(['a', 'b', 'c'], ['1', '2', '3']);
const pairs = (m) => m.matches.map(({ inference, region }) => inference + region).join(' ');

test('a sentence gets a part, and another one when asked again', () => {
  const m = fresh();
  assert.deepEqual(m.assign('b', '3'), { changed: true, other: null });
  assert.deepEqual(m.assign('b', '3'), { changed: false, other: null });
  m.assign('b', '1');
  assert.equal(pairs(m), 'b1');
  assert.equal(m.inferenceOf('3'), null);
});

test('a part that another sentence has is exchanged, or taken where there is nothing to give', () => {
  const m = fresh();
  m.assign('a', '1');
  m.assign('b', '2');
  assert.deepEqual(m.assign('a', '2'), { changed: true, other: 'b' });
  assert.equal(pairs(m), 'a2 b1');
  assert.deepEqual(m.assign('c', '2'), { changed: true, other: 'a' });
  assert.equal(pairs(m), 'b1 c2');
});

test('it is one to one after any series of steps', () => {
  const m = fresh();
  let x = 7;
  const next = (n) => { x = (x * 1103515245 + 12345) % 2147483648; return Math.floor(x / 65536) % n; };
  for (let n = 0; n < 2000; n += 1) {
    const step = next(6);
    if (step < 4) m.assign('abc'[next(3)], String(1 + next(3)));
    else if (step === 4) m.clear('abc'[next(3)]);
    else m.undo();
    const regions = m.matches.map(({ region }) => region);
    assert.equal(new Set(regions).size, regions.length);
  }
});

test('undo and redo go back and forth; a new step forgets what was undone', () => {
  const m = fresh();
  assert.equal(m.undo(), false);
  m.assign('a', '1');
  m.assign('b', '1');
  assert.equal(m.undo(), true);
  assert.equal(pairs(m), 'a1');
  assert.equal(m.redo(), true);
  assert.equal(pairs(m), 'b1');
  m.undo();
  m.clear('a');
  assert.equal(m.redo(), false);
  assert.equal(pairs(m), '');
});

test('what is no part of the task is left alone', () => {
  const m = fresh();
  assert.equal(m.assign('x', '1').changed, false);
  assert.equal(m.assign('a', '9').changed, false);
  m.load([{ inference: 'a', region: '1' }, { inference: 'b', region: '1' }, { inference: 'a', region: '2' }, null, { inference: 'c', region: 4 }]);
  assert.equal(pairs(m), 'a1');
  m.load('nonsense');
  assert.equal(pairs(m), '');
  assert.equal(m.canUndo, false);
});

test('the next sentence without a part is found, wrapping round', () => {
  const m = fresh();
  m.assign('b', '2');
  assert.equal(m.next(0), 2);
  assert.equal(m.next(2), 0);
  m.assign('a', '1');
  m.assign('c', '3');
  assert.equal(m.next(0), -1);
});
