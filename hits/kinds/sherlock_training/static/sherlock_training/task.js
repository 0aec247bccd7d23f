/** The observation task below the trainer's feedback on the last attempt. */
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
