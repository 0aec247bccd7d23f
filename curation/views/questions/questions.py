"""The questions of a set: a filtered list, and one question with its four choices, sources, tags and scores."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from curation.models import Question, QuestionSet
from curation.selectors import questions as selectors
from curation.selectors.object_lists import objects_of_records
from curation.views.pages import tab_context
from curation.views.questions.forms import QuestionFilterForm
from curation.views.questions.labels import STAGE_LABELS
from curation.views.questions.sets import TAB, get_question_set
from curation.views.questions.shown import show_choices, show_rows
from hits.domain.images.detections import page_objects
from hits.models import Project
from hits.selectors.images.images import image_facts
from hits.views.access import project_page
from hits.views.pages import get_or_404

QUESTIONS_PER_PAGE = 25


@require_safe
@project_page()
def question_list(request: HttpRequest, project: Project, set_id: int) -> HttpResponse:
    """Show a set's questions of one stage, filtered by fold and text, with the wrong choice of one round or all."""
    found = get_question_set(project, set_id)
    folds = selectors.set_folds(found)
    search = QuestionFilterForm([fold["name"] for fold in folds], request.GET)
    fold, is_narrowed = _searched_fold(found, search)
    rows = selectors.find_questions(found, stage=search.chosen_stage, fold=fold, text=search.text)
    # The page's ids first: only they need triplets and images, however many rows an offset skips.
    ids, is_cut = selectors.listed_ids(rows, is_search=bool(search.text))
    page = Paginator(ids, QUESTIONS_PER_PAGE).get_page(request.GET.get("page"))
    questions = selectors.load_questions(list(page.object_list))
    context = tab_context(project, TAB) | {
        "question_set": found,
        "is_built": selectors.is_built(found),
        "search": search,
        "stage_label": STAGE_LABELS[search.chosen_stage],
        "narrowed_to": fold if is_narrowed else "",
        "is_cut": is_cut,
        "page": page,
        "rows": show_rows(questions, search.chosen_round),
    }
    return render(request, "curation/questions/questions.html", context)


def _searched_fold(found: QuestionSet, search: QuestionFilterForm) -> tuple[str, bool]:
    """Return the fold to list, and whether a search for words in a large set was narrowed to its first fold."""
    folds = selectors.set_folds(found)
    is_large = sum(fold["triplets"] for fold in folds) > selectors.MAX_SEARCHED
    if search.chosen_fold or not is_large or not search.text or selectors.is_published_id(search.text):
        return search.chosen_fold, False
    return folds[0]["name"], True


@require_safe
@project_page()
def question(request: HttpRequest, project: Project, set_id: int, question_id: int) -> HttpResponse:
    """Show one question: the photo with its objects, the query, and four choices with their sources and scores."""
    found = get_question_set(project, set_id)
    rows = Question.objects.select_related("triplet__image")
    item: Question = get_or_404(rows.filter(pk=question_id, question_set=found).first())
    objects = objects_of_records([item.triplet])[item.triplet.pk]
    image = item.triplet.image
    shown: list[dict[str, Any]] = (
        page_objects(objects, width=image.width, height=image.height) if image is not None else []
    )
    context = tab_context(project, TAB) | {
        "question_set": found,
        "question": item,
        "stage_label": STAGE_LABELS[item.stage],
        "other": selectors.other_stage(item),
        "unit": {"image": image_facts(image).as_page_dict() if image is not None else None, "objects": shown},
        "names": [one["name"] for one in shown],
        "choices": show_choices(item),
    }
    return render(request, "curation/questions/question.html", context)
