/** The rules of a reviewer's advice, as the server has them (work_review/advice.py). */
const END = /[.!?…]+["'”’)\]]*\s+(?=\p{Lu})/gu;

/** @returns {number} sentences: one more than the ends that a capital letter follows */
export function countSentences(text) {
  const trimmed = text.trim();
  return trimmed ? 1 + (trimmed.match(END) ?? []).length : 0;
}

/**
 * @param {string} text @param {number} count its words @param {{words: number, sentences: number}} limits
 * @returns {{code: 'few'|'long', count: number}|null} what is wrong with an advice; an empty one is only missing
 */
export function adviceProblem(text, count, limits) {
  if (count === 0) return null;
  if (count < limits.words) return { code: 'few', count };
  const sentences = countSentences(text);
  return sentences > limits.sentences ? { code: 'long', count: sentences } : null;
}
