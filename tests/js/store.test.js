import test from 'node:test';
import assert from 'node:assert/strict';
import { BoxStore, MERGE_MS, labelIn, letters } from '../../static/js/boxes/store.js';
import { changeText } from '../../static/js/boxes/announce.js';
import { EDGES, isValid, move, resize } from '../../static/js/boxes/geometry.js';
import { generator } from './helpers/random.js';

const SIZE = { width: 640, height: 427 };
const box = (left, top, width = 50, height = 40) => ({ left, top, width, height });

test('letters go on after z', () => {
  assert.deepEqual([0, 1, 25, 26, 27, 51, 52].map(letters), ['a', 'b', 'z', 'aa', 'ab', 'az', 'ba']);
});

test('one box carries the number, several carry letters in order of drawing', () => {
  const store = new BoxStore(SIZE);
  const a = store.add(1, box(0, 0));
  assert.equal(store.label(a), '1');
  const other = store.add(2, box(10, 10));
  const b = store.add(1, box(20, 20));
  assert.deepEqual([a, b, other].map((x) => store.label(x)), ['1a', '1b', '2']);
  store.remove(a.id);
  assert.equal(labelIn(store.boxes, b), '1');
});

test('a box that is not valid here never gets in', () => {
  const store = new BoxStore(SIZE);
  assert.equal(store.add(1, box(600, 0, 41, 10)), null);
  assert.equal(store.add(1, box(0, 0, 3, 10)), null);
  assert.equal(store.add(1, box(0.5, 0)), null);
  assert.equal(store.add(null, box(0, 0)), null);
  const good = store.add(1, box(0, 0));
  assert.equal(store.replace(good.id, box(-1, 0)), false);
  store.load([{ obs: 1, box: box(0, 0) }, { obs: 2, box: box(9999, 0) }]);
  assert.equal(store.boxes.length, 1);
});

test('what the store gives out cannot be changed from outside', () => {
  const store = new BoxStore(SIZE);
  const made = store.add(1, box(0, 0));
  assert.throws(() => { made.left = 5; }, TypeError);
  assert.throws(() => { store.boxes.push(made); }, TypeError);
});

test('undo and redo, and a change after undo forgets the redo', () => {
  const store = new BoxStore(SIZE);
  store.add(1, box(0, 0));
  const second = store.add(1, box(50, 50));
  store.remove(second.id);
  assert.equal(store.undo(), true);
  assert.equal(store.boxes.length, 2);
  assert.equal(store.redo(), true);
  assert.equal(store.boxes.length, 1);
  store.undo();
  store.add(2, box(5, 5));
  assert.equal(store.canRedo, false);
  assert.equal(store.redo(), false);
});

test('held arrow keys are one step of undo, a pause or another box starts a new one', () => {
  let now = 0;
  const store = new BoxStore(SIZE, { now: () => now });
  const a = store.add(1, box(100, 100));
  for (let i = 0; i < 30; i += 1) {
    now += 30;
    store.replace(a.id, move(store.get(a.id), 1, 0, SIZE), { merge: `move ${a.id}` });
  }
  now += MERGE_MS + 1;
  store.replace(a.id, move(store.get(a.id), 0, 7, SIZE), { merge: `move ${a.id}` });
  store.undo();
  assert.deepEqual([store.get(a.id).left, store.get(a.id).top], [130, 100]);
  store.undo();
  assert.deepEqual([store.get(a.id).left, store.get(a.id).top], [100, 100]);
  store.redo();
  assert.equal(store.get(a.id).left, 130);
});

test('clearing an observation is one step', () => {
  const store = new BoxStore(SIZE);
  store.add(4, box(0, 0));
  store.add(1, box(9, 9));
  store.add(4, box(50, 50));
  assert.equal(store.removeAll(4).length, 2);
  assert.equal(store.of(4).length, 0);
  store.undo();
  assert.deepEqual(store.boxes.map((b) => b.obs), [4, 1, 4]);
});

test('the selection follows what exists', () => {
  const store = new BoxStore(SIZE);
  const a = store.add(1, box(0, 0));
  assert.equal(store.selectedId, a.id);
  store.undo();
  assert.equal(store.selectedId, null);
  store.select(999);
  assert.equal(store.selectedId, null);
  store.redo();
  store.add(2, box(1, 1));
  store.select(null);
  store.cycle(+1);
  assert.equal(store.selected.obs, 1);
  store.cycle(-1);
  assert.equal(store.selected.obs, 2);
});

test('every change has a sentence', () => {
  const store = new BoxStore(SIZE);
  const messages = [];
  store.addEventListener('change', (e) => messages.push(changeText(store, e.detail)));
  const a = store.add(1, box(0, 0));
  store.replace(a.id, box(5, 5));
  store.replace(a.id, box(5, 5, 60, 60));
  store.remove(a.id);
  store.undo();
  store.redo();
  assert.deepEqual(messages, ['Box 1 added: 50 by 40 pixels at 0, 0.', 'Box 1 at 5, 5.', 'Box 1: 60 by 60 pixels.', 'Box 1 deleted.', 'Undone.', 'Redone.']);
});

function randomStep(store, r) {
  const some = r.pick([...store.boxes]) ?? null;
  const free = () => ({ left: r.int(-50, 700), top: r.int(-50, 500), width: r.int(-5, 700), height: r.int(-5, 500) });
  switch (r.int(0, 9)) {
    case 0: case 1: case 2: store.add(r.int(1, 5), free()); break;
    case 3: if (some) store.replace(some.id, move(some, r.number(-90, 90), r.number(-90, 90), SIZE), { merge: r.chance(0.5) ? `move ${some.id}` : null }); break;
    case 4: if (some) store.replace(some.id, resize(some, r.pick(EDGES), r.number(-90, 90), r.number(-90, 90), SIZE)); break;
    case 5: if (some) store.replace(some.id, free()); break;
    case 6: if (some) store.remove(some.id); break;
    case 7: if (r.chance(0.2)) store.removeAll(r.int(1, 5)); else store.select(some?.id ?? null); break;
    case 8: store.undo(); break;
    default: store.redo();
  }
}

test('random sequences: every box is valid, and undo and redo are exact to the last step', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const r = generator(seed);
    let now = 0;
    const store = new BoxStore(SIZE, { now: () => (now += r.int(0, 1500)) });
    for (let step = 0; step < 60; step += 1) {
      randomStep(store, r);
      for (const b of store.boxes) assert.ok(isValid(b, SIZE), `seed ${seed} step ${step}`);
      assert.equal(new Set(store.boxes.map((b) => b.id)).size, store.boxes.length);
      assert.ok(store.selectedId === null || store.get(store.selectedId));
    }
    const trail = [store.boxes];
    while (store.undo()) trail.push(store.boxes);
    assert.equal(store.boxes.length, 0, `seed ${seed}: undo ends where it began`);
    for (let i = trail.length - 2; i >= 0; i -= 1) {
      assert.ok(store.redo());
      assert.deepEqual(store.boxes, trail[i], `seed ${seed} redo ${i}`);
    }
  }
});
