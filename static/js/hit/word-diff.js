/**
 * Compares two texts word by word, as the server does (hits/domain/answers/word_diff.py): the hunks are those of
 * Python's difflib.SequenceMatcher without junk. A test runs both on the same texts.
 *
 * @typedef {{kind: 'equal'|'delete'|'insert', before: string, after: string, words: string[]}} Hunk
 *   before and after are its parts of the two texts; all parts of a text, joined, are the text
 * @typedef {{before: string, after: string, wordsBefore: string[], wordsAfter: string[]}} Difference
 */
const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;
const ENDINGS = ["'s", "'d", "'ll", "'ve", "'re", "'m"];
const MAX_LINKING_WORDS = 1;

/** @param {string} text @returns {{key: string, start: number, end: number}[]} */
export function splitIntoWords(text) {
  return [...text.matchAll(WORD)].map(({ 0: word, index }) => ({ key: word.toLowerCase().replaceAll('’', "'"), start: index, end: index + word.length }));
}

/** @returns {number} the number of words of a text */
export const countWords = (text) => splitIntoWords(text).length;

/** @param {string[]} functionWords @returns {(word: string) => boolean} whether a word is one, or a contraction of one */
export function functionWordTest(functionWords) {
  const known = new Set(functionWords);
  return (word) => {
    if (known.has(word)) return true;
    const ending = ENDINGS.find((one) => word.endsWith(one));
    return ending !== undefined && known.has(word.slice(0, -ending.length));
  };
}

/** @returns {Hunk[]} in order; a deletion stands before its insertion */
export function compareTexts(first, second) {
  const [a, b] = [first, second].map((text) => ({ parts: partsOf(text), keys: splitIntoWords(text).map(({ key }) => key) }));
  return opcodes(a.keys, b.keys).flatMap(([equal, [aStart, aEnd], [bStart, bEnd]]) => {
    const before = a.parts.slice(aStart, aEnd).join('');
    const after = b.parts.slice(bStart, bEnd).join('');
    const words = a.keys.slice(aStart, aEnd);
    if (equal) return [{ kind: 'equal', before, after, words }];
    return [
      ...(aEnd > aStart ? [{ kind: 'delete', before, after: '', words }] : []),
      ...(bEnd > bStart ? [{ kind: 'insert', before: '', after, words: b.keys.slice(bStart, bEnd) }] : []),
    ];
  });
}

/**
 * @param {(word: string) => boolean} isFunctionWord
 * @returns {Difference[]} the places where two texts differ. Places with one equal function word between them
 *   are one. A place where only function words differ is left out, unless there is no other.
 */
export function findDifferences(first, second, isFunctionWord) {
  const found = joinedChanges(compareTexts(first, second), isFunctionWord).map(asDifference);
  const telling = found.filter(({ wordsBefore, wordsAfter }) => ![...wordsBefore, ...wordsAfter].every(isFunctionWord));
  return telling.length ? telling : found;
}

function partsOf(text) {
  const starts = splitIntoWords(text).map(({ start }) => start);
  return starts.map((start, at) => text.slice(at ? start : 0, starts[at + 1] ?? text.length));
}

function joinedChanges(hunks, isFunctionWord) {
  const changes = [];
  let change = [];
  let link = null;
  for (const hunk of hunks) {
    if (hunk.kind !== 'equal') {
      change.push(...(link ? [link] : []), hunk);
      link = null;
    } else if (change.length && !link && hunk.words.length <= MAX_LINKING_WORDS && hunk.words.every(isFunctionWord)) {
      link = hunk;
    } else if (change.length) {
      changes.push(change);
      change = [];
      link = null;
    }
  }
  return change.length ? [...changes, change] : changes;
}

function asDifference(hunks) {
  const of = (kind) => hunks.filter((hunk) => hunk.kind !== kind).flatMap(({ words }) => words);
  return {
    before: trimmed(hunks.map(({ before }) => before).join('')),
    after: trimmed(hunks.map(({ after }) => after).join('')),
    wordsBefore: of('insert'),
    wordsAfter: of('delete'),
  };
}

/** A text from its first word to its last one. */
function trimmed(text) {
  const words = splitIntoWords(text);
  return words.length ? text.slice(words[0].start, words.at(-1).end) : '';
}

// difflib.SequenceMatcher: the longest common run, the earliest of equally long ones, and then the same on both sides.

function opcodes(a, b) {
  const codes = [];
  let [i, j] = [0, 0];
  for (const [start, other, size] of [...matchingRuns(a, b), [a.length, b.length, 0]]) {
    if (i < start || j < other) codes.push([false, [i, start], [j, other]]);
    [i, j] = [start + size, other + size];
    if (size) codes.push([true, [start, i], [other, j]]);
  }
  return codes;
}

function matchingRuns(a, b) {
  const placesIn = new Map();
  b.forEach((word, place) => placesIn.set(word, [...(placesIn.get(word) ?? []), place]));
  const waiting = [[0, a.length, 0, b.length]];
  const runs = [];
  while (waiting.length) {
    const [aLow, aHigh, bLow, bHigh] = waiting.pop();
    const [i, j, size] = longestRun(a, placesIn, aLow, aHigh, bLow, bHigh);
    if (!size) continue;
    runs.push([i, j, size]);
    if (aLow < i && bLow < j) waiting.push([aLow, i, bLow, j]);
    if (i + size < aHigh && j + size < bHigh) waiting.push([i + size, aHigh, j + size, bHigh]);
  }
  return adjoined(runs.sort((one, other) => one[0] - other[0] || one[1] - other[1]));
}

function longestRun(a, placesIn, aLow, aHigh, bLow, bHigh) {
  let best = [aLow, bLow, 0];
  let lengths = new Map();
  for (let i = aLow; i < aHigh; i += 1) {
    const next = new Map();
    for (const j of placesIn.get(a[i]) ?? []) {
      if (j < bLow || j >= bHigh) continue;
      const length = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, length);
      if (length > best[2]) best = [i - length + 1, j - length + 1, length];
    }
    lengths = next;
  }
  return best;
}

function adjoined(runs) {
  const joined = [];
  for (const [i, j, size] of runs) {
    const last = joined.at(-1);
    if (last && last[0] + last[2] === i && last[1] + last[2] === j) last[2] += size;
    else joined.push([i, j, size]);
  }
  return joined;
}
