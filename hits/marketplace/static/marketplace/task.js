/**
 * The page around a task. It learns from the thank-you page inside the frame (same origin, checked) that the
 * task was submitted, then offers the next one. The requester's own page can tell it nothing.
 */
const working = document.getElementById('working');
const done = document.getElementById('done');
const over = document.getElementById('time-over');
const leave = document.getElementById('leave');
const frame = document.getElementById('task-frame');

function submitted() {
  working.hidden = true;
  over.hidden = true;
  done.hidden = false;
  document.getElementById('return-dialog').close();
}

window.addEventListener('message', (event) => {
  if (event.origin !== window.location.origin || event.source !== frame?.contentWindow) return;
  if (event.data === 'marketplace:submitted') submitted();
  if (event.data === 'marketplace:leave') window.location.assign(leave.href);
});

document.addEventListener('countdown-over', () => { over.hidden = !done.hidden; });
