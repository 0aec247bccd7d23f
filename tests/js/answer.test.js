import test from 'node:test';
import assert from 'node:assert/strict';
import { bonuses, isComplete, isEmpty, missing, toAnswer, unfinished } from '../../static/js/observing/answer.js';
import { nextOpen } from '../../static/js/hit/ratings.js';
import { fitScale, nextStep } from '../../static/js/boxes/zoom.js';
import { tabPlace } from '../../static/js/boxes/view.js';
import { ago, clock, duration, list, money } from '../../static/js/ui/format.js';
import { generator } from './helpers/random.js';

const BOX = { left: 1, top: 2, width: 30, height: 40 };
const full = (index) => ({ index, bonus: index > 3, clue: 'the bag by the door', inference: 'Somebody is about to leave.', confidence: 2, boxes: [BOX] });
const empty = (index) => ({ index, bonus: index > 3, clue: '', inference: '', confidence: null, boxes: [] });

test('each part is missed by itself, and blank text is no text', () => {
  assert.deepEqual(missing(full(1)), []);
  assert.deepEqual(missing({ ...full(1), clue: ' \n ' }), ['clue']);
  assert.deepEqual(missing({ ...full(1), boxes: [] }), ['box']);
  assert.deepEqual(missing({ ...full(1), inference: '' }), ['inference']);
  assert.deepEqual(missing({ ...full(1), confidence: null }), ['confidence']);
  assert.deepEqual(missing({ ...full(1), confidence: 4 }), ['confidence']);
  assert.ok(isEmpty(empty(1)) && !isComplete(empty(1)));
});

test('boxes of one observation do not serve another', () => {
  const one = { ...full(1), boxes: [BOX, BOX, BOX] };
  const rest = [{ ...full(2), boxes: [] }, { ...full(3), boxes: [] }];
  assert.deepEqual(unfinished([one, ...rest]).map((o) => o.index), [2, 3]);
});

test('a bonus is complete or absent', () => {
  const required = [full(1), full(2), full(3)];
  assert.deepEqual(unfinished([...required, empty(4), empty(5)]), []);
  assert.deepEqual(unfinished([...required, { ...empty(4), clue: 'a' }, empty(5)]).map((o) => o.index), [4]);
  assert.deepEqual(unfinished([...required, { ...empty(4), boxes: [BOX] }, empty(5)]).map((o) => o.index), [4]);
  assert.deepEqual(toAnswer([...required, empty(4), full(5)]).observations.map((o) => o.index), [1, 2, 3, 5]);
  assert.equal(bonuses([...required, empty(4), full(5)]), 1);
});

test('the answer has tidy one-line texts and plain boxes only', () => {
  const answer = toAnswer([{ ...full(1), clue: '  the  bag\nby the door ', boxes: [{ ...BOX, id: 7, obs: 1 }] }]);
  assert.deepEqual(answer.observations[0], { index: 1, clue: 'the bag by the door', inference: 'Somebody is about to leave.', confidence: 2, boxes: [BOX] });
});

test('the next open row goes round and ends', () => {
  assert.equal(nextOpen([true, false, true], 0), 1);
  assert.equal(nextOpen([false, true, true], 1), 0);
  assert.equal(nextOpen([true, true], 0), -1);
  assert.equal(nextOpen([false, true], -1), 0);
});

test('zoom steps go up and down and stop at the ends', () => {
  assert.equal(nextStep(1, +1), 1.25);
  assert.equal(nextStep(1, -1), 0.8);
  assert.equal(nextStep(1.19, -1), 1);
  assert.equal(nextStep(8, +1), 8);
  assert.equal(nextStep(0.05, -1), 0.05);
  assert.equal(fitScale({ width: 1000, height: 500 }, { width: 500, height: 500 }), 0.5);
  assert.equal(fitScale({ width: 400, height: 1000 }, { width: 500, height: 500 }), 0.5);
});

test('a number tab never leaves the photo', () => {
  const r = generator(21);
  const size = { width: 640, height: 427 };
  for (let i = 0; i < 5000; i += 1) {
    const k = r.number(0.2, 3);
    const box = { left: r.int(0, 600), top: r.int(0, 400), width: r.int(4, 40), height: r.int(4, 27) };
    const tab = tabPlace(box, r.pick(['1', '2b', '5aa']), k, size, r.chance(0.5));
    const [x, y] = [box.left / k + tab.dx, box.top / k + tab.dy];
    assert.ok(x >= -1e-9 && x + tab.width <= size.width / k + 1e-9, `x ${x}`);
    assert.ok(y >= -1e-9 && y + tab.height <= size.height / k + 1e-9, `y ${y}`);
  }
});

test('money and time as the design writes them', () => {
  assert.deepEqual([0, 5, 110, 123456].map(money), ['$0.00', '$0.05', '$1.10', '$1,234.56']);
  assert.deepEqual([1300, 59.2, 0, -4, 3725].map(clock), ['21:40', '1:00', '0:00', '0:00', '1:02:05']);
  assert.deepEqual([45, 90, 300, 284, 7500].map(duration), ['45 s', '1 min 30 s', '5 min', '4 min 44 s', '2 h 5 min']);
  assert.deepEqual([3.9, 130, 7300].map(ago), ['3 s', '2 min', '2 h']);
  assert.equal(list(['a', 'b', 'c']), 'a, b and c');
});
