/**
 * The page that answers externalSubmit inside a worker's frame. The frame may not navigate the window, so the
 * page asks the one around it to do so; outside a frame its link works by itself.
 */
const framed = window.parent !== window;

function tell(what) {
  window.parent.postMessage(`marketplace:${what}`, window.location.origin);
}

if (framed) {
  if (document.body.dataset.frame === 'submitted') tell('submitted');
  document.addEventListener('click', (event) => {
    if (!event.target.closest('a[target="_top"]')) return;
    event.preventDefault();
    tell('leave');
  });
}
