import test from 'node:test';
import assert from 'node:assert/strict';
import { documentAddress, fieldList, parseHeight } from '../static/html_template/fields.js';

test('the frame gets the marketplace\'s parameters, and of turkSubmitTo the origin only', () => {
  const own = 'http://127.0.0.1:8000/hit/5f/?assignmentId=A1&hitId=H&workerId=W&turkSubmitTo=http%3A%2F%2Flocalhost%3A8000%2Fa%2Fsecret#top';
  const url = new URL(documentAddress(own));
  assert.equal(url.origin + url.pathname, 'http://127.0.0.1:8000/hit/5f/document');
  assert.deepEqual(Object.fromEntries(url.searchParams), { assignmentId: 'A1', hitId: 'H', workerId: 'W', turkSubmitTo: 'http://localhost:8000' });
  assert.equal(url.hash, '');
});

test('an address without parameters, or with a turkSubmitTo that is no address, is taken as it is', () => {
  assert.equal(documentAddress('http://h/hit/5f/'), 'http://h/hit/5f/document');
  assert.equal(documentAddress('http://h/hit/5f/?turkSubmitTo=x'), 'http://h/hit/5f/document?turkSubmitTo=x');
});

test('fields are rows of two texts, and whatever else a page sends is left out', () => {
  assert.deepEqual(fieldList([['a', 'b'], ['a', 1], ['only'], 'ab', null, ['x', 'y', 'z']]), [['a', 'b'], ['a', '1']]);
  for (const nonsense of [null, undefined, 'text', 3, {}]) assert.deepEqual(fieldList(nonsense), []);
});

test('a frame is neither lower than a few lines nor higher than a screen can scroll', () => {
  assert.deepEqual([300.2, 10, 1e9, 0, -5, NaN, 'x', Infinity].map(parseHeight), [301, 240, 12000, 0, 0, 0, 0, 0]);
});
