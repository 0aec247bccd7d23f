/**
 * The reply page of externalSubmit inside a worker's frame. The frame must not navigate the window, so this page
 * asks the page around it to do so. Outside a frame its link works directly.
 */
const framed = window.parent !== window;

function notifyParent(event) {
  window.parent.postMessage(`marketplace:${event}`, window.location.origin);
}

if (framed) {
  if (document.body.dataset.frame === 'submitted') notifyParent('submitted');
  document.addEventListener('click', (event) => {
    if (!event.target.closest('a[target="_top"]')) return;
    event.preventDefault();
    notifyParent('leave');
  });
}
