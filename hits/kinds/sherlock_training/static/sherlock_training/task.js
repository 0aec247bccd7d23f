/** The observation task, with what the trainer said of the last attempt above it. */
import { boot } from '../js/hit/page.js';
import { showFeedback } from '../js/hit/feedback.js';
import { ObservationTask } from '../js/observing/task.js';

class TrainingTask extends ObservationTask {
  start(page) {
    this.announce = page.announce;
    super.start(page);
  }

  opened({ feedback }) { showFeedback(document.getElementById('feedback'), feedback, this.announce); }
}

boot(new TrainingTask());
