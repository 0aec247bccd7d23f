/** Marks the regions of an image that are drawn anew; the form gets their boxes in the image's pixels. */
import { BoxEditor } from '../../js/boxes/box-editor.js';
import { setText } from '../../js/ui/dom.js';

const SHARE_OF_WINDOW = 0.72; // the image's maximum height
const MOST = 20;
const frame = document.getElementById('stage');
const form = document.getElementById('edit');
const count = document.getElementById('region-count');
const svg = frame.querySelector('svg');
const { width, height } = svg.viewBox.baseVal;
const live = document.createElement('p');
live.className = 'sr';
live.setAttribute('aria-live', 'polite');
frame.after(live);

const editor = new BoxEditor({
  svg,
  frame,
  toolbar: document.getElementById('region-tools'),
  live,
  size: { width, height },
  roomHeight: () => window.innerHeight * SHARE_OF_WINDOW,
  most: MOST,
});

function readBoxes() {
  try {
    return JSON.parse(form.elements.mask.value || '[]');
  } catch {
    return [];
  }
}

editor.store.load(readBoxes().map((box) => ({ obs: 1, box })));
editor.store.setActive(1);

function store() {
  const boxes = editor.store.boxes.map((box) => ({
    left: Math.round(box.left), top: Math.round(box.top), width: Math.round(box.width), height: Math.round(box.height),
  }));
  form.elements.mask.value = JSON.stringify(boxes);
  setText(count, boxes.length ? `${boxes.length} region${boxes.length === 1 ? '' : 's'} marked.` : '');
  // Who marks a region wants it drawn anew.
  if (boxes.length) form.querySelector('[name="way"][value="region"]').checked = true;
}

editor.store.addEventListener('change', store);
form.addEventListener('submit', store);
