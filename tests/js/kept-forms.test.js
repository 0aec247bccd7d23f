import test from 'node:test';
import assert from 'node:assert/strict';
import { keep, settle } from '../../static/js/ui/kept-forms.js';

const field = (name, value, type = 'text', tagName = 'INPUT') => ({ name, value, type, tagName, dispatchEvent() {} });
const form = (fields, { action = '/decide', signIn = false, method = 'post' } = {}) => ({
  method,
  elements: fields,
  getAttribute: () => action,
  matches: () => signIn,
  closest: () => null,
});
const page = (forms, signIn = false, ways = []) => ({
  querySelector: () => (signIn ? {} : null),
  querySelectorAll: (which) => (which === '[data-kept-way]' ? ways : forms),
});
function storage() {
  const kept = new Map();
  return { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v), removeItem: (k) => kept.delete(k), kept };
}
const typed = () => [field('feedback', 'Box 2 is loose'), field('password', 'secret', 'password'), field('csrf', 'x', 'hidden')];

test('what was typed is back after a sign-in that came in between', () => {
  const place = { storage: storage(), user: '7', here: '/review/3' };
  keep(form(typed()), place);
  assert.ok(!place.storage.getItem('kept-form').includes('secret'));
  settle(page([], true), { ...place, user: '', here: '/sign-in/' });
  const fresh = form([field('feedback', ''), field('password', '', 'password')]);
  assert.equal(settle(page([fresh]), place), true);
  assert.equal(fresh.elements[0].value, 'Box 2 is loose');
  assert.equal(place.storage.kept.size, 0);
});

test('the page that says that nothing was sent leads back to the form', () => {
  const place = { storage: storage(), user: '7', here: '/review/3?page=2' };
  keep(form(typed()), place);
  const way = { tagName: 'A', hidden: true };
  settle(page([], true, [way]), { ...place, user: '', here: '/decide' });
  assert.deepEqual(way, { tagName: 'A', hidden: false, href: '/review/3?page=2' });
});

test('nothing comes back without a sign-in, on another page, or for another person', () => {
  for (const change of [{ direct: true }, { here: '/review/4' }, { user: '8' }]) {
    const place = { storage: storage(), user: '7', here: '/review/3' };
    keep(form(typed()), place);
    if (!change.direct) settle(page([], true), { ...place, user: '' });
    const fresh = form([field('feedback', '')]);
    assert.equal(settle(page([fresh]), { ...place, ...change }), false);
    assert.equal(fresh.elements[0].value, '');
    assert.equal(place.storage.kept.size, 0, 'forgotten');
  }
});

test('the sign-in form, a search and somebody who is not signed in keep nothing', () => {
  const place = { storage: storage(), user: '7', here: '/x' };
  keep(form(typed(), { signIn: true }), place);
  keep(form(typed(), { method: 'get' }), place);
  keep(form(typed()), { ...place, user: '' });
  assert.equal(place.storage.kept.size, 0);
});
