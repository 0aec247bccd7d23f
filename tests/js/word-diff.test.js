import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { compareTexts, countWords, findDifferences, functionWordTest } from '../../static/js/hit/word-diff.js';

const { cases, function_words: functionWords } = JSON.parse(readFileSync(new URL('word_diff_cases.json', import.meta.url), 'utf8'));
const isFunctionWord = functionWordTest(functionWords);

for (const { about, first, second, hunks, differences } of cases) {
  test(`word diff: ${about}`, () => {
    assert.deepEqual(compareTexts(first, second).map(({ kind, before, after }) => [kind, before, after]), hunks);
    assert.deepEqual(findDifferences(first, second, isFunctionWord).map(({ before, after }) => [before, after]), differences);
  });
}

test('a contraction of a function word is one, a negation is none', () => {
  assert.deepEqual(["she's", "it'll", 'the', "dog's", "isn't", 'not'].map(isFunctionWord), [true, true, true, false, false, false]);
});

test('words are runs of letters and digits with apostrophes and hyphens inside', () => {
  assert.equal(countWords("The ten-year-old doesn’t see 2 signs – “stop”"), 7);
  assert.equal(countWords(' … '), 0);
});
