/** Drags a card by mouse, pen or touch with pointer events: the browser's drag and drop does not support touch. */
import { element } from '../js/ui/dom.js';

const DRAG_DISTANCE = 6; // CSS pixels before a press becomes a drag

/**
 * @param {HTMLElement} handle the element to drag by
 * @param {{enabled: () => boolean, byTouch: boolean, label: () => string, over: (id: string|null) => void,
 *   drop: (id: string) => void, onDragging: (on: boolean) => void}} options
 *   byTouch: whether touch drags here too (elsewhere it scrolls); over: gets the part below the pointer; drop: gets the part
 */
export function draggable(handle, { enabled, byTouch, label, over, drop, onDragging }) {
  let drag = null;

  const end = (dropped) => {
    if (!drag) return;
    const { ghost, region } = drag;
    drag = null;
    ghost?.remove();
    if (!ghost) return;
    over(null);
    onDragging(false);
    if (dropped && region) drop(region);
  };

  handle.addEventListener('pointerdown', (e) => {
    if (e.button !== 0 || !e.isPrimary || !enabled() || (e.pointerType === 'touch' && !byTouch)) return;
    drag = { id: e.pointerId, x: e.clientX, y: e.clientY, ghost: null, region: null };
  });
  // Listens on the document, since the pointer soon leaves the handle.
  document.addEventListener('pointermove', (e) => {
    if (!drag || e.pointerId !== drag.id) return;
    if (!drag.ghost) {
      if (Math.hypot(e.clientX - drag.x, e.clientY - drag.y) < DRAG_DISTANCE) return;
      drag.ghost = element('div', { class: 'ghost', 'aria-hidden': true, text: label() });
      document.body.append(drag.ghost);
      onDragging(true);
    }
    e.preventDefault();
    drag.ghost.style.transform = `translate(${e.clientX + 12}px, ${e.clientY + 12}px)`;
    const region = document.elementFromPoint(e.clientX, e.clientY)?.closest('[data-region]')?.dataset.region ?? null;
    if (region !== drag.region) over(region);
    drag.region = region;
  });
  document.addEventListener('pointerup', (e) => { if (e.pointerId === drag?.id) end(true); });
  document.addEventListener('pointercancel', (e) => { if (e.pointerId === drag?.id) end(false); });
  document.addEventListener('keydown', (e) => {
    if (e.key !== 'Escape' || !drag?.ghost) return;
    e.preventDefault();
    end(false);
  });
}
