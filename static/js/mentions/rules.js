/**
 * What a question with answer and rationale still needs, as the server checks it (hits/domain/answers/triplets.py).
 *
 * @typedef {import('./segments.js').Segment} Segment
 * @typedef {{question: Segment[], answer: Segment[], rationale: Segment[], likelihood: string|null}} Triplet
 * @typedef {{words: Object<string, [number, number]>, characters: number, likelihoods: string[]}} Limits least and most
 *   words of each field
 * @typedef {{field: string, code: 'few'|'many'|'long'|'control'|'tag'|'likelihood', count?: number, least?: number,
 *   most?: number}} Problem
 */
import { countCharacters, countMentions, countWords, hasControls, tidy } from './segments.js';

export const FIELDS = Object.freeze(['question', 'answer', 'rationale']);

/** @returns {Problem|null} the first problem of one text */
export function fieldProblem(segments, field, limits, names) {
  const [least, most] = limits.words[field];
  if (segments.some((s) => typeof s !== 'string' && !isTagOf(s, names.length))) return { field, code: 'tag' };
  if (hasControls(segments)) return { field, code: 'control' };
  const text = tidy(segments);
  const count = countWords(text);
  if (count < least) return { field, code: 'few', count, least };
  if (count > most) return { field, code: 'many', count, most };
  const characters = countCharacters(text, names);
  return characters > limits.characters ? { field, code: 'long', count: characters, most: limits.characters } : null;
}

const isTagOf = ({ objects }, count) => objects.length > 0 && objects.every((i) => Number.isInteger(i) && i >= 0 && i < count);

/** @param {Triplet} triplet @param {Limits} limits @param {string[]} names of the image's objects @returns {Problem[]} in the order of the card */
export function tripletProblems(triplet, limits, names) {
  const problems = FIELDS.map((field) => fieldProblem(triplet[field], field, limits, names)).filter(Boolean);
  return limits.likelihoods.includes(triplet.likelihood) ? problems : [...problems, { field: 'likelihood', code: 'likelihood' }];
}

/** @param {Triplet} triplet @returns {boolean} whether nothing was written or chosen */
export function isBlank(triplet) {
  return triplet.likelihood === null && FIELDS.every((field) => tidy(triplet[field]).length === 0);
}

/** @param {Triplet[]} triplets @returns {number} how many more objects have to be mentioned: one for each triplet on average */
export function missingMentions(triplets) {
  const mentioned = triplets.flatMap((triplet) => FIELDS.map((field) => countMentions(triplet[field])));
  return Math.max(0, triplets.length - mentioned.reduce((sum, n) => sum + n, 0));
}

/**
 * @param {Triplet[]} triplets those that count: without blank bonus ones @param {Limits} limits @param {string[]} names
 * @returns {{triplets: Problem[][], mentions: number}} what each lacks, and how many mentions all of them lack
 */
export function answerProblems(triplets, limits, names) {
  const problems = triplets.map((triplet) => tripletProblems(triplet, limits, names));
  const isRefused = (at, name) => problems[at].some(({ field, code }) => field === name && (code === 'tag' || code === 'control'));
  // A refused text mentions nothing.
  const readable = triplets.map((triplet, at) => Object.fromEntries(FIELDS.map((name) => [name, isRefused(at, name) ? [] : tidy(triplet[name])])));
  return { triplets: problems, mentions: missingMentions(readable) };
}

/** @param {Triplet} triplet @returns {Triplet} as the server stores it */
export function tidyTriplet(triplet) {
  const texts = Object.fromEntries(FIELDS.map((field) => [field, tidy(triplet[field])]));
  return { ...texts, likelihood: triplet.likelihood };
}
