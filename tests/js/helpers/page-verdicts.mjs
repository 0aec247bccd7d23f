/**
 * Reads {limits, names, answers} as JSON and prints what the question page says about each answer: the fields with
 * problems, as the server names them. Run by hits/kinds/vcr_qar/tests/test_page_rules.py.
 */
import { answerProblems } from '../../../static/js/mentions/rules.js';

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { limits, names, answers } = JSON.parse(Buffer.concat(chunks).toString('utf8'));

const verdicts = answers.map(({ triplets }) => {
  const { triplets: problems, mentions } = answerProblems(triplets, limits, names);
  const fields = problems.flatMap((found, at) => found.map(({ field }) => `triplets[${at}].${field}`));
  return mentions > 0 ? [...fields, 'triplets'] : fields;
});
process.stdout.write(JSON.stringify(verdicts));
