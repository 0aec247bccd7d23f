"""The queue and the worker of each background task, and the interval of each periodic task.

Celery's routes, the rows of jobs, the workers' command lines and the beat schedule all derive from these tables.
"""

from enum import StrEnum


class Queue(StrEnum):
    """Queues of background work; the tasks of one queue may wait for one another."""

    TICK = "tick"
    """Periodic tasks."""

    DEFAULT = "default"
    """Short jobs that a user waits for; a longer job ends its turn and goes to the back of the queue."""

    MAIL = "mail"
    IO = "io"
    CPU = "cpu"
    GPU = "gpu"


LIGHT, HEAVY = "light", "heavy"
WORKER_QUEUES: dict[str, tuple[Queue, ...]] = {
    LIGHT: (Queue.TICK, Queue.DEFAULT, Queue.MAIL),
    HEAVY: (Queue.CPU, Queue.GPU, Queue.IO),
}
LIGHT_SLOTS = 2  # one for periodic tasks, one for jobs
LIGHT_QUEUES = WORKER_QUEUES[LIGHT]

TASK_QUEUES: dict[str, Queue] = {
    "hits.sweep_jobs": Queue.TICK,
    "hits.sync_live_batches": Queue.TICK,
    "hits.reconcile_batches": Queue.TICK,
    "hits.process_notifications": Queue.TICK,
    "hits.forget_notifications": Queue.TICK,
    "marketplace.sweep_due": Queue.TICK,
    "marketplace.forget_notifications": Queue.TICK,
    "validation.evaluate_rules": Queue.TICK,
    "validation.refresh_reports": Queue.TICK,
    "validation.ask_one_more": Queue.TICK,
    "validation.note_applicants": Queue.TICK,
    "validation.send_advice": Queue.TICK,
    "curation.tend_scenes": Queue.TICK,
    "marketplace.deliver_notifications": Queue.MAIL,
    "hits.publish_batch": Queue.DEFAULT,
    "hits.sync_batch": Queue.DEFAULT,
    "hits.approve_waiting": Queue.DEFAULT,
    "hits.close_batch": Queue.DEFAULT,
    "hits.settle_decisions": Queue.DEFAULT,
    "hits.reconcile_batch": Queue.DEFAULT,
    "hits.settle_top_up": Queue.DEFAULT,
    "hits.extend_batch": Queue.DEFAULT,
    "hits.settle_results": Queue.DEFAULT,
    "validation.answer_applicants": Queue.DEFAULT,
    # These three go to a heavy queue when they have much to read: see their services.
    "validation.compute_report": Queue.DEFAULT,
    "validation.make_rater_rows": Queue.DEFAULT,
    "validation.decide_items": Queue.DEFAULT,
    "hits.import_zip": Queue.IO,
    "curation.import_source": Queue.IO,
    "curation.seal_version": Queue.IO,
    "curation.plan_version": Queue.IO,
    "curation.import_scorer": Queue.IO,
    "curation.build_leaderboard": Queue.IO,
    "curation.deduplicate_images": Queue.CPU,
    "curation.build_comparison_round": Queue.CPU,
    "curation.make_features": Queue.CPU,
    "curation.make_feature_shard": Queue.CPU,
    "curation.check_leakage": Queue.CPU,
    "curation.extract_frames": Queue.CPU,
    "curation.detect_objects": Queue.CPU,
    "curation.propose_boxes": Queue.CPU,
    "curation.propose_boxes_of_part": Queue.CPU,
    "curation.measure_proposals": Queue.CPU,
    "curation.analyse_texts": Queue.CPU,
    "curation.evaluate": Queue.CPU,
    "curation.analyse_errors": Queue.CPU,
    "curation.run_ablations": Queue.CPU,
    "curation.audit_shortcuts": Queue.CPU,
    "curation.build_question_set": Queue.CPU,
    "curation.match_question_bucket": Queue.CPU,
    "curation.fine_tune_relevance": Queue.CPU,
    "curation.audit_choices": Queue.CPU,
    "curation.evaluate_choices": Queue.CPU,
    "curation.score_entry": Queue.CPU,
    "curation.train_interest": Queue.CPU,
    "curation.select_interesting": Queue.CPU,
    "curation.train_scorer": Queue.CPU,
    "curation.train_chooser": Queue.CPU,
    "curation.find_scene_twins": Queue.CPU,
    "curation.augment_prompts": Queue.IO,
    "curation.generate_images": Queue.CPU,
    "curation.generate_scene_images": Queue.CPU,
    "curation.edit_image": Queue.CPU,
    "curation.import_generated": Queue.IO,
    "curation.evaluate_triplets": Queue.CPU,
    "curation.judge_explanations": Queue.IO,
    "curation.audit_triplets": Queue.CPU,
}

INTERVAL_SECONDS: dict[str, float] = {
    "marketplace.deliver_notifications": 2.0,
    "hits.process_notifications": 5.0,
    "hits.sweep_jobs": 10.0,
    "hits.sync_live_batches": 20.0,
    "validation.note_applicants": 20.0,
    "marketplace.sweep_due": 30.0,
    "validation.send_advice": 60.0,
    "curation.tend_scenes": 60.0,
    "validation.ask_one_more": 120.0,
    "hits.reconcile_batches": 300.0,
    "validation.evaluate_rules": 300.0,
    "marketplace.forget_notifications": 3600.0,
    "hits.forget_notifications": 3600.0,
    "validation.refresh_reports": 3600.0,
}


def task_queue(task: str) -> Queue:
    """Return the queue of a task; ``DEFAULT`` if it is not listed."""
    return TASK_QUEUES.get(task, Queue.DEFAULT)


def slots_by_queue(heavy_slots: int) -> dict[str, int]:
    """Return how many tasks the worker of each queue runs at once.

    Args:
        heavy_slots: how many heavy jobs run at once (``WORKER_CONCURRENCY``).
    """
    slots = {LIGHT: LIGHT_SLOTS, HEAVY: heavy_slots}
    by_queue = {queue.value: slots[worker] for worker, queues in WORKER_QUEUES.items() for queue in queues}
    return by_queue | {Queue.DEFAULT.value: LIGHT_SLOTS - 1}  # one slot is for periodic tasks
