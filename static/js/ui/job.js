/**
 * Follows running jobs: every element with data-job-url is a card whose <progress>, [data-job-count] and
 * [data-job-note] are kept current every two seconds; the page is loaded anew once all are over.
 */
const EVERY = 2000;
const SLOW = 10000;

async function look(card) {
  const reply = await fetch(card.dataset.jobUrl, { headers: { Accept: 'application/json' } });
  if (!reply.ok) throw new Error(`answer ${reply.status}`);
  return reply.json();
}

function show(card, job) {
  const bar = card.querySelector('progress');
  if (job.total > 0) {
    bar.max = job.total;
    bar.value = job.done;
  } else if (!job.over) {
    bar.removeAttribute('value'); // nothing counted yet: say "under way", not "0 of 1"
  }
  const count = card.querySelector('[data-job-count]');
  const parts = [`${job.done} of ${job.total}`, job.speed].filter(Boolean);
  if (count) count.textContent = job.total > 0 ? parts.join(', ') : '';
}

function follow(card) {
  return new Promise((resolve) => {
    const note = card.querySelector('[data-job-note]');
    const again = (wait) => setTimeout(step, wait);
    async function step() {
      try {
        const job = await look(card);
        note.textContent = '';
        show(card, job);
        if (job.over) resolve();
        else again(EVERY);
      } catch {
        note.textContent = 'The server does not answer at the moment. The work goes on without this page.';
        again(SLOW);
      }
    }
    step();
  });
}

const cards = [...document.querySelectorAll('[data-job-url]')];
if (cards.length) Promise.all(cards.map(follow)).then(() => window.location.reload());
