/**
 * The page around a task. The thank-you page inside the frame (same origin, checked) reports the submission; then this
 * page offers the next task. Messages of the requester's own page are ignored.
 */
const working = document.getElementById('working');
const done = document.getElementById('done');
const over = document.getElementById('time-over');
const leave = document.getElementById('leave');
const frame = document.getElementById('task-frame');

function showSubmitted() {
  working.hidden = true;
  over.hidden = true;
  done.hidden = false;
  document.getElementById('return-dialog').close();
}

window.addEventListener('message', (event) => {
  if (event.origin !== window.location.origin || event.source !== frame?.contentWindow) return;
  if (event.data === 'marketplace:submitted') showSubmitted();
  if (event.data === 'marketplace:leave') window.location.assign(leave.href);
});

document.addEventListener('countdown-over', () => { over.hidden = !done.hidden; });
