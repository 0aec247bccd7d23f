/** One multiple-choice question on the console: what is pointed at in a text is lit in the photo, and back. */
import { MentionReader } from '../../js/mentions/reader.js';

const SHARE_OF_WINDOW = 0.6; // the photo's maximum height
const message = document.getElementById('message');

new MentionReader({
  objects: JSON.parse(document.getElementById('question-objects').textContent),
  announce: (text) => { message.textContent = text; },
  roomHeight: () => window.innerHeight * SHARE_OF_WINDOW,
});
