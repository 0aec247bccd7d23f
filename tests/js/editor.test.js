/**
 * Ten thousand random sequences of pointers and keys, on the editor and on an independent model of it
 * (helpers/editor-model.js). After every event both must show the same boxes, the same selection and the same history;
 * every box must be whole, inside the photo and of allowed size. A failing sequence is shrunk and printed as JSON.
 */
import test from 'node:test';
import assert from 'node:assert/strict';
import { BoxStore, MERGE_MS } from '../../static/js/boxes/store.js';
import { BoxTool } from '../../static/js/boxes/tool.js';
import { commandFor, runCommand } from '../../static/js/boxes/keyboard.js';
import { toImage } from '../../static/js/boxes/transform.js';
import { EditorModel } from './helpers/editor-model.js';
import { generator } from './helpers/random.js';

const SEQUENCES = Number(process.env.EDITOR_SEQUENCES ?? 10_000);
const SEED = Number(process.env.EDITOR_SEED ?? 20_260_101);
const MIN = 4;
const EDGES = ['nw', 'n', 'ne', 'e', 'se', 's', 'sw', 'w'];
const KEYS = ['b', 'Enter', 'n', 'p', 'Delete', 'Backspace', 'Escape', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'z', 'Z', 'y'];

/** The real editor, driven by the same events as the model. */
function makeEditor({ width, height, most, scale, offset }) {
  let clock = 0;
  const surface = new EventTarget();
  const captured = new Set();
  Object.assign(surface, {
    setPointerCapture: (id) => captured.add(id), hasPointerCapture: (id) => captured.has(id), releasePointerCapture: (id) => captured.delete(id),
  });
  const size = { width, height };
  const store = new BoxStore(size, { min: MIN, most, now: () => clock });
  store.setActive(1);
  const rect = { left: offset.x, top: offset.y, width: width * scale, height: height * scale };
  const tool = new BoxTool(surface, store, {
    point: (e) => toImage(e.clientX, e.clientY, rect, size),
    target: (e) => ({ edge: e.edge, id: store.boxes[e.on]?.id }),
  });
  const point = (event) => {
    const sent = Object.assign(new Event({ lost: 'lostpointercapture' }[event.type] ?? `pointer${event.type}`, { cancelable: true }), {
      pointerId: event.id, pointerType: event.touch ? 'touch' : 'mouse', isPrimary: event.first, button: event.button, buttons: event.buttons,
      clientX: event.screen.x, clientY: event.screen.y, edge: event.edge, on: event.on,
    });
    surface.dispatchEvent(sent);
  };
  const visible = () => ({ left: 0, top: 0, ...size });
  const acts = {
    wait: ({ ms }) => { clock += ms; },
    card: ({ card }) => store.setActive(card),
    hand: ({ on }) => { tool.mode = on ? 'pan' : 'draw'; },
    space: ({ on }) => { tool.held = on; },
    command: (command) => runCommand(command, store, { visible, tool }),
    leave: () => tool.release(),
    pointer: point,
  };
  return { store, tool, play: (event) => acts[event.kind](event) };
}

function makeEvents(r, { width, height, scale, offset }) {
  const point = (touch) => {
    const at = { x: r.number(-0.15 * width, 1.15 * width), y: r.number(-0.15 * height, 1.15 * height) };
    const first = touch ? r.chance(0.6) : !r.chance(0.03);
    const button = touch || r.chance(0.85) ? 0 : r.pick([1, 2]);
    return {
      kind: 'pointer', touch, at, screen: { x: offset.x + at.x * scale, y: offset.y + at.y * scale },
      id: touch ? (first ? 10 : r.int(11, 12)) : r.chance(0.05) ? 2 : 1, first, button,
      buttons: r.chance(0.06) ? 0 : r.pick([1, 1, 1, 1, 5, 3]),
      edge: r.chance(0.2) ? r.pick(EDGES) : undefined, on: r.chance(0.15) ? r.int(0, 8) : undefined,
    };
  };
  const near = (event) => (r.chance(0.25)
    ? { at: { x: event.at.x + 2 / scale, y: event.at.y - 1 / scale }, screen: { x: event.screen.x + 2, y: event.screen.y - 1 } } : null);
  // Most presses become whole drags or taps, else chance would hardly ever draw a box.
  const gesture = () => {
    const [down, end] = [point(r.chance(0.3)), point(false)];
    const { at, screen } = near(down) ?? end;
    const rest = { ...down, at, screen };
    const all = [{ ...down, type: 'down' }, { ...rest, type: 'move' }, { ...rest, type: r.pick(['up', 'up', 'up', 'up', 'cancel', 'lost']) }];
    return r.chance(0.15) ? all.slice(0, r.int(1, 2)) : all;
  };
  const key = () => {
    const event = { key: r.pick(KEYS), shiftKey: r.chance(0.3), altKey: r.chance(0.25), ctrlKey: false, metaKey: false, repeat: r.chance(0.2) };
    if (/^[zy]$/i.test(event.key)) Object.assign(event, { ctrlKey: true, altKey: false });
    const command = commandFor(event, r.chance(0.9));
    return command ? [{ kind: 'command', ...command }] : [];
  };
  const other = () => r.pick([
    [{ kind: 'wait', ms: r.int(1, 1500) }], [{ kind: 'card', card: r.pick([null, 1, 2, 3]) }], [{ kind: 'card', card: r.int(1, 3) }],
    [{ kind: 'hand', on: r.chance(0.2) }], [{ kind: 'space', on: r.chance(0.2) }], [{ kind: 'leave' }],
  ]);
  const events = [];
  while (events.length < 40) events.push(...(r.chance(0.5) ? gesture() : r.chance(0.7) ? key() : other()));
  return events;
}

const shown = (store) => store.boxes.map(({ obs, left, top, width, height }) => [obs, left, top, left + width, top + height]);
const meant = (model) => model.boxes.map(({ obs, l, t, r, b }) => [obs, l, t, r, b]);

/** @returns {string|null} what went wrong, null for nothing */
function trouble(world, events) {
  const editor = makeEditor(world);
  const model = new EditorModel({ ...world, min: MIN, k: 1 / world.scale, mergeMs: MERGE_MS });
  try {
    for (const [i, event] of events.entries()) {
      editor.play(event);
      model.play(event);
      compare(editor, model, world, `after event ${i}`);
    }
    editor.tool.finish();
    model.finish();
    // All the way back, and forth again: every picture as it was.
    for (const [name, steps] of [['undo', model.past], ['redo', model.future], ['undo', model.past]]) {
      for (let n = steps.length; n >= 0; n -= 1) {
        editor.play({ kind: 'command', name });
        model.play({ kind: 'command', name });
        compare(editor, model, world, `${name}, ${n} to go`);
      }
    }
    assert.equal(editor.store.boxes.length, 0, 'undo leads back to nothing');
    return null;
  } catch (error) {
    return error.message;
  }
}

function compare({ store, tool }, model, { width, height, most }, when) {
  // Plain checks first: assert.deepEqual on each of a million steps would take minutes.
  const [a, b] = [JSON.stringify(shown(store)), JSON.stringify(meant(model))];
  if (a !== b) assert.fail(`${when}: the boxes are ${a}, not ${b}`);
  for (const [obs, l, t, r, bottom] of shown(store)) {
    const fine = [l, t, r, bottom].every(Number.isInteger) && l >= 0 && t >= 0 && r <= width && bottom <= height && r - l >= MIN && bottom - t >= MIN;
    if (!fine) assert.fail(`${when}: a box that may not be: ${[obs, l, t, r, bottom]}`);
  }
  for (const obs of [1, 2, 3]) if (store.of(obs).length > most) assert.fail(`${when}: too many boxes`);
  const [selected, wanted] = [store.boxes.findIndex((x) => x.id === store.selectedId), model.boxes.findIndex((x) => x.name === model.chosen)];
  if (selected !== wanted || (selected < 0 && store.selectedId !== null)) assert.fail(`${when}: box ${selected} is selected, not ${wanted}`);
  if (store.canUndo !== model.past.length > 0 || store.canRedo !== model.future.length > 0) assert.fail(`${when}: history differs`);
  if (tool.busy !== (model.drag !== null)) assert.fail(`${when}: a drag is ${tool.busy ? '' : 'not '}on`);
}

/** Leaves out events as long as it still goes wrong. */
function shrink(world, events) {
  let small = events;
  for (let size = small.length >> 1; size >= 1; size >>= 1) {
    for (let from = 0; from + size <= small.length;) {
      const fewer = [...small.slice(0, from), ...small.slice(from + size)];
      if (trouble(world, fewer)) small = fewer;
      else from += size;
    }
  }
  return small;
}

test(`${SEQUENCES} random sequences end as the model says`, () => {
  let drawn = 0;
  for (let n = 0; n < SEQUENCES; n += 1) {
    const r = generator(SEED + n * 7919);
    const [width, height] = r.pick([[640, 427], [6000, 4000], [320, 240], [9, 40]]);
    const world = { width, height, most: r.pick([3, 20]), scale: r.pick([0.127, 0.5, 1, 1.25, 2, 4]), offset: { x: r.number(-500, 100), y: r.number(-500, 100) } };
    const events = makeEvents(r, world);
    if (trouble(world, events)) {
      const small = shrink(world, events);
      assert.fail(`EDITOR_SEED=${SEED}, sequence ${n}: ${trouble(world, small)}\n${JSON.stringify({ world, events: small })}`);
    }
    drawn += n < 200 ? events.filter((e) => e.type === 'up').length : 0;
  }
  assert.ok(drawn > 200, 'the sequences do something');
});
