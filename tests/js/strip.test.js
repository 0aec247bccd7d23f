import test from 'node:test';
import assert from 'node:assert/strict';
import { keepAboveKeyboard } from '../../static/js/mentions/strip.js';

/** A page of 800 px with a strip, and the part of it that a keyboard leaves visible. */
function page({ height, offsetTop = 0, scale = 1, focused = null }) {
  const view = Object.assign(new EventTarget(), { height, offsetTop, scale });
  const set = new Map();
  globalThis.window = { innerHeight: 800 };
  globalThis.document = { activeElement: focused };
  keepAboveKeyboard({ style: { setProperty: (name, value) => set.set(name, value) } }, view);
  return { view, covered: () => set.get('--keyboard') };
}

test('the strip stands above what the keyboard covers', () => {
  assert.equal(page({ height: 500 }).covered(), '300px');
  assert.equal(page({ height: 500, offsetTop: 120 }).covered(), '180px', 'the page is scrolled under the keyboard');
  assert.equal(page({ height: 800 }).covered(), '0px');
  assert.equal(page({ height: 400, scale: 2 }).covered(), '0px', 'a page that is zoomed in has no keyboard');
});

test('the strip follows the keyboard, and the text that is written comes into view', () => {
  const seen = [];
  const focused = { matches: (selector) => selector === '.mention-field', scrollIntoView: (options) => seen.push(options) };
  const { view, covered } = page({ height: 800, focused });
  view.height = 460;
  view.dispatchEvent(new Event('resize'));
  assert.equal(covered(), '340px');
  assert.deepEqual(seen.at(-1), { block: 'nearest' });
});
