"""Analyses of texts over real rows: what they find, that they repeat, stop and resume."""

import io
import json
import shutil
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from curation.features.encoder import EncoderUnavailable
from curation.features.shards import open_features
from curation.models import AnalysisKind, FeatureSet, Pair, SourceRecord, TextAnalysis, TextScore
from curation.pipelines.texts import texts_toxicity
from curation.pipelines.texts.text_analysis import analyse_texts
from curation.pipelines.texts.texts_classifier import ToxicityClassifier
from curation.selectors.texts import count_reviews, finished_analyses, text_pairs, toxicity_queue
from curation.services.texts import (
    CaptionOptions,
    DuplicateOptions,
    TopicOptions,
    ToxicityOptions,
    record_text_review,
    request_analysis,
    store_uploaded_file,
)
from curation.texts.toxicity import TextFinding, WordList
from hits.domain.states import AssignmentStatus, JobState
from hits.models import Image, Job
from hits.services.errors import BadFile, Conflict, Refused
from hits.services.jobs import jobs
from tests.support.curation.texts_corpus import DINNER, KITCHEN, STREET, TRAVEL, Words, two_worlds, write
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db


def found(work: Work, options: Any, **more: Any) -> TextAnalysis:
    return analyse_texts(project=work.project, options=options, encoder=Words(), **more)


# Duplicates


def test_duplicate_texts_are_counted_and_kept(work: Work) -> None:
    write(work, [("a", "it rained")] * 5 + [("b", "a party")] * 2 + [("c", f"alone {n}") for n in range(4)])
    before = Pair.objects.count()
    row = found(work, DuplicateOptions(cap=3, share=0.5))
    result = row.result
    assert result["texts"] == before == 14
    assert result["beyond_cap"] == 2
    assert [count for _, count in result["copies"]] == [5, 2]
    assert (result["kept_soft"], result["dropped_soft"]) == (7, 7)
    assert sum(size * count for size, count in result["sizes"]) == 14
    assert sum(count for _, count in result["sizes"]) == 7
    copied = next(group for group in result["groups"] if group["size"] >= 5)
    texts = set(Pair.objects.filter(pk__in=copied["members"]).values_list("fields__inference", flat=True))
    assert "it rained" in texts
    assert Pair.objects.count() == before


def test_each_group_has_its_least_similar_pair(work: Work) -> None:
    write(
        work,
        [("a", "it rained"), ("b", "it rained"), ("c", "it rained hard"), ("d", "a party"), ("e", "alone")],
    )
    wide = found(work, DuplicateOptions(share=0.01)).result["groups"]
    assert [group["size"] for group in wide] == [8], "all are joined to reach the share"
    assert wide[0]["cosine"] < 0.5
    near = found(work, DuplicateOptions(distance=0.2, linkage="complete")).result["groups"]
    texts = [
        sorted(Pair.objects.filter(pk__in=group["members"]).values_list("fields__inference", flat=True))
        for group in near
    ]
    assert ["it rained", "it rained", "it rained hard"] in texts or ["it rained", "it rained"] in texts
    assert all(group["cosine"] >= 0.8 for group in near), "complete linkage at 0.2 joins nothing less alike"
    for group in (*wide, *near):
        assert set(group["pair"]) <= set(group["members"])
    with pytest.raises(Refused, match="distance: -1 is negative"):
        DuplicateOptions(distance=-1)


def test_share_and_seed_decide_kept_texts(work: Work) -> None:
    write(work, two_worlds(40))
    kept = {}
    for seed in (0, 1, 0):
        row = found(work, DuplicateOptions(field="clue", share=0.3, seed=seed))
        stay = tuple(group["kept"] for group in row.result["groups"])
        assert kept.setdefault(seed, stay) == stay
        assert row.result["kept_soft"] == round(0.3 * 43)
    assert len(set(kept.values())) == 2


def test_distinct_texts_are_encoded_once_and_stored(work: Work) -> None:
    write(work, [("a", "it rained")] * 5)
    encoder = Words()
    for _ in range(2):
        analyse_texts(project=work.project, options=DuplicateOptions(), encoder=encoder)
    assert len(encoder.texts) == len(set(encoder.texts)) == 4


def test_sentence_vectors_are_shared_with_comparison_rounds(work: Work) -> None:
    class Described(Words):
        preprocessing: ClassVar = {"precision": "fp32"}

    pair = write(work, [("a", "it rained")])[0]
    analyse_texts(project=work.project, options=DuplicateOptions(), encoder=Described())
    row = FeatureSet.objects.get()
    assert row.preprocessing == {"precision": "fp32"}
    ids = open_features(Path(settings.MEDIA_ROOT) / row.path).ids()
    assert set(ids) <= {pair.instance_id for pair in text_pairs(work.project)}
    assert pair.instance_id in ids


# Topics


def are_separated(side: dict[str, Any], one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    tops = [{word for word, _ in topic["words"][:6]} for topic in side["topics"]]
    return sorted(map(sorted, tops)) == sorted(map(sorted, (set(one), set(other))))


def test_two_obvious_topics_are_separated(work: Work) -> None:
    write(work, two_worlds(120))
    row = found(work, TopicOptions(topics=2, passes=5))
    result = row.result
    assert are_separated(result["clues"], KITCHEN, STREET)
    assert are_separated(result["inferences"], DINNER, TRAVEL)
    flow = np.array(result["flow"])
    assert flow.sum() == result["in_flow"]
    assert flow.sum() <= result["pairs"] == 123
    assert flow.max(axis=1).sum() >= 118, "nearly all pairs stay in their world"
    assert np.array(result["times_chance"]).max() > 1.8
    assert [topic["texts"] for topic in result["clues"]["topics"]] == flow.sum(axis=1).tolist() or (
        result["in_flow"] < result["pairs"]
    )
    assert result["clues"]["coherence"] is not None
    assert result["clues"]["perplexity"] < 30
    example = result["examples"][0]
    words = Pair.objects.get(pk=example["pairs"][0])
    assert {*words.clue.split()} <= {*KITCHEN} or {*words.clue.split()} <= {*STREET}


def test_topics_repeat_by_their_seed(work: Work) -> None:
    write(work, two_worlds(60))
    results = [found(work, TopicOptions(topics=4, passes=2, seed=seed)).result for seed in (5, 5, 6)]
    assert results[0] == results[1]
    assert results[0] != results[2]


def test_cancelled_topic_fit_leaves_nothing_and_can_restart(work: Work) -> None:
    write(work, two_worlds(60))
    options = TopicOptions(topics=2, passes=2)
    job = request_analysis(project=work.project, options=options, by=None, queue=False)
    for is_cancelled in (True, False):
        with jobs.leased_job(job.pk) as progress:
            if is_cancelled:
                jobs.cancel_job(job=job)
            found(work, options, progress=progress)
        job.refresh_from_db()
        assert job.state == (JobState.CANCELLED if is_cancelled else JobState.DONE)
        assert TextAnalysis.objects.exists() is not is_cancelled
        if is_cancelled:
            jobs.resume_job(job=job, queue=False)
    assert (job.done, job.total) == (2 * 2 * 63, 2 * 2 * 63)


def test_too_few_words_for_topics_are_refused(work: Work) -> None:
    write(work, [("a cup", "somebody left")] * 3)
    with pytest.raises(Refused, match=r"clue: \d+ words are too few for 40 topics"):
        found(work, TopicOptions(topics=40))
    with pytest.raises(Refused, match="clue: no word is in at least 900 of 6 texts"):
        found(work, TopicOptions(topics=2, least_texts=900))
    assert not TextAnalysis.objects.exists()


# Toxicity


def dirty(work: Work) -> list[Pair]:
    return write(
        work,
        [
            ("a dirty spoon", "the meal is over"),
            ("a man on a bench", "he is a stupid bastard"),
            ("a tree", "it is autumn"),
            ("a woman", "she is fat"),
        ],
    )


def test_queue_has_only_scored_pairs_highest_first(work: Work) -> None:
    spoon, insult, _, fat = dirty(work)
    row = found(work, ToxicityOptions())
    queue = [(item.score.observation, item.score.field) for item in toxicity_queue(row)]
    assert queue == [(insult, "inference"), (fat, "inference"), (spoon, "clue")]
    assert row.result["texts"] == 14
    assert row.result["above_zero"] == TextScore.objects.count() == 3
    assert sum(row.result["bins"]) == 3
    assert row.provenance["scorer"] == "word list"
    detail = TextScore.objects.get(observation=spoon).detail
    assert detail["matches"][0]["beside"] == "spoon"


def test_queue_has_the_top_of_each_split(work: Work) -> None:
    for seed, split in ((1, "train"), (2, "test")):
        image = work.image(seed)
        Image.objects.filter(pk=image.pk).update(split=split)
        write(work, [("a fat dog", f"text {n}") for n in range(4)], image=image, worker=f"W{seed}")
    row = found(work, ToxicityOptions(top=2, sample=5))
    assert [(part["split"], part["pairs"], len(part["queue"])) for part in row.result["splits"]] == [
        ("test", 5, 2),
        ("train", 5, 2),
    ]
    assert [item.split for item in toxicity_queue(row)] == ["test", "test", "train", "train"]
    only = found(work, ToxicityOptions(split="train"))
    assert [part["split"] for part in only.result["splits"]] == ["train"]


def test_newest_reading_is_valid_and_all_are_stored(work: Work, admin: Any, researcher: Any) -> None:
    dirty(work)
    row = found(work, ToxicityOptions())
    first = toxicity_queue(row)[0].score
    key = {"observation": first.observation, "field": first.field}
    record_text_review(**key, is_concern=False, by=admin)
    record_text_review(**key, is_concern=True, note="  an insult\n", by=researcher)
    again = record_text_review(**key, is_concern=True, note="an insult", by=researcher)
    queue = toxicity_queue(row)
    assert queue[0].review == again
    assert first.observation.text_reviews.count() == 2, "all are kept, the same one once"
    counts = count_reviews(queue)
    assert (counts.total, counts.reviewed, counts.remaining, counts.concerns, counts.harmless_share) == (
        3,
        1,
        2,
        1,
        0.0,
    )
    assert counts.harmless_interval is not None
    assert counts.harmless_interval.high == pytest.approx(0.793, abs=1e-3)  # Wilson's of 0 in 1
    with pytest.raises(Refused, match="note: 401 characters"):
        record_text_review(**key, is_concern=True, note="x" * 401, by=admin)
    with pytest.raises(Refused, match="field: 'title'"):
        record_text_review(observation=first.observation, field="title", is_concern=True, by=admin)
    later = found(work, ToxicityOptions())
    assert toxicity_queue(later)[0].review == again, "a reading is of the text, not of the analysis"


def test_taken_down_photo_is_hidden_in_old_analyses(work: Work) -> None:
    dirty(work)
    row = found(work, ToxicityOptions())
    Image.objects.update(taken_down_at=work.clock)
    assert toxicity_queue(row) == []


def scores_file(rows: list[tuple[str, str, float]]) -> dict[str, str]:
    text = "id,field,score\n" + "".join(f"{key},{field},{score}\n" for key, field, score in rows)
    return {"scorer": "file", "file": store_uploaded_file(data=text.encode()), "file_name": "perspective.csv"}


def test_external_scores_are_read_from_a_file(work: Work) -> None:
    first, second, third, _ = dirty(work)
    rows = [
        (first.instance_id, "clue", 0.4),
        (second.instance_id, "inference", 0.9),
        (third.instance_id, "clue", 0.0),
        ("f" * 32, "clue", 0.7),
    ]
    row = found(work, ToxicityOptions(**scores_file(rows)))
    assert [item.score.score for item in toxicity_queue(row)] == [0.9, 0.4]
    assert (row.pairs, row.result["texts"], row.result["unmatched"]) == (3, 3, 1)
    assert row.provenance["scorer"] == "perspective.csv"
    with pytest.raises(Refused, match=r"perspective\.csv: no row is about an approved pair"):
        found(work, ToxicityOptions(**scores_file([("f" * 32, "clue", 0.7)])))
    with pytest.raises(Refused, match=r"perspective\.csv: row 2, column score"):
        found(work, ToxicityOptions(**scores_file([(first.instance_id, "clue", 7)])))
    with pytest.raises(BadFile, match="is empty"):
        store_uploaded_file(data=b" \n")


def test_word_list_keeps_the_revision_that_stored_results_name() -> None:
    assert WordList().revision == "204 words, d3bbae10207a"


class Stops(WordList):
    """A word list whose job is cancelled from its third chunk on."""

    def __init__(self, job: Job | None = None, after: int = 2) -> None:
        super().__init__()
        self.job, self.left, self.seen = job, after, 0

    def score(self, texts: Any) -> list[TextFinding]:
        self.seen += len(texts)
        self.left -= 1
        if self.left == 0 and self.job is not None:
            jobs.cancel_job(job=self.job)
        return super().score(texts)


def test_cancelled_scoring_resumes(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_toxicity, "CHUNK_SIZE", 5)
    write(work, [("a fat cat", f"text {n}") for n in range(20)])
    pairs = text_pairs(work.project)
    options = ToxicityOptions()
    job = request_analysis(project=work.project, options=options, by=None, queue=False)

    def run(scorer: WordList) -> None:
        with jobs.leased_job(job.pk) as progress:
            texts_toxicity.score_toxicity(
                project=work.project, pairs=pairs, options=options, progress=progress, scorer=scorer
            )

    run(Stops(job))
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert not finished_analyses(work.project).exists(), "nobody sees half an analysis"
    assert 0 < TextScore.objects.count() < 20
    jobs.resume_job(job=job, queue=False)
    rest = Stops()
    run(rest)
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert rest.seen < 2 * len(pairs), "what was scored is not scored again"
    row = finished_analyses(work.project).get()
    whole = found(work, options)
    assert row.result["bins"] == whole.result["bins"]
    assert TextScore.objects.filter(analysis=row).count() == 20


def test_changed_texts_are_scored_again(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_toxicity, "CHUNK_SIZE", 5)
    write(work, [("a fat cat", f"text {n}") for n in range(20)])
    options = ToxicityOptions()
    job = request_analysis(project=work.project, options=options, by=None, queue=False)
    for scorer in (Stops(job), Stops()):
        with jobs.leased_job(job.pk) as progress:
            texts_toxicity.score_toxicity(
                project=work.project,
                pairs=text_pairs(work.project),
                options=options,
                progress=progress,
                scorer=scorer,
            )
        job.refresh_from_db()
        if job.state == JobState.CANCELLED:
            write(work, [("a fat dog", "new")], image=work.image(7), worker="W7")
            jobs.resume_job(job=job, queue=False)
    assert finished_analyses(work.project).get().result["above_zero"] == 21
    assert TextAnalysis.objects.count() == 1, "the half one is gone"


def test_a_classifier_s_folder_scores(tmp_path: Any) -> None:
    folder = str(tiny_classifier(tmp_path / "tiny", ["fine", "toxic"]))
    scorer = ToxicityClassifier(folder)
    first = scorer.score(["a dirty spoon", "a bench"])
    assert all(0 < item.score < 1 and item.matches == () for item in first)
    assert first == ToxicityClassifier(folder).score(["a dirty spoon", "a bench"])
    both = [ToxicityClassifier(folder, label).score(["a bench"])[0].score for label in ("toxic", "fine")]
    assert sum(both) == pytest.approx(1.0), "labels that exclude one another share one"
    assert scorer.name == "hf:tiny"
    with pytest.raises(
        EncoderUnavailable, match=r"none of its labels is named rude; give one of fine, toxic"
    ):
        ToxicityClassifier(folder, "rude")
    with pytest.raises(EncoderUnavailable, match="its toxic label is unknown"):
        ToxicityClassifier(str(tiny_classifier(tmp_path / "other", ["good", "bad"])))
    with pytest.raises(EncoderUnavailable, match="scorer hf:"):
        ToxicityClassifier(str(tmp_path))


def test_scores_of_two_classifiers_are_stored_separately(tmp_path: Any) -> None:
    folder = tiny_classifier(tmp_path / "tiny", ["fine", "toxic"])
    first = ToxicityClassifier(str(folder)).revision
    assert first == ToxicityClassifier(str(folder)).revision
    assert first.startswith("sha256:")
    shutil.rmtree(folder)
    tiny_classifier(folder, ["fine", "toxic"], seed=1)
    assert ToxicityClassifier(str(folder)).revision != first


def test_pickled_classifier_weights_are_never_read(tmp_path: Any) -> None:
    import torch
    from transformers import BertForSequenceClassification

    folder = tiny_classifier(tmp_path / "tiny", ["fine", "toxic"])
    model = BertForSequenceClassification.from_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(EncoderUnavailable, match="read from safetensors only, never from pickles"):
        ToxicityClassifier(str(folder))


def tiny_classifier(folder: Any, labels: list[str], *, seed: int = 0) -> Any:
    """Save a classifier with random weights that are drawn by a seed."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dirty", "spoon", "bench"]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        id2label=dict(enumerate(labels)),
        label2id={label: place for place, label in enumerate(labels)},
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


# Captions


def described(image: Image, *texts: str) -> None:
    regions = [
        {"id": str(n), "box": [2 + 40 * (n > 1), 3, 12, 14], "text": text} for n, text in enumerate(texts)
    ]
    SourceRecord.objects.create(
        image=image, source="visual_genome", source_id=f"vg{image.pk}", regions=regions
    )


def test_clues_are_nearer_to_overlapping_region_descriptions(work: Work) -> None:
    image = work.image()
    write(work, [("a red cup on the table", "she woke up early")], image=image)
    described(image, "a red cup on a table", "the red cup on the table", "a window far away")
    row = found(work, CaptionOptions())
    result = row.result
    assert (result["pairs"], result["images"], result["without"]) == (4, 1, 0)
    last = result["nearest"][-1]["pair"], result["nearest"][-1]["inference"]
    assert last[1] < 0.2
    assert result["clues"]["median"] > result["inferences"]["median"]
    assert result["clue_nearer"] == 4
    assert result["captions"]["count"] == 2, "the window overlaps no box"
    assert result["captions"]["median"] > result["inferences"]["median"]
    whole = found(work, CaptionOptions(against="image")).result
    assert whole["captions"]["count"] == 3


def test_alternative_text_and_files_replace_regions(work: Work) -> None:
    image = work.image(1, alt="a red cup on the table")
    write(work, [("a red cup", "a red cup on the table")], image=image)
    other = work.image(2)
    write(work, [("a lamp", "it is night")], image=other, worker="W2")
    row = found(work, CaptionOptions())
    assert (row.result["images"], row.result["pairs"]) == (1, 4)
    top = row.result["nearest"][0]
    assert top["inference"] == pytest.approx(1.0, abs=1e-3)
    assert top["pair"] == Pair.objects.get(fields__inference="a red cup on the table").pk
    assert row.result["captions"]["count"] == 0, "one caption has no other"
    with pytest.raises(Refused, match="no photo of an approved pair has captions"):
        found(work, CaptionOptions(source="regions"))
    text = "image,caption\nphoto-2.png,a lamp\nphoto-2,a bright lamp\nnowhere.jpg,a dog\n"
    given = {"source": "file", "file": store_uploaded_file(data=text.encode()), "file_name": "coco.csv"}
    result = found(work, CaptionOptions(**given)).result
    assert (result["images"], result["unmatched"]) == (1, 1)
    bad = given | {"file": store_uploaded_file(data=b"image,caption\nnowhere.jpg,a dog\n")}
    with pytest.raises(
        Refused, match=r"coco\.csv: no row names a photo of this project \(the first: 'nowhere\.jpg'\)"
    ):
        found(work, CaptionOptions(**bad))


def test_caption_like_wording_is_flagged_by_the_hint_rule(work: Work) -> None:
    image = work.image(1, alt="a dog on a sofa")
    write(work, [("a dog", "a man is standing"), ("a dog", "its owner might be out")], image=image)
    result = found(work, CaptionOptions()).result
    flags = {item["pair"]: item["worded"] for item in result["nearest"]}
    by_text = dict(Pair.objects.values_list("fields__inference", "pk"))
    assert flags[by_text["a man is standing"]]
    assert not flags[by_text["its owner might be out"]]
    assert result["worded_like_caption"] == sum(flags.values())


def test_a_sample_of_photos_repeats_by_its_seed(work: Work) -> None:
    for seed in range(6):
        write(work, [], image=work.image(seed, alt=f"photo {seed}"), worker=f"W{seed}")
    taken = []
    for seed in (0, 0, 3):
        row = found(work, CaptionOptions(images=2, seed=seed))
        assert row.result["images"] == 2
        taken.append(row.provenance["pairs_sha256"])
    assert taken[0] == taken[1] != taken[2]


# Asking


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DuplicateOptions(share=0), "share: 0"),
        (lambda: DuplicateOptions(field="title"), "field: 'title'"),
        (lambda: DuplicateOptions(linkage="nearest"), "linkage: 'nearest'"),
        (lambda: DuplicateOptions(cap=0), "cap: 0 is too few"),
        (lambda: TopicOptions(topics=1), "topics: 1 is too few"),
        (lambda: TopicOptions(topics=51), "topics: 51"),
        (lambda: TopicOptions(seed=-1), "seed: -1"),
        (lambda: ToxicityOptions(scorer="hf:"), "scorer: 'hf:'"),
        (lambda: ToxicityOptions(scorer="file"), "scorer: file; name the file"),
        (lambda: ToxicityOptions(file="texts/x"), "leave the file out, or use file"),
        (lambda: ToxicityOptions(top=501), "top: 501"),
        (lambda: CaptionOptions(source="web"), "source: 'web'"),
        (lambda: CaptionOptions(measure="least"), "measure: 'least'"),
        (lambda: CaptionOptions(most=0), "most: 0"),
    ],
)
def test_bad_options_are_refused(make: Any, message: str) -> None:
    with pytest.raises(Refused, match=message):
        make()


def test_an_analysis_needs_approved_pairs_and_runs_once_at_a_time(work: Work) -> None:
    work.observed(work.image(), status=AssignmentStatus.SUBMITTED)
    with pytest.raises(Refused, match="pairs: none is approved yet"):
        request_analysis(project=work.project, options=TopicOptions(), by=None)
    work.observed(work.image(1), worker="W2")
    with pytest.raises(Refused, match="in the split test"):
        request_analysis(project=work.project, options=TopicOptions(split="test"), by=None)
    job = request_analysis(project=work.project, options=TopicOptions(), by=None)
    assert (job.resumable, job.title) == (True, "Find the topics of 3 pairs")
    with pytest.raises(Conflict, match="running already"):
        request_analysis(project=work.project, options=TopicOptions(topics=3), by=None)
    request_analysis(project=work.project, options=ToxicityOptions(), by=None)


def analyse(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("analyse_texts", *arguments, "--json", stdout=out, stderr=io.StringIO())
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def test_oversized_file_is_refused_before_reading(
    work: Work, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(work, two_worlds(2))
    path = tmp_path / "scores.csv"
    with path.open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the file was read"))
    with pytest.raises(CommandError, match="is over 64 MiB; split it") as error:
        analyse("toxicity", "--project", work.project.slug, "--file", str(path))
    assert error.value.returncode == 2


@pytest.mark.django_db(transaction=True)
def test_command_runs_an_analysis_and_refuses_invalid_options(work: Work, tmp_path: Any) -> None:
    first = dirty(work)[0]
    slug = work.project.slug
    result = analyse("toxicity", "--project", slug, "--top", "2")
    row = TextAnalysis.objects.get(pk=result["analysis"])
    assert (result["state"], row.kind, row.options["top"]) == ("done", AnalysisKind.TOXICITY, 2)
    assert len(row.result["splits"][0]["queue"]) == 2
    path = tmp_path / "scores.csv"
    path.write_text(f"id,field,score\n{first.instance_id},clue,0.5\n")
    taken = TextAnalysis.objects.get(
        pk=analyse("toxicity", "--project", slug, "--file", str(path))["analysis"]
    )
    assert taken.options["file_name"] == "scores.csv"
    assert (
        analyse("topics", "--project", slug, "--topics", "2", "--passes", "1", "--least-texts", "1")["kind"]
        == "topics"
    )
    for arguments, message in (
        ((), "give an analysis and a project"),
        (("topics",), "give an analysis and a project"),
        (("topics", "--project", "nowhere"), "there is no such project"),
        (("topics", "--project", slug, "--share", "0.5"), "--share: topics has no such option"),
        (("topics", "--project", slug, "--file", str(path)), "topics reads no file"),
        (("toxicity", "--project", slug, "--file", str(tmp_path / "no")), "No such file"),
        (("duplicates", "--project", slug, "--share", "7"), "share: 7"),
        (("toxicity", "--project", slug, "--scorer", "hf:/nowhere/at-all"), "scorer hf:/nowhere/at-all"),
    ):
        with pytest.raises(CommandError, match=message) as error:
            analyse(*arguments)
        assert error.value.returncode == 2
        assert "\n" not in str(error.value)
