import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INTERVAL_MS, RETRY_MS, draw, follow, isRunning, pause } from '../../curation/static/curation/js/scorer-plot.js';

/** A place whose drawing is its html, as far as the module looks at it. */
function made(state, lists = []) {
  const place = {
    dataset: { follow: '/losses' },
    lists,
    drawn: [],
    querySelector: () => ({ dataset: { training: state } }),
    querySelectorAll: () => place.lists,
    set innerHTML(html) {
      place.drawn.push(html);
      state = html;
      place.lists = lists.map(() => ({ open: false }));
    },
  };
  return place;
}

test('a training is followed until it is over', async () => {
  const place = made('running');
  const note = { textContent: '' };
  const answers = ['running', 'over'];
  const waits = [];
  await follow(place, note, { load: async () => answers.shift(), wait: async (ms) => waits.push(ms) });
  assert.deepEqual(place.drawn, ['running', 'over']);
  assert.deepEqual(waits, [INTERVAL_MS, INTERVAL_MS]);
});

test('one that is over is not asked about', async () => {
  const place = made('over');
  await follow(place, {}, { load: () => assert.fail('asked'), wait: () => assert.fail('waited') });
  assert.equal(isRunning(place), false);
});

test('a server that does not answer is asked less often, and the plots stay', async () => {
  const place = made('running');
  const note = { textContent: '' };
  const waits = [];
  const notes = [];
  let asked = 0;
  async function load() {
    asked += 1;
    if (asked === 1) throw new Error('answer 502');
    notes.push(note.textContent);
    return 'over';
  }
  await follow(place, note, { load, wait: async (ms) => waits.push(ms) });
  assert.deepEqual(waits, [INTERVAL_MS, RETRY_MS]);
  assert.match(notes[0], /does not answer/);
  assert.equal(note.textContent, '');
  assert.deepEqual(place.drawn, ['over']);
});

test('a list that somebody opened stays open', () => {
  const place = made('running', [{ open: true }, { open: false }]);
  draw(place, 'running');
  assert.deepEqual(
    place.lists.map((one) => one.open),
    [true, false]
  );
});

test('nobody is asked while the page is hidden', async () => {
  const page = new EventTarget();
  page.hidden = true;
  // The pause is over once it listens for the page to be seen.
  const listening = new Promise((done) => {
    page.addEventListener = (...options) => {
      EventTarget.prototype.addEventListener.apply(page, options);
      done();
    };
  });
  let over = false;
  const waiting = pause(0, page).then(() => (over = true));
  await Promise.race([listening, waiting]);
  assert.equal(over, false);
  page.hidden = false;
  page.dispatchEvent(new Event('visibilitychange'));
  await waiting;
  assert.equal(over, true);
});
