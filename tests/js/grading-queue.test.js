import test from 'node:test';
import assert from 'node:assert/strict';
import { GradeQueue } from '../../validation/static/validation/js/grading-queue.js';
import { fakeStorage } from './helpers/random.js';

const grade = (key, word = 'yes', note = '') => ({ key, grade: word, note });
const keys = (queue) => queue.next.map((one) => one.key);

test('the latest word on a pair leaves, and only that', () => {
  const queue = new GradeQueue(fakeStorage(), '1:1');
  queue.add(grade('a'));
  queue.add(grade('b'));
  queue.add(grade('a', 'no', 'Too vague.'));
  assert.deepEqual(queue.next, [grade('b'), grade('a', 'no', 'Too vague.')]);
  queue.drop('b');
  assert.deepEqual(keys(queue), ['a']);
  assert.equal(queue.holds('b'), false);
});

test('what was graded anew while it travelled stays', () => {
  const queue = new GradeQueue(fakeStorage(), '1:1');
  queue.add(grade('a'));
  queue.add(grade('b'));
  const sent = queue.next;
  queue.add(grade('a', 'back'));
  queue.arrived(sent);
  assert.deepEqual(queue.next, [grade('a', 'back')]);
});

test('grades outlive the page, for their own round and grader', () => {
  const disk = fakeStorage();
  const queue = new GradeQueue(disk, '1:1');
  queue.add(grade('a'));
  assert.deepEqual(keys(new GradeQueue(disk, '1:1')), ['a']);
  assert.deepEqual(keys(new GradeQueue(disk, '1:2')), []);
  queue.arrived(queue.next);
  assert.equal(disk.kept.size, 0);
});

test('without storage, or with a damaged one, the queue holds for the page', () => {
  const full = { getItem: () => '{', setItem() { throw new Error('full'); }, removeItem() { throw new Error('full'); } };
  for (const disk of [null, full, fakeStorage({ 'deerstalker:grades:1:1': '7' })]) {
    const queue = new GradeQueue(disk, '1:1');
    queue.add(grade('a'));
    assert.deepEqual(keys(queue), ['a']);
  }
});

test('a request carries fifty at most', () => {
  const queue = new GradeQueue(null, '1:1');
  for (let n = 0; n < 60; n += 1) queue.add(grade(String(n)));
  assert.equal(queue.next.length, 50);
  queue.arrived(queue.next);
  assert.equal(queue.length, 10);
});
