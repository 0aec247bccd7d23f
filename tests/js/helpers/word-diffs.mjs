/** Reads {functionWords, pairs} as JSON and prints hunks and differences of each pair. Run by tests/hits/domain/test_nleye_word_diff.py. */
import { compareTexts, findDifferences, functionWordTest } from '../../../static/js/hit/word-diff.js';

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { functionWords, pairs } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
const isFunctionWord = functionWordTest(functionWords);

process.stdout.write(JSON.stringify(pairs.map(([first, second]) => [
  compareTexts(first, second).map(({ kind, before, after, words }) => [kind, before, after, words]),
  findDifferences(first, second, isFunctionWord).map(({ before, after }) => [before, after]),
])));
