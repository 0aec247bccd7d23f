import test from 'node:test';
import assert from 'node:assert/strict';
import { GradeQueue } from '../../validation/static/validation/js/grading-queue.js';
import { fakeStorage } from './helpers/random.js';

const grade = (key, word = 'yes', note = '') => ({ key, grade: word, note });
const keys = (queue) => queue.next.map((one) => one.key);

test('add replaces an unsent grade of the same pair', () => {
  const queue = new GradeQueue(fakeStorage(), '1:1');
  queue.add(grade('a'));
  queue.add(grade('b'));
  queue.add(grade('a', 'no', 'Too vague.'));
  assert.deepEqual(queue.next, [grade('b'), grade('a', 'no', 'Too vague.')]);
  queue.remove('b');
  assert.deepEqual(keys(queue), ['a']);
  assert.equal(queue.has('b'), false);
});

test('removeSent keeps a newer grade of the same pair', () => {
  const queue = new GradeQueue(fakeStorage(), '1:1');
  queue.add(grade('a'));
  queue.add(grade('b'));
  const sent = queue.next;
  queue.add(grade('a', 'back'));
  queue.removeSent(sent);
  assert.deepEqual(queue.next, [grade('a', 'back')]);
});

test('grades are stored per round and grader', () => {
  const disk = fakeStorage();
  const queue = new GradeQueue(disk, '1:1');
  queue.add(grade('a'));
  assert.deepEqual(keys(new GradeQueue(disk, '1:1')), ['a']);
  assert.deepEqual(keys(new GradeQueue(disk, '1:2')), []);
  queue.removeSent(queue.next);
  assert.equal(disk.kept.size, 0);
});

test('the queue works without storage and with a damaged one', () => {
  const full = { getItem: () => '{', setItem() { throw new Error('full'); }, removeItem() { throw new Error('full'); } };
  for (const disk of [null, full, fakeStorage({ 'deerstalker:grades:1:1': '7' })]) {
    const queue = new GradeQueue(disk, '1:1');
    queue.add(grade('a'));
    assert.deepEqual(keys(queue), ['a']);
  }
});

test('next returns at most 50 grades', () => {
  const queue = new GradeQueue(null, '1:1');
  for (let n = 0; n < 60; n += 1) queue.add(grade(String(n)));
  assert.equal(queue.next.length, 50);
  queue.removeSent(queue.next);
  assert.equal(queue.length, 10);
});
