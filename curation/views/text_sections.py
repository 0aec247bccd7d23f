"""Report sections of text analyses: a summary of each for the overview, and the full results for its own page."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.core.paginator import Page

from curation.models import AnalysisKind, Pair, TextAnalysis
from curation.selectors import texts as stored
from curation.views import texts_charts as charts
from curation.views.report_sections import Cell, Figure, Group, Section, Table, text_cells
from hits.charts.scale import decimal_text, percent_text
from hits.charts.strips import share_strip
from hits.models import Project
from hits.selectors.images.images import image_facts

# Minimum cosine of sentence vectors of near-copies; less similar texts were joined only to reach the share.
NEAR_COPY_COSINE = 0.8
COPIES_SHOWN = 8
SIZES_SHOWN = 12
TAKEN_DOWN = "(its photo was taken down)"
PAPER_HARMLESS = "The share of Hessel et al. (2022) is 89%."  # Hessel et al. 2022, appendix A.4
COHERENCE_NOTE = (
    "Coherence is the mean NPMI of a topic’s ten most probable words: −1 if they never share a text, 0 by chance, 1 "
    "if they only occur together. Short texts rarely hold two of these words, so expect low values. Compare the "
    "perplexity only between analyses of the same texts; lower is better."
)
WORD_LIST_NOTE = "A word list is not a model: it matches whole words, whatever they mean."
SCORE_NOTE = "Scores only order the queue; they prove nothing."
_LABELS = {"field": "Texts", "share": "Share to keep", "cap": "Maximum copies of a text"}


def summary_section(project: Project, row: TextAnalysis, title: str) -> Section:
    """Return the section of an analysis for the overview."""
    make = {
        AnalysisKind.DUPLICATES: _duplicate_summary,
        AnalysisKind.TOPICS: _topic_summary,
        AnalysisKind.TOXICITY: _toxicity_summary,
        AnalysisKind.CAPTIONS: _caption_summary,
    }
    return replace(make[AnalysisKind(row.kind)](project, row), title=title)


def options_and_provenance_sections(row: TextAnalysis) -> list[Section]:
    """Return the sections about how an analysis was made."""
    formats = {"share": percent_text}
    shown = [(name, value) for name, value in row.options.items() if value not in {"", None}]
    return [
        Section("Options", facts=[(_label(name), formats.get(name, str)(value)) for name, value in shown]),
        Section("Provenance", facts=[(_label(name), str(value)) for name, value in row.provenance.items()]),
    ]


def _label(name: str) -> str:
    return _LABELS.get(name) or name.replace("_sha256", " (sha256)").replace("_", " ").capitalize()


def _duplicate_summary(project: Project, row: TextAnalysis) -> Section:
    result, options = row.result, row.options
    copies = _copies_table(project, row, result["copies"][:COPIES_SHOWN])
    stopping_criterion = (
        percent_text(options["share"])
        if options.get("distance") is None
        else f"a distance of {options['distance']}"
    )
    return Section(
        "",
        figures=[
            Figure(
                f"{options['field'].capitalize()}s",
                f"{result['texts']:,}",
                f"{result['distinct']:,} distinct",
            ),
            Figure(
                "Soft de-duplication would drop",
                f"{result['dropped_soft']:,}",
                f"{result['kept_soft']:,} would stay, {stopping_criterion}",
            ),
            Figure(
                f"Beyond {options['cap']} exact copies",
                f"{result['beyond_cap']:,}",
                f"{result['kept_both']:,} stay after both",
            ),
        ],
        tables=[copies] if copies else [],
        legend=_copy_legend(row) if copies else [],
        after="" if copies else f"No {options['field']} occurs twice word for word.",
    )


def duplicate_sections(
    project: Project, row: TextAnalysis, page: Page[Any]
) -> tuple[list[Section], list[Section]]:
    """Return copies and groups of near-copies, and the sizes of groups."""
    result, options = row.result, row.options
    ids = {pk for group in page for pk in (group["kept"], *group["members"], *group.get("pair", ()))}
    known = stored.pairs_by_pk(project, ids)
    is_share = options.get("distance") is None
    sections = []
    copies = _copies_table(project, row, result["copies"]) if page.number == 1 else None
    if copies:
        sections.append(
            Section(
                "Copied word for word",
                note=f"{result['repeated']:,} texts; the {len(copies.rows)} most frequent",
                tables=[copies],
                legend=_copy_legend(row),
            )
        )
    how = (
        f"Texts were joined until {percent_text(options['share'])} were left. "
        "Check each group’s least similar pair."
        if is_share
        else f"Texts were joined up to a distance of {options['distance']}."
    )
    groups = [_near_copy_group(known, row, group, is_share=is_share) for group in page]
    sections.append(
        Section(
            "Groups of texts",
            note=f"{page.paginator.count:,}, largest first" if groups else "",
            before=f"Soft de-duplication would keep the bold text of each group. This analysis drops nothing. {how}"
            if groups
            else "",
            groups=groups,
            empty=("", "")
            if groups
            else ("No groups", "Every text is a group of its own with these settings."),
            has_pages=True,
        )
    )
    sizes, more = result["sizes"][:SIZES_SHOWN], max(0, len(result["sizes"]) - SIZES_SHOWN)
    counts = [text_cells(str(size), f"{n:,}") for size, n in sizes]
    table = Table(("Texts in a group", "Groups"), counts, (0, 1), kind="table")
    after = f"{more} larger sizes are in the download." if more else ""
    return sections, [Section("Sizes of groups", tables=[table], after=after)]


def _near_copy_group(
    known: Mapping[int, Pair], row: TextAnalysis, group: Mapping[str, Any], *, is_share: bool
) -> Group:
    cosine, warning, notes = group.get("cosine"), ("", ""), []
    if cosine is not None:
        is_joined = is_share and cosine < NEAR_COPY_COSINE
        joined = (
            f"Joined to keep {percent_text(row.options['share'])} of the texts"
            if is_joined
            else "Nearly the same"
        )
        warning = ("badge--warn" if is_joined else "badge--ok", joined)
        one, other = (_text_or_note(known, pk, row) for pk in group["pair"])
        notes.append(f"Least similar, cosine {decimal_text(cosine, 2)}: “{one}” and “{other}”")
    more = group["size"] - len(set(group["members"]) | {group["kept"]})
    if more > 0:
        notes.append(f"and {more:,} more")
    return Group(
        _text_or_note(known, group["kept"], row),
        badge=("", str(group["size"])),
        warning=warning,
        texts=[_text_or_note(known, pk, row) for pk in group["members"] if pk != group["kept"]],
        notes=notes,
    )


def _copies_table(project: Project, row: TextAnalysis, copies: list[list[int]]) -> Table | None:
    """Return a table of texts that occur more than once, with a bar that shows how many are within the cap."""
    if not copies:
        return None
    known = stored.pairs_by_pk(project, [pk for pk, _ in copies])
    largest, cap = max(count for _, count in copies), row.options["cap"]
    rows = []
    for pk, count in copies:
        title = f"{count} copies, {max(0, count - cap)} beyond the cap"
        strip = share_strip(count / largest, darker_share=min(count, cap) / largest, summary=title)
        rows.append([Cell(_text_or_note(known, pk, row)), Cell(chart=strip, kind="plot"), Cell(f"{count:,}")])
    return Table(("Text", "", "Copies"), rows, (2,), caption="The most copied texts")


def _copy_legend(row: TextAnalysis) -> list[tuple[str, str]]:
    return [("within", f"Within the cap of {row.options['cap']}"), ("over", "Beyond it")]


def _text_or_note(known: Mapping[int, Pair], pk: int, row: TextAnalysis) -> str:
    return str(getattr(known[pk], row.options["field"])) if pk in known else TAKEN_DOWN


def _topic_summary(project: Project, row: TextAnalysis) -> Section:
    clues, inferences = row.result["clues"], row.result["inferences"]
    facts = [
        ("Vocabulary of clues and of inferences", f"{clues['words']:,} and {inferences['words']:,}"),
        (
            "Coherence",
            f"{decimal_text(clues['coherence'], 3)} and {decimal_text(inferences['coherence'], 3)}",
        ),
        ("Perplexity", f"{clues['perplexity']:.0f} and {inferences['perplexity']:.0f}"),
    ]
    return replace(_flow_section(row), facts=facts)


def _flow_section(row: TextAnalysis) -> Section:
    chart, undrawn = charts.topic_flow_chart(row.result)
    counts = f"{row.result['in_flow']:,} of {row.result['pairs']:,} pairs"
    total = f"{counts} have a counted word in both clue and inference."
    small = f" {undrawn:,} pairs in the smallest flows are not drawn." if undrawn else ""
    return Section(
        "From topics of clues to topics of inferences",
        chart=chart,
        chart_ends=("Topics of clues", "Topics of inferences"),
        after=f"{total} Ribbons have the colour of their clue topic.{small}",
    )


def topic_sections(
    project: Project, row: TextAnalysis, page: Page[Any]
) -> tuple[list[Section], list[Section]]:
    """Return the flow as a chart and as a table, the topics with their words, and examples."""
    result = row.result
    sides = (("Clues", result["clues"]), ("Inferences", result["inferences"]))
    sections = [_flow_section(row), _flow_table_section(result)]
    for name, found in sides:
        lost = f", {found['without_words']:,} texts hold none of them" if found["without_words"] else ""
        rows = [
            text_cells(
                str(index),
                ", ".join(word for word, _ in topic["words"]),
                f"{topic['texts']:,}",
                percent_text(topic["share"]),
                decimal_text(topic["coherence"], 2),
            )
            for index, topic in enumerate(found["topics"], start=1)
        ]
        headings = ("Topic", "Words, most probable first", "Texts", "Share", "Coherence")
        table = Table(headings, rows, (0, 2, 3, 4))
        sections.append(Section(name, note=f"{found['words']:,} words{lost}", tables=[table]))
    known = stored.pairs_by_pk(project, {pk for cell in page for pk in cell["pairs"]})
    groups = [_example_group(result, cell, known) for cell in page]
    sections.append(Section("Examples of the largest flows", groups=groups, has_pages=True))
    fit = [
        (f"{name}, {side.lower()}", _format_topic_measure(found, name))
        for name in ("Coherence", "Perplexity")
        for side, found in sides
    ]
    return sections, [Section("Quality of the fit", facts=fit, after=COHERENCE_NOTE)]


def _format_topic_measure(fit: Mapping[str, Any], measure: str) -> str:
    return decimal_text(fit["coherence"], 3) if measure == "Coherence" else f"{fit['perplexity']:.0f}"


def _flow_table_section(result: Mapping[str, Any]) -> Section:
    topics = result["clues"]["topics"]
    rows = []
    for index, (topic, cells) in enumerate(zip(topics, charts.heat_cells(result), strict=True), start=1):
        words = ", ".join(word for word, _ in topic["words"][:3])
        heats = [Cell(f"{cell.count:,}", kind=f"heat-{cell.shade}") for cell in cells]
        rows.append([Cell(str(index), note=words, is_heading=True), *heats])
    headings = ("", *(str(index) for index in range(1, len(result["inferences"]["topics"]) + 1)))
    return Section(
        "The same in numbers",
        before="Pairs by the topic of their clue (rows) and of their inference (columns). The shade is the share "
        "of the row.",
        tables=[Table(headings, rows, kind="heat-flow")],
    )


def _example_group(result: Mapping[str, Any], cell: Mapping[str, Any], known: Mapping[int, Pair]) -> Group:
    clue, inference = (
        ", ".join(word for word, _ in result[side]["topics"][cell[name]]["words"][:4])
        for side, name in (("clues", "clue"), ("inferences", "inference"))
    )
    count = result["flow"][cell["clue"]][cell["inference"]]
    chance = result["times_chance"][cell["clue"]][cell["inference"]]
    return Group(
        f"{clue} → {inference}",
        badge=("", f"{count:,} pairs, {chance:.1f} × chance"),
        texts=[f"{known[pk].clue} → {known[pk].inference}" for pk in cell["pairs"] if pk in known],
    )


def _toxicity_summary(project: Project, row: TextAnalysis) -> Section:
    result, counts = row.result, stored.count_reviews(stored.toxicity_queue(row))
    left = (
        f"{counts.remaining:,} left"
        if counts.remaining
        else "Nothing is left"
        if counts.total
        else "Nothing to read"
    )
    interval = counts.harmless_interval
    interval_text = (
        f"95% interval {percent_text(interval.low)} to {percent_text(interval.high)}. " if interval else ""
    )
    return replace(
        toxicity_scores_section(row),
        figures=[
            Figure("Texts scored", f"{result['texts']:,}", f"{result['above_zero']:,} above 0"),
            Figure("Read", f"{counts.reviewed:,} of {counts.total:,}", left),
            Figure(
                "Harmless of those read",
                percent_text(counts.harmless_share),
                f"{interval_text}{PAPER_HARMLESS}",
            ),
        ],
    )


def toxicity_scores_section(row: TextAnalysis) -> Section:
    """Return the section with the histogram of scores and the name of the scorer."""
    chart = charts.toxicity_chart(row.result["bins"])
    zero = "Texts that score 0 are not drawn." if chart else "No text scored above 0."
    by = f"Scored by {row.provenance['scorer']}."
    return Section("Scores", chart=chart, after=f"{zero} {by} {scorer_note(row)}")


def scorer_note(row: TextAnalysis) -> str:
    """Return a note about what an analysis's scores mean."""
    return WORD_LIST_NOTE if "word list" in row.provenance["scorer"] else SCORE_NOTE


def toxicity_review_section(row: TextAnalysis, counts: stored.ReviewCounts) -> Section:
    """Return the section with the progress and results of reviewing, and the texts above 0 by split."""
    result, interval = row.result, counts.harmless_interval
    found = [
        ("Read", f"{counts.reviewed} of {counts.total}"),
        ("Left", str(counts.remaining)),
        ("Concern", str(counts.concerns)),
        ("Harmless of those read", percent_text(counts.harmless_share)),
    ]
    if interval:
        interval_text = f"{percent_text(interval.low)} to {percent_text(interval.high)}"
        found.append(("95% interval (Wilson)", interval_text))
    for split in result["splits"]:
        name = f"Split {split['split']}" if split["split"] else "Without a split"
        found.append((name, f"{split['above_zero']:,} of {split['texts']:,} above 0"))
    if result.get("unmatched"):
        found.append(("Rows of the file without a pair", f"{result['unmatched']:,}"))
    return Section("Reviewed texts", facts=found, after=scorer_note(row))


def _caption_summary(project: Project, row: TextAnalysis) -> Section:
    result = row.result
    found = [
        ("Pairs, on photos", f"{result['pairs']:,} on {result['images']:,}"),
        ("Clue closer than its inference", f"{result['clue_nearer']:,} of {result['pairs']:,}"),
        (
            "Inferences worded like a caption, by the live hint’s rule",
            f"{result['worded_like_caption']:,} of {result['pairs']:,}",
        ),
    ]
    if result.get("without"):
        found.append(("Pairs without a caption to compare", f"{result['without']:,}"))
    if result.get("unmatched"):
        found.append(("Photos of the file that are not in the project", f"{result['unmatched']:,}"))
    return Section(
        "Clues and inferences against captions",
        chart=charts.caption_chart(result),
        facts=found,
        after="Clues name what is visible, so they should be close to captions. Inferences should be further "
        "away. Hessel et al. (2022) find the same for 2,000 images.",
    )


def caption_sections(
    project: Project, row: TextAnalysis, page: Page[Any]
) -> tuple[list[Section], list[Section]]:
    """Return the histograms, the inferences that are closest to a caption, and the spread of each kind of text."""
    known = stored.pairs_by_pk(project, [item["pair"] for item in page])
    groups = [_caption_group(known[item["pair"]], item) for item in page if item["pair"] in known]
    sections = [
        Section("Clues and inferences against captions", chart=charts.caption_chart(row.result)),
        Section(
            "The most caption-like inferences",
            note=f"{page.paginator.count} listed",
            before="A large cosine is no fault by itself. Look at the text.",
            groups=groups,
            has_pages=True,
        ),
    ]
    names = (("clues", "Clues"), ("inferences", "Inferences"), ("captions", "Captions among themselves"))
    rows = [[Cell(title), *text_cells(*_format_spread(row.result[name]))] for name, title in names]
    table = Table(("Texts", "Count", "Mean", "25%", "Median", "75%"), rows, (1, 2, 3, 4, 5))
    return sections, [Section("Cosines", tables=[table])]


def _format_spread(found: Mapping[str, Any]) -> list[str]:
    names = ("mean", "lower", "median", "upper")
    values = (decimal_text(found[name], 2) if found["count"] else "–" for name in names)
    return [f"{found['count']:,}", *values]


def _caption_group(pair: Pair, item: Mapping[str, Any]) -> Group:
    return Group(
        pair.inference,
        warning=("badge--warn", "Worded like a caption") if item.get("worded") else ("", ""),
        notes=[
            f"Clue: {pair.clue}",
            f"Inference {decimal_text(item['inference'], 2)}, clue {decimal_text(item['clue'], 2)}",
        ],
        image=image_facts(pair.image),
    )
