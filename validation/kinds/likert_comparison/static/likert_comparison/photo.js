/** The photo's two buttons: zoom to the mark, and hide the mark. */
import { around, windowOn } from '../js/boxes/geometry.js';
import { isTyping } from '../js/boxes/keyboard.js';
import { setIcon, setText } from '../js/ui/dom.js';
import { gettext } from '../js/ui/i18n.js';
import { singleKeys } from '../js/ui/keys.js';

const byId = (id) => document.getElementById(id);
const words = {
  zoomIn: gettext('Zoom to the mark'),
  zoomOut: gettext('Show the whole photo'),
  hide: gettext('Hide the mark'),
  show: gettext('Show the mark'),
};
/** A key that is held longer than this acts only while it is held: releasing it undoes the change. */
const HELD_MS = 400;

/** Wires the two buttons and their keys, Z and H. @param {{image: object, boxes: object[]}} unit */
export function wirePhoto(unit) {
  onKey('z', byId('peek'), zoom(unit));
  onKey('h', byId('hide'), hide());
  warnWithoutMark(byId('marked'));
}

function zoom({ image, boxes }) {
  const [button, svg, stage] = [byId('peek'), byId('photo'), byId('stage')];
  const region = around(boxes);
  button.hidden = region === null;
  return () => {
    const zoomed = button.getAttribute('aria-pressed') !== 'true';
    const view = zoomed ? windowOn(region, image) : { left: 0, top: 0, width: image.width, height: image.height };
    svg.setAttribute('viewBox', `${view.left} ${view.top} ${view.width} ${view.height}`);
    button.setAttribute('aria-pressed', String(zoomed));
    setText(button.querySelector('span'), zoomed ? words.zoomOut : words.zoomIn);
    setIcon(button.querySelector('svg'), zoomed ? 'out' : 'in');
    stage.dispatchEvent(new Event('stage:measure'));
  };
}

// The photo without the mark is below the marked one in the SVG.
function hide() {
  const [button, marked] = [byId('hide'), byId('marked')];
  return () => {
    const hidden = marked.getAttribute('visibility') !== 'hidden';
    marked.setAttribute('visibility', hidden ? 'hidden' : 'visible');
    setText(button.querySelector('span'), hidden ? words.show : words.hide);
  };
}

function onKey(key, button, act) {
  let since = null;
  button.addEventListener('click', act);
  document.addEventListener('keydown', (e) => {
    if (e.key.toLowerCase() !== key || e.ctrlKey || e.metaKey || e.altKey || isTyping(e.target) || button.hidden || !singleKeys()) return;
    e.preventDefault();
    if (e.repeat) return;
    since = performance.now();
    act();
  });
  document.addEventListener('keyup', (e) => {
    if (e.key.toLowerCase() !== key || since === null) return;
    if (performance.now() - since > HELD_MS) act();
    since = null;
  });
}

// Warn if the marked photo cannot be loaded: without the mark, workers would rate the whole photo. Loaded once at most.
function warnWithoutMark(marked) {
  const probe = new Image();
  probe.addEventListener('error', () => { byId('no-mark').hidden = false; });
  probe.src = marked.getAttribute('href');
}
