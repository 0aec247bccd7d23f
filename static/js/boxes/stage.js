/**
 * Photos with read-only boxes, on staff pages and judging pages.
 *
 * Every `.stage` gets --k (photo pixels per CSS pixel) so that number tabs keep their size.
 * A `.stage` with data-boxes="ID" draws the boxes of the JSON script with that id:
 * [{"obs": 1, "left": …, "top": …, "width": …, "height": …}, …] in photo pixels; without obs, data-obs gives the observation.
 * An element with data-shows-obs="2" highlights the boxes of observation 2 while it is hovered or focused;
 * with data-in="ID", only on the stage with that id.
 */
import { BoxStore } from './store.js';
import { BoxView } from './view.js';
import { pixelsPerCss } from './transform.js';

/** @returns {BoxView|null} the view if the stage draws boxes */
export function watchStage(stage) {
  const svg = stage.querySelector('svg');
  if (!svg) return null;
  const view = stage.dataset.boxes ? drawBoxes(stage, svg) : null;
  const measure = () => {
    // The viewBox may be a crop of the photo. If the photo does not fill the element, the side that limits it gives the
    // scale.
    const [shown, crop] = [svg.getBoundingClientRect(), svg.viewBox.baseVal];
    const k = Math.max(pixelsPerCss(shown.width, crop.width), pixelsPerCss(shown.height, crop.height));
    stage.style.setProperty('--k', String(k));
    view?.setScale(k);
  };
  new ResizeObserver(measure).observe(stage);
  stage.addEventListener('stage:measure', measure);
  measure();
  return view;
}

function drawBoxes(stage, svg) {
  const { width, height } = svg.viewBox.baseVal;
  const store = new BoxStore({ width, height }, { min: 1 });
  const data = document.getElementById(stage.dataset.boxes);
  const boxes = data ? JSON.parse(data.textContent) : [];
  store.load(boxes.map(({ obs, ...box }) => ({ obs: obs ?? Number(stage.dataset.obs ?? 1), box })));
  const view = new BoxView(svg, store, { readOnly: true });
  for (const part of document.querySelectorAll('[data-shows-obs]')) {
    if (part.dataset.in && part.dataset.in !== stage.id) continue;
    const show = (obs) => () => store.setActive(obs);
    for (const type of ['pointerenter', 'focusin']) part.addEventListener(type, show(Number(part.dataset.showsObs)));
    for (const type of ['pointerleave', 'focusout']) part.addEventListener(type, show(null));
  }
  return view;
}

/** Starts all stages of the page, except those of an editor (.stage--work). */
export function watchStages(root = document) {
  return [...root.querySelectorAll('.stage:not(.stage--work)')].map(watchStage);
}
