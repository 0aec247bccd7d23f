import test from 'node:test';
import assert from 'node:assert/strict';
import { BoxStore } from '../../static/js/boxes/store.js';
import { BoxTool, SLACK, pick } from '../../static/js/boxes/tool.js';
import { commandFor, runCommand } from '../../static/js/boxes/keyboard.js';
import { gripAt, gripPlaces } from '../../static/js/boxes/view.js';
import { isValid } from '../../static/js/boxes/geometry.js';
import { toImage } from '../../static/js/boxes/transform.js';
import { generator } from './helpers/random.js';

const SIZE = { width: 640, height: 427 };

/** A surface that captures pointers as a browser does; the photo is shown at `scale`, scrolled by `offset`. */
function makeBench({ scale = 1, offset = { x: 0, y: 0 } } = {}) {
  const surface = new EventTarget();
  const captured = new Set();
  surface.setPointerCapture = (id) => captured.add(id);
  surface.hasPointerCapture = (id) => captured.has(id);
  surface.releasePointerCapture = (id) => {
    captured.delete(id);
    send('lostpointercapture', 0, 0, { pointerId: id });
  };
  const rect = { left: offset.x, top: offset.y, width: SIZE.width * scale, height: SIZE.height * scale };
  const store = new BoxStore(SIZE);
  store.setActive(1);
  const tool = new BoxTool(surface, store, {
    point: (e) => toImage(e.clientX, e.clientY, rect, SIZE),
    target: (e) => ({ edge: e.edge, id: e.boxId }),
  });
  function send(type, x, y, extra = {}) {
    const event = new Event(type, { cancelable: true });
    Object.assign(event, {
      pointerId: 1, isPrimary: true, button: 0, buttons: type === 'pointerup' ? 0 : 1,
      clientX: rect.left + x * scale, clientY: rect.top + y * scale, ...extra,
    });
    surface.dispatchEvent(event);
  }
  const drag = (x0, y0, x1, y1, extra) => {
    send('pointerdown', x0, y0, extra);
    send('pointermove', (x0 + x1) / 2, (y0 + y1) / 2);
    send('pointermove', x1, y1);
    send('pointerup', x1, y1);
  };
  const plain = () => store.boxes.map(({ left, top, width, height }) => [left, top, width, height]);
  return { store, tool, send, drag, plain, captured };
}

test('a drag draws one exact box for the open card, at any zoom and scroll position', () => {
  for (const scale of [0.127, 0.5, 1, 1.1875, 2, 4]) {
    const bench = makeBench({ scale, offset: { x: -313.25, y: 41.5 } });
    bench.store.setActive(3);
    bench.drag(101, 33, 407, 251);
    assert.deepEqual(bench.plain(), [[101, 33, 306, 218]], `scale ${scale}`);
    assert.equal(bench.store.boxes[0].obs, 3);
  }
});

test('two drags in a row give two boxes', () => {
  const bench = makeBench();
  bench.drag(10, 10, 60, 60);
  bench.drag(200, 10, 260, 60);
  assert.equal(bench.store.boxes.length, 2);
});

test('no open card, no box, and it is said', () => {
  const bench = makeBench();
  bench.store.setActive(null);
  const said = [];
  bench.tool.addEventListener('refuse', (e) => said.push(e.detail.reason));
  bench.drag(10, 10, 60, 60);
  assert.equal(bench.store.boxes.length, 0);
  assert.deepEqual(said, ['no-card']);
});

test('a box thinner than the minimum is refused', () => {
  const bench = makeBench();
  const said = [];
  bench.tool.addEventListener('refuse', (e) => said.push(e.detail.reason));
  bench.drag(10, 10, 60, 12);
  assert.equal(bench.store.boxes.length, 0);
  assert.deepEqual(said, ['too-small']);
});

test('one box too many is refused, drawn or added by key', () => {
  const bench = makeBench();
  bench.store.most = 2;
  const said = [];
  bench.tool.addEventListener('refuse', (e) => said.push(e.detail.reason));
  for (const x of [0, 100, 200]) bench.drag(x + 10, 10, x + 60, 60);
  runCommand({ name: 'add' }, bench.store, { visible: () => ({ left: 0, top: 0, ...SIZE }), refuse: (reason) => bench.tool.refuse(reason) });
  assert.equal(bench.store.boxes.length, 2);
  assert.deepEqual(said, ['too-many', 'too-many'], 'said the same way, and seen the same way');
  bench.store.setActive(2);
  bench.drag(300, 200, 350, 260);
  assert.equal(bench.store.boxes.length, 3, 'another observation has its own room');
});

test('inside the selected box a drag moves, elsewhere it draws, also inside another box', () => {
  const bench = makeBench();
  bench.drag(100, 100, 200, 200);
  bench.drag(150, 150, 160, 170);
  assert.deepEqual(bench.plain(), [[110, 120, 100, 100]]);
  bench.store.select(null);
  bench.drag(150, 150, 160, 170);
  assert.deepEqual(bench.plain(), [[110, 120, 100, 100], [150, 150, 10, 20]]);
});

test('a grip resizes by what the pointer travels, not to where it is', () => {
  const bench = makeBench();
  bench.drag(100, 100, 200, 200);
  bench.send('pointerdown', 203, 198, { edge: 'se' });
  bench.send('pointermove', 213, 218);
  bench.send('pointerup', 213, 218);
  assert.deepEqual(bench.plain(), [[100, 100, 110, 120]]);
});

test('a press selects the smallest box, a second press the next one under it', () => {
  const bench = makeBench();
  bench.drag(100, 100, 300, 300);
  bench.store.select(null);
  bench.drag(150, 150, 200, 200);
  bench.store.select(null);
  const press = (x, y) => { bench.send('pointerdown', x, y); bench.send('pointerup', x + SLACK - 2, y); };
  press(160, 160);
  assert.equal(bench.store.selected.width, 50);
  press(160, 160);
  assert.equal(bench.store.selected.width, 200);
  press(160, 160);
  assert.equal(bench.store.selected.width, 50);
  press(600, 400);
  assert.equal(bench.store.selectedId, null);
  assert.equal(bench.store.boxes.length, 2, 'presses draw nothing');
  assert.equal(pick([], { x: 1, y: 1 }, null), null);
});

test('released outside a frame: the next move without a button keeps the box', () => {
  const bench = makeBench();
  bench.send('pointerdown', 100, 100);
  bench.send('pointermove', 40, 5);
  bench.send('pointermove', 300, 300, { buttons: 0 });
  assert.deepEqual(bench.plain(), [[40, 5, 60, 95]]);
  assert.equal(bench.tool.busy, false);
});

test('capture lost keeps the box, cancelled by the browser drops it', () => {
  const kept = makeBench();
  kept.send('pointerdown', 100, 100);
  kept.send('pointermove', 200, 200);
  kept.send('lostpointercapture', 0, 0);
  assert.equal(kept.store.boxes.length, 1);
  const dropped = makeBench();
  dropped.send('pointerdown', 100, 100);
  dropped.send('pointermove', 200, 200);
  dropped.send('pointercancel', 0, 0);
  assert.equal(dropped.store.boxes.length, 0);
});

test('a second finger takes the drag back, and its own lifting does nothing', () => {
  const bench = makeBench();
  bench.send('pointerdown', 100, 100);
  bench.send('pointermove', 200, 200);
  bench.send('pointerdown', 300, 300, { pointerId: 2, isPrimary: false });
  bench.send('pointermove', 250, 250);
  bench.send('pointerup', 250, 250);
  bench.send('pointerup', 300, 300, { pointerId: 2, isPrimary: false });
  assert.equal(bench.store.boxes.length, 0);
  assert.equal(bench.captured.size, 0);
});

test('the other mouse buttons draw nothing', () => {
  const bench = makeBench();
  bench.drag(10, 10, 90, 90, { button: 2 });
  assert.equal(bench.store.boxes.length, 0);
});

test('keys map to commands, and leave to the browser what is not theirs', () => {
  const name = (event, onPhoto = true) => commandFor({ shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, ...event }, onPhoto);
  assert.deepEqual(name({ key: 'ArrowLeft' }), { name: 'move', dx: -1, dy: 0 });
  assert.deepEqual(name({ key: 'ArrowDown', shiftKey: true }), { name: 'move', dx: 0, dy: 10 });
  assert.deepEqual(name({ key: 'ArrowRight', altKey: true }), { name: 'resize', edge: 'se', dx: 1, dy: 0 });
  assert.deepEqual(name({ key: 'ArrowUp', altKey: true, shiftKey: true }), { name: 'resize', edge: 'nw', dx: 0, dy: -1 });
  assert.deepEqual(name({ key: 'ArrowUp', altKey: true, repeat: true }), { name: 'resize', edge: 'se', dx: 0, dy: -5 }, 'held, it goes faster');
  assert.equal(name({ key: 'ArrowLeft' }, false), null, 'arrows scroll the page elsewhere');
  assert.equal(name({ key: 'Enter' }, false), null, 'Enter presses buttons elsewhere');
  assert.deepEqual(name({ key: 'B' }, false), { name: 'add' });
  assert.deepEqual(name({ key: '4' }, false), { name: 'card', number: 4 });
  assert.deepEqual(name({ key: 'z', ctrlKey: true }), { name: 'undo' });
  assert.deepEqual(name({ key: 'Z', metaKey: true, shiftKey: true }), { name: 'redo' });
  assert.deepEqual(name({ key: 'y', ctrlKey: true }), { name: 'redo' });
  assert.equal(name({ key: 'b', ctrlKey: true }), null);
  assert.equal(name({ key: 'Tab' }), null);
});

test('keys of one character can be turned off; the others still do everything', () => {
  const off = (event) => commandFor(event, true, false);
  for (const key of ['b', 'n', 'p', 'h', 'g', 'j', 'k', '?', '+', '-', '0', '1', '5']) assert.equal(off({ key }), null, key);
  assert.deepEqual(off({ key: 'Enter' }), { name: 'add' });
  assert.deepEqual(off({ key: 'Delete' }), { name: 'remove' });
  assert.deepEqual(off({ key: 'ArrowUp' }), { name: 'move', dx: 0, dy: -1 });
  assert.deepEqual(off({ key: 'z', ctrlKey: true }), { name: 'undo' });
});

test('grips stay inside the photo, whatever the box and the zoom', () => {
  const r = generator(11);
  for (let i = 0; i < 3000; i += 1) {
    const box = { left: r.int(0, 600), top: r.int(0, 400), width: r.int(4, 40), height: r.int(4, 27) };
    for (const g of gripPlaces(box, r.number(0.1, 9), SIZE)) {
      assert.ok(g.x >= 0 && g.x <= SIZE.width && g.y >= 0 && g.y <= SIZE.height);
    }
  }
});

test('of the grips within reach the nearest is taken, and a finger reaches further without stealing', () => {
  const grips = gripPlaces({ left: 100, top: 100, width: 300, height: 200 }, 1, SIZE, true);
  for (const g of grips) {
    assert.equal(gripAt(grips, g).edge, g.edge, 'on the grip itself');
    assert.ok(g.right - g.left >= 40 && g.bottom - g.top >= 40, `${g.edge} is large enough for a finger`);
  }
  assert.equal(gripAt(grips, { x: 410, y: 310 }).edge, 'se');
  assert.equal(gripAt(grips, { x: 250, y: 200 }), null, 'the inside is for moving');
});

test('a small box keeps its inside for moving, one in the corner of the photo still has all its grips', () => {
  const small = gripPlaces({ left: 100, top: 100, width: 16, height: 16 }, 1, SIZE, true);
  assert.deepEqual(small.map((g) => g.edge), ['nw', 'ne', 'se', 'sw'], 'no room for middles');
  assert.equal(gripAt(small, { x: 108, y: 108 }), null);
  const corner = gripPlaces({ left: 0, top: 0, width: 90, height: 90 }, 1, SIZE, true);
  assert.equal(gripAt(corner, { x: 1, y: 1 }).edge, 'nw');
  assert.ok(corner[0].right >= 36, 'what the border denies it outside it has inside');
});

test('a finger that just misses a box means it, a finger on one means that', () => {
  const boxes = [{ id: 1, left: 10, top: 10, width: 50, height: 50 }, { id: 2, left: 70, top: 10, width: 10, height: 10 }];
  assert.equal(pick(boxes, { x: 64, y: 15 }, null), null);
  assert.equal(pick(boxes, { x: 64, y: 15 }, null, 12), 2, 'the smaller of the two');
  assert.equal(pick(boxes, { x: 59, y: 15 }, null, 12), 1);
});

test('two fingers are told as one movement, the third is not', () => {
  const bench = makeBench();
  const told = [];
  bench.tool.addEventListener('pinch', (e) => told.push(e.detail));
  const finger = (id, extra = {}) => ({ pointerId: id, pointerType: 'touch', isPrimary: id === 1, ...extra });
  bench.send('pointerdown', 100, 100, finger(1));
  bench.send('pointermove', 130, 130, finger(1));
  bench.send('pointerdown', 200, 100, finger(2));
  bench.send('pointerdown', 300, 300, finger(3));
  bench.send('pointermove', 300, 400, finger(3));
  bench.send('pointermove', 230, 130, finger(2));
  bench.send('pointerup', 230, 130, finger(2));
  bench.send('pointermove', 10, 10, finger(1));
  bench.send('pointerup', 10, 10, finger(1));
  bench.send('pointerup', 10, 10, finger(3));
  assert.deepEqual(told.map((t) => t.phase), ['start', 'move', 'end']);
  assert.deepEqual(told[1], { phase: 'move', middle: { x: 180, y: 130 }, span: 100 });
  assert.equal(bench.store.boxes.length, 0);
  bench.drag(10, 10, 60, 60, finger(1));
  assert.equal(bench.store.boxes.length, 1, 'the next finger alone draws');
});

const KEYS = ['b', 'Enter', 'n', 'p', 'Delete', 'Escape', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'z', 'y', '3'];

function randomEvent(bench, r) {
  const [x, y] = [r.number(-80, 720), r.number(-80, 500)];
  const extra = {
    pointerId: r.chance(0.1) ? 2 : 1, buttons: r.chance(0.1) ? 0 : 1, button: r.chance(0.05) ? 2 : 0,
    edge: r.chance(0.2) ? r.pick(['nw', 'n', 'se', 'e', 'sw']) : undefined, boxId: r.chance(0.1) ? r.int(1, 30) : undefined,
  };
  switch (r.int(0, 9)) {
    case 0: case 1: bench.send('pointerdown', x, y, extra); break;
    case 2: case 3: case 4: bench.send('pointermove', x, y, extra); break;
    case 5: bench.send('pointerup', x, y, extra); break;
    case 6: bench.send(r.pick(['pointercancel', 'lostpointercapture']), x, y, extra); break;
    case 7: bench.store.setActive(r.pick([null, 1, 2, 3, 4, 5])); break;
    default: {
      const command = commandFor({ key: r.pick(KEYS), shiftKey: r.chance(0.3), altKey: r.chance(0.2), ctrlKey: r.chance(0.2) }, r.chance(0.8));
      if (command) runCommand(command, bench.store, { visible: () => ({ left: 0, top: 0, ...SIZE }), tool: bench.tool });
    }
  }
}

test('random pointers and keys together: nothing outside the photo, nothing thrown, undo leads back to nothing', () => {
  for (let seed = 1; seed <= 400; seed += 1) {
    const r = generator(seed * 7919);
    const bench = makeBench({ scale: r.pick([0.3, 1, 1.7, 4]), offset: { x: r.number(-500, 100), y: r.number(-500, 100) } });
    for (let step = 0; step < 80; step += 1) {
      randomEvent(bench, r);
      for (const b of bench.store.boxes) assert.ok(isValid(b, SIZE), `seed ${seed} step ${step} ${JSON.stringify(b)}`);
    }
    bench.tool.finish();
    const last = bench.store.boxes;
    let steps = 0;
    while (bench.store.undo()) steps += 1;
    assert.equal(bench.store.boxes.length, 0, `seed ${seed}`);
    for (let i = 0; i < steps; i += 1) bench.store.redo();
    assert.deepEqual(bench.store.boxes, last, `seed ${seed}`);
  }
});
