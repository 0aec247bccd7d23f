/** Reads {characters, scenes} as JSON and prints the fields of each scene that the writing page refuses. Run by hits/kinds/nleye_scene/tests. */
import { textProblems } from '../../../static/js/hit/scene-rules.js';

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { characters, scenes } = JSON.parse(Buffer.concat(chunks).toString('utf8'));

process.stdout.write(JSON.stringify(scenes.map((texts) => Object.keys(textProblems(texts, characters)))));
