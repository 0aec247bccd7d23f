// Runs in a process of its own, so that the modules can be loaded as a German page loads them.
import test from 'node:test';
import assert from 'node:assert/strict';

const I18N = '../../static/js/ui/i18n.js';
const pageIn = (lang, catalog) => ({
  documentElement: { lang },
  getElementById: (id) => (id === 'i18n-catalog' && catalog ? { textContent: JSON.stringify(catalog) } : null),
});
const row = (form) => Array.from({ length: 200 }, (_, n) => form(n)).join('');

/** @returns {Promise<typeof import('../../static/js/ui/i18n.js')>} the module as a page of that language loads it */
async function loaded(name, lang, catalog) {
  globalThis.document = pageIn(lang, catalog);
  return import(`${I18N}?${name}`);
}

test('a page without a catalogue speaks English', async () => {
  const { gettext, language, ngettext } = await loaded('en', 'en', null);
  assert.equal(language, 'en');
  assert.equal(gettext('Undone.'), 'Undone.');
  assert.deepEqual([0, 1, 2].map((n) => ngettext('one box', 'many boxes', n)), ['many boxes', 'one box', 'many boxes']);
});

test('what the catalogue lacks is shown in English', async () => {
  const { gettext, ngettext } = await loaded('part', 'de', { messages: { Reload: 'Neu laden' }, plurals: row((n) => Number(n !== 1)) });
  assert.equal(gettext('Reload'), 'Neu laden');
  assert.equal(gettext('Undone.'), 'Undone.');
  assert.equal(ngettext('one box', 'many boxes', 1), 'one box');
  assert.equal(gettext('constructor'), 'constructor', 'a name that every object has is no translation');
});

test('three plural forms, far beyond the table', async () => {
  const polish = (n) => (n === 1 ? 0 : n % 10 >= 2 && n % 10 <= 4 && !(n % 100 >= 12 && n % 100 <= 14) ? 1 : 2);
  const { ngettext } = await loaded('pl', 'pl', { messages: { box: ['ramka', 'ramki', 'ramek'] }, plurals: row(polish) });
  for (const n of [0, 1, 2, 4, 5, 11, 12, 21, 22, 99, 100, 101, 102, 112, 122, 199, 200, 201, 202, 212, 222, 1001, 1002, 1012]) {
    assert.equal(ngettext('box', 'boxes', n), ['ramka', 'ramki', 'ramek'][polish(n)], String(n));
  }
});

test('places are filled by name, in any order, and may be elements', async () => {
  const { interpolate, pieces } = await loaded('fill', 'en', null);
  assert.equal(interpolate('%(b)s before %(a)s, 100 %', { a: 1, b: 'x' }), 'x before 1, 100 %');
  assert.equal(interpolate('%(gone)s.', {}), '.');
  assert.equal(interpolate('%(a)s', { a: '%(b)s', b: 'never' }), '%(b)s', 'a value is not searched for places');
  const key = { key: 'Shift' };
  assert.deepEqual(pieces('with %(shift)s faster', { shift: key }), ['with ', key, ' faster']);
  assert.deepEqual(pieces('%(count)s complete', { count: '2 of 3' }), ['2 of 3', ' complete']);
});

test('money, lists and times are written as the language writes them', async () => {
  globalThis.document = pageIn('de', { messages: { '%(n)s min': '%(n)s Min.' }, plurals: row((n) => Number(n !== 1)) });
  const { ago, clock, duration, list, money } = await import('../../static/js/ui/format.js');
  assert.equal(money(110), '1,10\u00a0$');
  assert.equal(money(-123456), '−1.234,56\u00a0$');
  assert.equal(list(['a', 'b', 'c']), 'a, b und c');
  assert.equal(duration(90), '1 Min. 30 s');
  assert.equal(ago(150), '2 Min.');
  assert.equal(clock(3725), '1:02:05');
});
