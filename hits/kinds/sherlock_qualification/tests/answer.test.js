import test from 'node:test';
import assert from 'node:assert/strict';
import { descriptionGap, isComplete, isEmpty, missing, missingFrom, photoState, countSentences, toAnswer } from '../static/sherlock_qualification/answer.js';

const pair = { clue: 'the bag by the door', inference: 'Somebody is about to leave.', confidence: 2 };
const blank = { clue: '', inference: '', confidence: null };
const full = (image) => ({ image, description: 'A hall. A bag stands by the door.', pairs: [pair, pair, pair] });
const empty = (image) => ({ image, description: '', pairs: [blank, blank, blank] });

test('missing() reports each empty field of a pair', () => {
  assert.deepEqual(missing(pair), []);
  assert.deepEqual(missing({ ...pair, clue: ' \n ' }), ['clue']);
  assert.deepEqual(missing({ ...pair, inference: '' }), ['inference']);
  assert.deepEqual(missing({ ...pair, confidence: null }), ['confidence']);
  assert.deepEqual(missing({ ...pair, confidence: 4 }), ['confidence']);
  assert.equal(isComplete(pair), true);
  assert.equal(isEmpty(blank), true);
  assert.equal(isEmpty({ ...blank, confidence: 1 }), false);
});

// test_sherlock_qualification.py has the same cases: page and server must count alike.
test('countSentences counts as the server does', () => {
  const cases = {
    '': 0, 'A street': 1, 'A street.': 1, 'A street in winter. Two people wait.': 2, 'Who waits? Two people! Snow falls.': 3,
    "Mr. Smith waits at 3 p.m. at St. Mary's": 1, 'Wait... what is that': 2, 'It costs 3.50 in 2021. Then more.': 2, 'They say “Stop.” Nobody stops.': 2,
  };
  for (const [text, count] of Object.entries(cases)) assert.equal(countSentences(text), count, text);
});

test('a description is missing, too long, or right', () => {
  assert.equal(descriptionGap({ description: '  ' }, 2), 'missing');
  assert.equal(descriptionGap({ description: 'One thing here. Then another. Then more.' }, 2), 'long');
  assert.equal(descriptionGap({ description: 'One thing here. Then another.' }, 2), null);
});

test('a photo is empty, begun or complete', () => {
  assert.equal(photoState(empty(1), 2), 'empty');
  assert.equal(photoState({ ...empty(1), description: 'A hall.' }, 2), 'begun');
  assert.equal(photoState({ ...full(1), pairs: [pair, pair, blank] }, 2), 'begun');
  assert.equal(photoState(full(1), 2), 'complete');
});

test('nothing is missing from a complete answer', () => {
  assert.deepEqual(missingFrom({ images: [full(1), full(2), full(3)], exam: [{ question: 'a', choice: 0 }] }, ['a'], 2), []);
});

test('at first the bar says what a photo asks for, and names the others once', () => {
  const gaps = missingFrom({ images: [empty(1), empty(2), empty(3)], exam: [] }, ['a', 'b'], 2);
  assert.deepEqual(gaps, [
    { photo: 0, what: 'missing' },
    { photo: 0, pair: 0, fields: ['clue', 'inference', 'confidence'] },
    { photo: 0, pair: 1, fields: ['clue', 'inference', 'confidence'] },
    { photo: 0, pair: 2, fields: ['clue', 'inference', 'confidence'] },
    { photo: 1, what: 'photo' },
    { photo: 2, what: 'photo' },
    { questions: 2 },
  ]);
});

test('a gap names photo, pair and what is missing', () => {
  const begun = { ...full(2), pairs: [pair, { ...pair, confidence: null }, pair] };
  const long = { ...full(3), description: 'One thing here. Then another. Then more.' };
  const gaps = missingFrom({ images: [full(1), begun, long], exam: [{ question: 'b', choice: 1 }] }, ['a', 'b'], 2);
  assert.deepEqual(gaps, [{ photo: 1, pair: 1, fields: ['confidence'] }, { photo: 2, what: 'long' }, { question: 0 }]);
});

test('the answer goes out tidied', () => {
  const answer = toAnswer({ images: [{ ...full(1), description: ' A  hall. ', pairs: [{ ...pair, clue: 'a\nbag' }, pair, pair] }], exam: [] });
  assert.equal(answer.images[0].description, 'A hall.');
  assert.equal(answer.images[0].pairs[0].clue, 'a bag');
});
