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
function makeBoxEditor({ scale = 1, offset = { x: 0, y: 0 } } = {}) {
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
    const editor = makeBoxEditor({ scale, offset: { x: -313.25, y: 41.5 } });
    editor.store.setActive(3);
    editor.drag(101, 33, 407, 251);
    assert.deepEqual(editor.plain(), [[101, 33, 306, 218]], `scale ${scale}`);
    assert.equal(editor.store.boxes[0].obs, 3);
  }
});

test('two drags in a row give two boxes', () => {
  const editor = makeBoxEditor();
  editor.drag(10, 10, 60, 60);
  editor.drag(200, 10, 260, 60);
  assert.equal(editor.store.boxes.length, 2);
});

test('no open card, no box, and it is reasons', () => {
  const editor = makeBoxEditor();
  editor.store.setActive(null);
  const reasons = [];
  editor.tool.addEventListener('refuse', (e) => reasons.push(e.detail.reason));
  editor.drag(10, 10, 60, 60);
  assert.equal(editor.store.boxes.length, 0);
  assert.deepEqual(reasons, ['no-card']);
});

test('a box thinner than the minimum is refused', () => {
  const editor = makeBoxEditor();
  const reasons = [];
  editor.tool.addEventListener('refuse', (e) => reasons.push(e.detail.reason));
  editor.drag(10, 10, 60, 12);
  assert.equal(editor.store.boxes.length, 0);
  assert.deepEqual(reasons, ['too-small']);
});

test('one box too many is refused, drawn or added by key', () => {
  const editor = makeBoxEditor();
  editor.store.most = 2;
  const reasons = [];
  editor.tool.addEventListener('refuse', (e) => reasons.push(e.detail.reason));
  for (const x of [0, 100, 200]) editor.drag(x + 10, 10, x + 60, 60);
  runCommand({ name: 'add' }, editor.store, { visible: () => ({ left: 0, top: 0, ...SIZE }), refuse: (reason) => editor.tool.refuse(reason) });
  assert.equal(editor.store.boxes.length, 2);
  assert.deepEqual(reasons, ['too-many', 'too-many'], 'reasons the same way, and seen the same way');
  editor.store.setActive(2);
  editor.drag(300, 200, 350, 260);
  assert.equal(editor.store.boxes.length, 3, 'another observation has its own room');
});

test('inside the selected box a drag moves, elsewhere it draws, also inside another box', () => {
  const editor = makeBoxEditor();
  editor.drag(100, 100, 200, 200);
  editor.drag(150, 150, 160, 170);
  assert.deepEqual(editor.plain(), [[110, 120, 100, 100]]);
  editor.store.select(null);
  editor.drag(150, 150, 160, 170);
  assert.deepEqual(editor.plain(), [[110, 120, 100, 100], [150, 150, 10, 20]]);
});

test('a grip resizes by what the pointer travels, not to where it is', () => {
  const editor = makeBoxEditor();
  editor.drag(100, 100, 200, 200);
  editor.send('pointerdown', 203, 198, { edge: 'se' });
  editor.send('pointermove', 213, 218);
  editor.send('pointerup', 213, 218);
  assert.deepEqual(editor.plain(), [[100, 100, 110, 120]]);
});

test('a press selects the smallest box, a second press the next one under it', () => {
  const editor = makeBoxEditor();
  editor.drag(100, 100, 300, 300);
  editor.store.select(null);
  editor.drag(150, 150, 200, 200);
  editor.store.select(null);
  const press = (x, y) => { editor.send('pointerdown', x, y); editor.send('pointerup', x + SLACK - 2, y); };
  press(160, 160);
  assert.equal(editor.store.selected.width, 50);
  press(160, 160);
  assert.equal(editor.store.selected.width, 200);
  press(160, 160);
  assert.equal(editor.store.selected.width, 50);
  press(600, 400);
  assert.equal(editor.store.selectedId, null);
  assert.equal(editor.store.boxes.length, 2, 'presses draw nothing');
  assert.equal(pick([], { x: 1, y: 1 }, null), null);
});

test('released outside a frame: the next move without a button keeps the box', () => {
  const editor = makeBoxEditor();
  editor.send('pointerdown', 100, 100);
  editor.send('pointermove', 40, 5);
  editor.send('pointermove', 300, 300, { buttons: 0 });
  assert.deepEqual(editor.plain(), [[40, 5, 60, 95]]);
  assert.equal(editor.tool.busy, false);
});

test('capture lost keeps the box, cancelled by the browser drops it', () => {
  const kept = makeBoxEditor();
  kept.send('pointerdown', 100, 100);
  kept.send('pointermove', 200, 200);
  kept.send('lostpointercapture', 0, 0);
  assert.equal(kept.store.boxes.length, 1);
  const dropped = makeBoxEditor();
  dropped.send('pointerdown', 100, 100);
  dropped.send('pointermove', 200, 200);
  dropped.send('pointercancel', 0, 0);
  assert.equal(dropped.store.boxes.length, 0);
});

test('a second finger takes the drag back, and its own lifting does nothing', () => {
  const editor = makeBoxEditor();
  editor.send('pointerdown', 100, 100);
  editor.send('pointermove', 200, 200);
  editor.send('pointerdown', 300, 300, { pointerId: 2, isPrimary: false });
  editor.send('pointermove', 250, 250);
  editor.send('pointerup', 250, 250);
  editor.send('pointerup', 300, 300, { pointerId: 2, isPrimary: false });
  assert.equal(editor.store.boxes.length, 0);
  assert.equal(editor.captured.size, 0);
});

test('the other mouse buttons draw nothing', () => {
  const editor = makeBoxEditor();
  editor.drag(10, 10, 90, 90, { button: 2 });
  assert.equal(editor.store.boxes.length, 0);
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

test('two fingers are phases as one movement, the third is not', () => {
  const editor = makeBoxEditor();
  const phases = [];
  editor.tool.addEventListener('pinch', (e) => phases.push(e.detail));
  const finger = (id, extra = {}) => ({ pointerId: id, pointerType: 'touch', isPrimary: id === 1, ...extra });
  editor.send('pointerdown', 100, 100, finger(1));
  editor.send('pointermove', 130, 130, finger(1));
  editor.send('pointerdown', 200, 100, finger(2));
  editor.send('pointerdown', 300, 300, finger(3));
  editor.send('pointermove', 300, 400, finger(3));
  editor.send('pointermove', 230, 130, finger(2));
  editor.send('pointerup', 230, 130, finger(2));
  editor.send('pointermove', 10, 10, finger(1));
  editor.send('pointerup', 10, 10, finger(1));
  editor.send('pointerup', 10, 10, finger(3));
  assert.deepEqual(phases.map((t) => t.phase), ['start', 'move', 'end']);
  assert.deepEqual(phases[1], { phase: 'move', middle: { x: 180, y: 130 }, span: 100 });
  assert.equal(editor.store.boxes.length, 0);
  editor.drag(10, 10, 60, 60, finger(1));
  assert.equal(editor.store.boxes.length, 1, 'the next finger alone draws');
});

const KEYS = ['b', 'Enter', 'n', 'p', 'Delete', 'Escape', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'z', 'y', '3'];

function randomEvent(editor, r) {
  const [x, y] = [r.number(-80, 720), r.number(-80, 500)];
  const extra = {
    pointerId: r.chance(0.1) ? 2 : 1, buttons: r.chance(0.1) ? 0 : 1, button: r.chance(0.05) ? 2 : 0,
    edge: r.chance(0.2) ? r.pick(['nw', 'n', 'se', 'e', 'sw']) : undefined, boxId: r.chance(0.1) ? r.int(1, 30) : undefined,
  };
  switch (r.int(0, 9)) {
    case 0: case 1: editor.send('pointerdown', x, y, extra); break;
    case 2: case 3: case 4: editor.send('pointermove', x, y, extra); break;
    case 5: editor.send('pointerup', x, y, extra); break;
    case 6: editor.send(r.pick(['pointercancel', 'lostpointercapture']), x, y, extra); break;
    case 7: editor.store.setActive(r.pick([null, 1, 2, 3, 4, 5])); break;
    default: {
      const command = commandFor({ key: r.pick(KEYS), shiftKey: r.chance(0.3), altKey: r.chance(0.2), ctrlKey: r.chance(0.2) }, r.chance(0.8));
      if (command) runCommand(command, editor.store, { visible: () => ({ left: 0, top: 0, ...SIZE }), tool: editor.tool });
    }
  }
}

test('random pointers and keys together: nothing outside the photo, nothing thrown, undo leads back to nothing', () => {
  for (let seed = 1; seed <= 400; seed += 1) {
    const r = generator(seed * 7919);
    const editor = makeBoxEditor({ scale: r.pick([0.3, 1, 1.7, 4]), offset: { x: r.number(-500, 100), y: r.number(-500, 100) } });
    for (let step = 0; step < 80; step += 1) {
      randomEvent(editor, r);
      for (const b of editor.store.boxes) assert.ok(isValid(b, SIZE), `seed ${seed} step ${step} ${JSON.stringify(b)}`);
    }
    editor.tool.finish();
    const last = editor.store.boxes;
    let steps = 0;
    while (editor.store.undo()) steps += 1;
    assert.equal(editor.store.boxes.length, 0, `seed ${seed}`);
    for (let i = 0; i < steps; i += 1) editor.store.redo();
    assert.deepEqual(editor.store.boxes, last, `seed ${seed}`);
  }
});
