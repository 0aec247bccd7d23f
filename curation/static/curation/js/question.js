/** One multiple-choice question on the console: what is pointed at in a text is lit in the photo, and back. */
import { MentionReader } from '../../js/mentions/reader.js';

const SHARE_OF_WINDOW = 0.6; // the photo's maximum height
const said = document.getElementById('said');

new MentionReader({
  objects: JSON.parse(document.getElementById('question-objects').textContent),
  announce: (text) => { said.textContent = text; },
  roomHeight: () => window.innerHeight * SHARE_OF_WINDOW,
});
