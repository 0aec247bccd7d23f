/**
 * What the box editor is meant to do, written a second time and in another way: boxes are four sides, history is a
 * list of whole pictures, and nothing of static/js/boxes is used. A test plays the same events on both.
 *
 * @typedef {{obs: number, name: number, l: number, t: number, r: number, b: number}} Sides
 */
const nearest = (v) => Math.floor(v + 0.5);
const within = (v, lo, hi) => (v < lo ? lo : v > hi ? hi : v);
const inside = (box, { x, y }) => x >= box.l && x < box.r && y >= box.t && y < box.b;
const covers = (box) => (box.r - box.l) * (box.b - box.t);
const same = (a, b) => a.l === b.l && a.t === b.t && a.r === b.r && a.b === b.b;

export class EditorModel {
  constructor({ width, height, min, most, k, mergeMs }) {
    Object.assign(this, { width, height, min, most, k, mergeMs });
    this.boxes = [];
    this.past = [];
    this.future = [];
    this.names = 0;
    this.chosen = null;
    this.card = 1;
    this.hand = false;
    this.space = false;
    this.drag = null;
    this.fingers = new Map();
    this.several = false;
    this.pair = [];
    this.run = { tag: null, at: 0 };
    this.clock = 0;
  }

  play(event) {
    if (event.kind === 'wait') this.clock += event.ms;
    else if (event.kind === 'card') this.card = event.card;
    else if (event.kind === 'hand') this.hand = event.on;
    else if (event.kind === 'space') this.space = event.on;
    else if (event.kind === 'command') this.command(event);
    else if (event.kind === 'leave') this.leave();
    else this.pointer(event);
  }

  get selected() { return this.boxes.find((b) => b.name === this.chosen) ?? null; }

  // -- history
  change(boxes, tag = null) {
    const joined = tag !== null && this.run.tag === tag && this.clock - this.run.at <= this.mergeMs;
    if (!joined) this.past.push(this.boxes);
    this.run = { tag, at: this.clock };
    this.future = [];
    this.show(boxes);
  }

  show(boxes) {
    this.boxes = boxes;
    if (this.chosen !== null && !this.selected) this.choose(null);
  }

  choose(name) {
    if (name === this.chosen) return;
    this.chosen = name;
    this.run.tag = null;
  }

  add(obs, sides) {
    const box = { ...sides, obs, name: (this.names += 1) };
    this.change([...this.boxes, box]);
    this.choose(box.name);
  }

  put(name, sides, tag) {
    const old = this.boxes.find((b) => b.name === name);
    if (old && !same(old, sides)) this.change(this.boxes.map((b) => (b.name === name ? { ...b, ...sides } : b)), tag);
  }

  room(obs) { return this.boxes.filter((b) => b.obs === obs).length < this.most; }
  roomy({ l, t, r, b }) { return r - l >= this.min && b - t >= this.min; }

  // -- shapes
  shifted(box, dx, dy) {
    const l = within(nearest(box.l + dx), 0, this.width - (box.r - box.l));
    const t = within(nearest(box.t + dy), 0, this.height - (box.b - box.t));
    return { l, t, r: l + box.r - box.l, b: t + box.b - box.t };
  }

  stretched(box, edge, dx, dy) {
    const out = { l: box.l, t: box.t, r: box.r, b: box.b };
    if (edge.includes('w')) out.l = within(nearest(box.l + dx), 0, box.r - this.min);
    if (edge.includes('e')) out.r = within(nearest(box.r + dx), box.l + this.min, this.width);
    if (edge.includes('n')) out.t = within(nearest(box.t + dy), 0, box.b - this.min);
    if (edge.includes('s')) out.b = within(nearest(box.b + dy), box.t + this.min, this.height);
    return out;
  }

  between(a, b) {
    const [x, y] = [(v) => within(nearest(v), 0, this.width), (v) => within(nearest(v), 0, this.height)];
    return { l: x(Math.min(a.x, b.x)), t: y(Math.min(a.y, b.y)), r: x(Math.max(a.x, b.x)), b: y(Math.max(a.y, b.y)) };
  }

  // -- keys
  command({ name, dx, dy, edge }) {
    const box = this.selected;
    if (name === 'add') this.addInTheMiddle();
    else if (name === 'remove' && box) this.change(this.boxes.filter((b) => b !== box));
    else if (name === 'next' || name === 'previous') this.turn(name === 'next' ? 1 : -1);
    else if (name === 'undo') this.travel(this.past, this.future);
    else if (name === 'redo') this.travel(this.future, this.past);
    else if (name === 'escape') this.letGo();
    else if (name === 'move' && box) this.put(box.name, this.shifted(box, dx, dy), `move ${box.name}`);
    else if (name === 'resize' && box) this.put(box.name, this.stretched(box, edge, dx, dy), `resize ${edge} ${box.name}`);
  }

  addInTheMiddle() {
    if (this.card === null || !this.room(this.card)) return;
    const [w, h] = [within(nearest(this.width / 5), this.min, this.width), within(nearest(this.height / 5), this.min, this.height)];
    const step = (this.boxes.length % 6) * Math.max(1, nearest(Math.min(w, h) / 4));
    const [l, t] = [nearest((this.width - w) / 2) + step, nearest((this.height - h) / 2) + step];
    this.add(this.card, this.shifted({ l, t, r: l + w, b: t + h }, 0, 0));
  }

  turn(step) {
    const n = this.boxes.length;
    if (n === 0) return;
    const at = this.boxes.findIndex((b) => b.name === this.chosen);
    const next = at < 0 ? (step > 0 ? 0 : n - 1) : (at + step + n) % n;
    this.choose(this.boxes[next].name);
  }

  travel(from, to) {
    if (from.length === 0) return;
    to.push(this.boxes);
    this.run.tag = null;
    this.show(from.pop());
  }

  letGo() {
    if (this.drag) this.drag = null;
    else this.choose(null);
  }

  leave() {
    this.finish();
    this.fingers.clear();
    [this.several, this.pair] = [false, []];
  }

  // -- pointers
  pointer(event) {
    const { type, id } = event;
    if (type === 'down') this.down(event);
    else if (type === 'move') this.moved(event);
    else {
      const wasSeveral = this.lift(id);
      if (wasSeveral || this.drag?.id !== id) return;
      if (type === 'up') this.follow(event);
      if (type === 'cancel') this.drag = null;
      else this.finish();
    }
  }

  lift(id) {
    if (!this.fingers.delete(id)) return false;
    const several = this.several;
    if (this.fingers.size === 0) [this.several, this.pair] = [false, []];
    else if (this.pair.includes(id)) this.pair = [];
    return several;
  }

  down(event) {
    if (event.touch) {
      if (event.first) {
        this.fingers.clear();
        [this.several, this.pair] = [false, []];
      }
      this.fingers.set(event.id, true);
      if (!this.several && this.fingers.size === 2) {
        this.drag = null;
        [this.several, this.pair] = [true, [...this.fingers.keys()]];
      }
      if (this.several) return;
    }
    if (this.drag && this.drag.id === event.id) this.finish();
    if (this.drag) {
      if (this.drag.touch === event.touch) this.drag = null;
      return;
    }
    if (![0, 1].includes(event.button) || !event.first) return;
    this.drag = { ...this.meaning(event), id: event.id, touch: event.touch, button: event.button, start: event.at, screen: event.screen, end: null };
  }

  meaning({ at, edge, on, button }) {
    const box = this.selected;
    if (this.hand || this.space || button === 1) return { what: 'pan' };
    if (box && edge) return { what: 'stretch', box, edge, press: box.name };
    const hit = this.boxes[on]?.name;
    if (box && (inside(box, at) || hit === box.name)) return { what: 'shift', box };
    const free = hit !== undefined && !this.boxes.some((b) => inside(b, at));
    return { what: 'draw', card: this.card, press: free ? hit : null };
  }

  moved(event) {
    if (this.pair.includes(event.id) || this.drag?.id !== event.id) return;
    const held = this.drag.button === 1 ? 4 : 1;
    if (!(event.buttons & held)) this.finish();
    else this.follow(event);
  }

  follow({ at, screen }) {
    const { drag } = this;
    if (drag.what === 'pan') return;
    const far = Math.max(Math.abs(screen.x - drag.screen.x), Math.abs(screen.y - drag.screen.y));
    if (drag.end || far >= (drag.touch ? 8 : 4)) drag.end = at;
  }

  finish() {
    const { drag } = this;
    this.drag = null;
    if (!drag || drag.what === 'pan') return;
    if (!drag.end) this.press(drag);
    else if (drag.what === 'draw') {
      const sides = this.between(drag.start, drag.end);
      if (drag.card !== null && this.roomy(sides) && this.room(drag.card)) this.add(drag.card, sides);
    } else {
      const [dx, dy] = [drag.end.x - drag.start.x, drag.end.y - drag.start.y];
      this.put(drag.box.name, drag.what === 'shift' ? this.shifted(drag.box, dx, dy) : this.stretched(drag.box, drag.edge, dx, dy));
    }
  }

  press(drag) {
    const slack = (drag.touch ? 12 : 3) * this.k;
    const hit = (room) => this.boxes.filter((b) => inside({ l: b.l - room, t: b.t - room, r: b.r + room, b: b.b + room }, drag.start));
    const under = (hit(0).length ? hit(0) : hit(slack)).sort((a, b) => covers(a) - covers(b) || b.name - a.name);
    const at = under.findIndex((b) => b.name === this.chosen);
    const picked = under.length ? under[(at + 1) % under.length].name : null;
    const meant = drag.press ?? picked;
    this.choose(this.boxes.some((b) => b.name === meant) ? meant : null);
  }
}
