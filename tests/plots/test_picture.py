"""A case over its picture: what is drawn, where, and in which words."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import same_color, to_rgb
from matplotlib.figure import Figure

from diaghoi.cases.cases import ERRORS, Case
from diaghoi.plots import SINGLE_COLUMN
from diaghoi.plots.boxes import DASHES, BoxTags, PictureFrame, enlargement, frame_of
from diaghoi.plots.figures.picture import card, case_title, picture
from diaghoi.plots.style import colour, ink_on

CASE = Case(
    error="association",
    image="COCO_val2014_000000000165.jpg",
    size=(640, 480),
    name="ride bicycle",
    score=0.834,
    human=(50.0, 60.0, 200.0, 400.0),
    object=(100.0, 200.0, 400.0, 470.0),
    annotated="hold bicycle",
    annotated_human=(55.0, 58.0, 210.0, 405.0),
    annotated_object=(380.0, 180.0, 620.0, 440.0),
    sentence="Both boxes are right (IoU 0.90 and 0.81), but no annotated triplet joins them.",
    repair="becomes a true positive of hold bicycle",
)
MISSED = replace(CASE, error="missed_gt", name=None, score=None, human=None, object=None)
IMAGE = np.zeros((480, 640, 3), dtype=np.uint8)


def drawn(figure: Figure) -> Figure:
    """Draw for real, with warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.draw_without_rendering()
    return figure


def lines(ax, ink, style):
    """Corners of the lines of a colour and style, without dots."""
    return [
        line.get_xydata().tolist()
        for line in ax.lines
        if same_color(line.get_color(), ink)
        and line.get_linestyle() == style
        and len(line.get_xdata()) > 1
    ]


def words(ax):
    return [text.get_text() for text in ax.texts]


def test_the_prediction_is_solid_in_the_colour_of_its_error() -> None:
    for error in ERRORS[:-1]:
        ax = picture(replace(CASE, error=error), IMAGE)
        human, thing, between = lines(ax, colour(error), "-")
        assert (human[0], human[2]) == ([50, 60], [200, 400])
        assert (thing[0], thing[2]) == ([100, 200], [400, 470])
        assert between == [[125, 230], [250, 335]]


def test_the_annotation_is_dashed_in_white_on_black() -> None:
    ax = picture(CASE, IMAGE)
    human, thing, between = lines(ax, "white", "--")
    assert (human[0], thing[2]) == ([55, 58], [620, 440])
    assert between == [[132.5, 231.5], [500, 310]]
    assert DASHES[1] == (3.0, 2.0)


def test_the_line_begins_with_a_dot_in_the_person_and_ends_with_a_square() -> None:
    ax = picture(CASE, IMAGE)
    dots = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert [(dot.get_marker(), *dot.get_xydata()[0]) for dot in dots] == [
        ("o", 132.5, 231.5),
        ("s", 500, 310),
        ("o", 125, 230),
        ("s", 250, 335),
    ]


def test_boxes_that_are_only_near_are_not_joined_but_those_of_an_action_are() -> None:
    near = replace(CASE, annotated=None)
    assert len(lines(picture(near, IMAGE), "white", "--")) == 2
    assert len(lines(picture(replace(near, error="action"), IMAGE), "white", "--")) == 3


def test_roles_without_box_and_missed_triplets() -> None:
    alone = picture(replace(CASE, object=None), IMAGE)
    assert len(lines(alone, colour("association"), "-")) == 1
    missed = picture(MISSED, IMAGE)
    assert len(lines(missed, "white", "--")) == 3
    assert words(missed) == ["hold bicycle"]
    assert not lines(missed, colour("missed_gt"), "-")


def test_tags_name_prediction_and_annotation() -> None:
    assert words(picture(CASE, IMAGE)) == ["ride bicycle 0.83", "hold bicycle"]
    assert words(picture(replace(CASE, annotated=None), IMAGE)) == ["ride bicycle 0.83"]
    assert case_title(replace(CASE, score=0.0004)) == "ride bicycle 0.0004"


def test_boxes_at_the_border_and_outside_show_their_edges() -> None:
    case = replace(CASE, human=(-50.0, 0.0, 100.0, 479.0), object=(600.0, 400.0, 900.0, 700.0))
    ax = picture(case, IMAGE)
    for corners in lines(ax, colour("association"), "-")[:2]:
        across, down = np.array(corners).T
        assert across.min() > 0
        assert across.max() < 639
        assert down.min() > 0
        assert down.max() < 479


def test_a_picture_of_another_resolution_fills_the_frame() -> None:
    ax = picture(CASE, np.zeros((48, 64, 3), dtype=np.uint8))
    assert ax.images[0].get_extent() == [-0.5, 639.5, 479.5, -0.5]
    assert ax.get_xlim() == (-0.5, 639.5)
    assert ax.get_ylim() == (479.5, -0.5)


def test_frames_of_images_of_unknown_size() -> None:
    case = replace(CASE, size=None)
    assert frame_of(case, IMAGE) == PictureFrame(-0.5, -0.5, 639.5, 479.5)
    left, top, right, bottom = frame_of(case)
    # A tenth of the larger side around all boxes.
    assert (left, top, right, bottom) == (50 - 57, 58 - 57, 620 + 57, 470 + 57)


def small(x: float = 300.0, y: float = 200.0, side: float = 16.0, **more):
    """A case of a pair that spans 30 x 20 pixels of 640 x 480."""
    boxes = {"human": (x, y, x + side, y + 20), "object": (x + 20, y, x + 30, y + 10)}
    boxes |= {f"annotated_{name}": box for name, box in boxes.items()}
    return replace(CASE, **(boxes | more))


def test_small_pairs_are_shown_enlarged() -> None:
    frame = frame_of(small())
    assert (frame.right - frame.left, frame.bottom - frame.top) == (80, 60)
    assert frame.left < 300 < 330 < frame.right
    assert frame.ratio == 480 / 640
    assert enlargement(small()) == 8
    assert enlargement(CASE) == 1
    ax = picture(small(), IMAGE)
    assert ax.get_xlim() == (frame.left, frame.right)
    assert ax.images[0].get_extent() == [-0.5, 639.5, 479.5, -0.5]
    words = [text.get_text() for text in card(small(), IMAGE).texts]
    assert any("Enlarged 8.0 times." in text for text in words)
    assert not any("Enlarged" in text.get_text() for text in card(CASE, IMAGE).texts)


@pytest.mark.parametrize("corner", [(0.0, 0.0), (605.0, 455.0)])
def test_enlarged_parts_stay_in_the_image(corner: tuple[float, float]) -> None:
    frame = frame_of(small(*corner))
    assert frame.left >= -0.5
    assert frame.top >= -0.5
    assert frame.right <= 639.5
    assert frame.bottom <= 479.5


def test_a_part_holds_the_annotation_unless_the_pair_is_tiny() -> None:
    near = small(annotated_object=(400.0, 200.0, 420.0, 220.0))
    assert frame_of(near).right > 420
    assert enlargement(near) == pytest.approx(0.5 / (120 / 640))
    far = small(annotated_object=(20.0, 20.0, 500.0, 400.0))
    assert enlargement(far) == pytest.approx(0.25 / (30 / 640))
    ax = picture(far, IMAGE)
    # The edges of the annotated box stay where they are, beyond the part that is shown.
    assert [20, 20] in [corners[0] for corners in lines(ax, "white", "--")]
    assert enlargement(small(side=200.0)) == 1


def test_without_its_size_an_image_is_not_enlarged() -> None:
    assert enlargement(small(size=None)) == 1
    assert enlargement(small(size=None), IMAGE) == 8


def test_a_prediction_without_a_score_is_a_prediction() -> None:
    unscored = replace(CASE, score=None)
    assert case_title(unscored) == "ride bicycle"
    assert words(picture(unscored, IMAGE)) == ["ride bicycle", "hold bicycle"]
    assert any("Solid: prediction." in text.get_text() for text in card(unscored, IMAGE).texts)


def test_an_empty_frame_says_what_is_missing_where_it_hides_no_level_edge() -> None:
    # The lower edges of both objects are where the words would otherwise stand.
    ax = picture(CASE, missing="165: not in images")
    text = next(text for text in ax.texts if text.get_text() == "165: not in images")
    assert text.get_position()[1] < 60
    assert not ax.images
    low = replace(CASE, object=(100.0, 200.0, 400.0, 430.0))
    ax = picture(low, missing="165: not in images")
    text = next(text for text in ax.texts if text.get_text() == "165: not in images")
    assert text.get_position()[1] > 450


BOXES = st.tuples(
    st.floats(-100, 700), st.floats(-100, 500), st.floats(0, 700), st.floats(0, 500)
).map(lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3]))


AX = Figure().add_subplot()  # making axes takes longer than all the rest


@given(BOXES, BOXES, st.sampled_from(["a", "ride bicycle", "word " * 20]))
def test_tags_stay_inside_and_do_not_meet(first, second, name) -> None:
    frame = PictureFrame(-0.5, -0.5, 639.5, 479.5)
    tags = BoxTags(AX, frame, point=2.7)
    tags.add(name, first, to_rgb("white"))
    tags.add(name, second, to_rgb("black"), below=True)
    (left, top, right, bottom), other = tags.taken
    for place in tags.taken:
        assert frame.left <= place[0] <= place[2] <= frame.right + 1e-6
        assert frame.top <= place[1] <= place[3] <= frame.bottom + 1e-6
    assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


def test_a_tag_leaves_objects_free_where_it_can() -> None:
    frame = PictureFrame(0, 0, 640, 480)
    tags = BoxTags(Figure().add_subplot(), frame, point=2.0)
    person = (100.0, 100.0, 200.0, 300.0)
    tags.add("a", person, to_rgb("white"), spare=[(90.0, 80.0, 210.0, 100.0)])
    assert tags.taken[0][1] == 100  # inside, as the place above is that of an object


def test_letters_can_be_read_on_every_colour() -> None:
    assert ink_on(colour("action")) == to_rgb("black")
    assert ink_on(colour("object_box")) == to_rgb("white")


# The picture with words below.


def test_a_card_has_the_width_of_a_column_and_its_words_below_the_picture() -> None:
    figure = drawn(card(CASE, IMAGE))
    assert figure.get_figwidth() == SINGLE_COLUMN
    (ax,) = figure.axes
    height = figure.get_figheight()
    assert ax.get_position().height * height == pytest.approx(SINGLE_COLUMN * 480 / 640)
    assert [text.get_text() for text in figure.texts] == [
        "Association: ride bicycle 0.83",
        "Both boxes are right (IoU 0.90 and 0.81), but no annotated",
        "triplet joins them.",
        "Under its oracle it becomes a true positive of hold bicycle.",
        "Solid: prediction. Dashes: annotation.  COCO_val2014_000000000165.jpg",
    ]
    legend = drawn(card(MISSED, IMAGE)).texts[-1].get_text()
    assert legend == "Dashes: annotation.  COCO_val2014_000000000165.jpg"


def test_a_card_without_words_is_the_picture() -> None:
    figure = card(CASE, IMAGE, words=False)
    assert tuple(figure.get_size_inches()) == pytest.approx((3.25, 3.25 * 480 / 640))
    assert figure.texts == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "image"),
    [
        ((60, 40), IMAGE),
        ((300, 1200), IMAGE),
        ((3000, 300), None),
        ((2000, 20), None),
        ((1, 1), None),
    ],
)
def test_cards_of_any_shape_stay_within_their_figure(size, image) -> None:
    width, height = size
    case = replace(
        CASE,
        size=size,
        human=(0.0, 0.0, width - 1.0, height - 1.0),
        object=(0.0, 0.0, width / 2, height / 2),
        name="stand under " + "something " * 9,
        annotated="a " * 50,
        image="a" * 90,
        sentence="word " * 60 + "w" * 60,
    )
    figure = drawn(card(case, image, missing="b" * 90))
    renderer = FigureCanvasAgg(figure).get_renderer()
    for text in figure.texts:
        box = text.get_window_extent(renderer)
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y0 >= 0
    (ax,) = figure.axes
    place = ax.get_position()
    assert place.x0 >= -1e-9
    assert place.x1 <= 1 + 1e-9
    assert place.height * figure.get_figheight() <= 1.25 * SINGLE_COLUMN + 1e-9


def test_no_letters_are_smaller_than_print_allows_and_none_are_mathematics() -> None:
    figure = drawn(card(replace(CASE, name="$x_1$", annotated="a\udc80\nb"), missing="$"))
    texts = [*figure.texts, *figure.axes[0].texts]
    assert min(text.get_fontsize() for text in texts) >= 5.5
    assert not any(text.get_parse_math() for text in texts)
    assert words(figure.axes[0]) == ["$x_1$ 0.83", "a? b", "$"]
