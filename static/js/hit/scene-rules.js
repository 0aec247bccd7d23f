/** What the texts of a scene have to fulfil, as the server checks it (hits/domain/answers/scene_rules.py). */
import { splitIntoWords } from './word-diff.js';

// As Python's \s, which differs from JavaScript's.
const SPACES = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
const CONTROL = /[\p{Cc}\p{Cs}\p{Co}\p{Cn}]/u;

/** @returns {string} the text as the server stores it: NFC, single spaces, none at its ends */
export const tidy = (text) => text.normalize('NFC').replace(SPACES, ' ').replace(/^ | $/g, '');

/** @returns {number} the length of the stored text in code points, as the server counts */
export const lengthOf = (text) => [...tidy(text)].length;

/** @returns {boolean} whether two texts have the same words in the same order */
export function areAlike(first, second) {
  const [a, b] = [first, second].map((text) => splitIntoWords(tidy(text)).map(({ key }) => key));
  return a.length === b.length && a.every((word, at) => word === b[at]);
}

/**
 * @param {Object<string, string>} texts by field @param {Object<string, number>} characters the longest text of each field
 * @returns {Object<string, 'control'|'long'|'empty'|'alike'>} the problem of each refused field
 */
export function textProblems(texts, characters) {
  const problems = {};
  for (const [name, most] of Object.entries(characters)) {
    const text = tidy(texts[name] ?? '');
    if (CONTROL.test(text)) problems[name] = 'control';
    else if ([...text].length > most) problems[name] = 'long';
    else if (name !== 'culture' && !splitIntoWords(text).length) problems[name] = 'empty';
  }
  // The server compares texts that it has not refused; an empty text is like no other.
  const [plausible, implausible] = ['plausible', 'implausible'].map((name) => (problems[name] ? '' : texts[name]));
  if (plausible && areAlike(plausible, implausible)) problems.implausible = 'alike';
  return problems;
}
