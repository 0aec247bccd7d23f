import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { adviceProblem, countSentences } from '../static/work_review/advice.js';
import { fieldOf, toAnswer, toFields } from '../static/work_review/answer.js';
import { countWords } from '../../../../static/js/mentions/segments.js';

const CASES = JSON.parse(readFileSync(new URL('advice_cases.json', import.meta.url), 'utf8'));
const LIMITS = { words: 8, sentences: 3 };

test('the page judges advice as the server does', () => {
  for (const { text, sentences, code } of CASES) {
    assert.equal(countSentences(text), sentences, text);
    // The page calls an empty text missing, not too short.
    const expected = countWords([text]) === 0 ? '' : code;
    assert.equal(adviceProblem(text, countWords([text]), LIMITS)?.code ?? '', expected, text);
  }
});

test('an answer keeps its choices through the fields of the form', () => {
  const answer = {
    triplets: [{ triplet: 1, question: 'good', answer: 'wrong', rationale: 'story', tags: 'right' }, { triplet: 2, tags: 'missing' }],
    advice: 'Look again.', overall: 'keep',
  };
  assert.deepEqual(toAnswer(toFields(answer), 2), answer);
  assert.deepEqual(toAnswer({}, 1), { triplets: [{ triplet: 1 }], advice: '' });
  assert.equal(toFields(null), null);
});

test('a path of the server leads to its field', () => {
  assert.equal(fieldOf('triplets[1].tags'), 'tags-2');
  assert.equal(fieldOf('triplets'), 'question-1');
  assert.equal(fieldOf('advice'), 'advice');
});
