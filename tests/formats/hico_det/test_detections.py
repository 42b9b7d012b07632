import numpy as np
import pytest
from scipy.io import savemat

from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats import read_predictions, recognise

V = hico_det()
IMAGES = 3


def empty(number, order=tuple(range(80))):
    cells = np.empty((int((V.class_object == order[number - 1]).sum()), IMAGES), dtype=object)
    cells[:] = [[np.zeros((0, 0))] * IMAGES] * len(cells)
    return cells


@pytest.fixture
def folder(tmp_path):
    for number in range(1, 81):
        cells = empty(number)
        if number == 2:  # bicycle
            cells[3, 2] = np.array([[1, 2, 3, 4, 5, 6, 7, 8, 0.5], [1, 2, 3, 4, 9, 9, 9, 8, 0.25]])
            cells[0, 2] = np.array([[1, 2, 3, 4, 5, 6, 7, 8, 0.75]], dtype=np.float32)
        if number == 1:
            cells[0, 0] = np.array([[0, 0, 9, 9, 1, 1, 8, 8, 1]], dtype=np.uint8)
        savemat(tmp_path / f"detections_{number:02d}.mat", {"all_boxes": cells})
    (tmp_path / "readme.txt").touch()
    return tmp_path


def test_folder(folder):
    found = recognise(folder)
    assert (found.format, found.kind) == ("hico-detections-mat", "predictions")
    scenes = read_predictions(folder)
    assert scenes.names.tolist() == [""] * IMAGES
    assert scenes.box_image.tolist() == [0, 0, 2, 2, 2]
    assert scenes.box_label.tolist() == [0, 0, 0, 1, 1]
    assert scenes.box_xyxy[2:].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 9, 9, 8]]
    assert scenes.triplet_image.tolist() == [0, 2, 2, 2]
    bicycle = np.flatnonzero(V.class_object == 1)
    assert scenes.triplet_class[1:].tolist() == bicycle[[0, 3, 3]].tolist()
    assert V.class_object[scenes.triplet_class[0]] == 0
    assert scenes.triplet_score.tolist() == [1, 0.75, 0.5, 0.25]
    assert scenes.triplet_pair.tolist() == [0, 1, 1, 2]
    assert scenes.triplet_action_score is None
    assert scenes.pair_score is None
    assert any("by index" in note for note in scenes.notes)
    shifted = read_predictions(folder, origin=1)
    np.testing.assert_array_equal(shifted.box_xyxy, scenes.box_xyxy - 1)


def test_missing_files(folder):
    for number in (1, 7, 80):
        (folder / f"detections_{number:02d}.mat").unlink()
    with pytest.raises(InputError, match=r"3 of 80 .*detections_01.mat, detections_07.mat, det"):
        read_predictions(folder)


def test_too_many_files(folder):
    (folder / "detections_81.mat").touch()
    with pytest.raises(
        InputError, match=r"has more files than there are objects: detections_81\.mat"
    ):
        read_predictions(folder)


def change(folder, number, cells, name="all_boxes"):
    savemat(folder / f"detections_{number:02d}.mat", {name: cells})


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (np.zeros((2, 8)), r"04.mat: all_boxes\{2,3\}: is of shape \(2, 8\) and type"),
        (
            [[5, 0, 3, 4, 0, 0, 1, 1, 0.5]],
            r"04.mat: image 2 \(counted from 0\): all_boxes\[0\]: the",
        ),
        ([[3, 0, 3, 4, 0, 0, 1, 1, np.nan]], r"all_boxes\[0\]: the score is nan"),
    ],
)
def test_bad_cells(folder, cell, message):
    cells = empty(4)
    cells[1, 2] = np.array(cell)
    change(folder, 4, cells)
    with pytest.raises(InputError, match=message):
        read_predictions(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"all_boxes": empty(4)[:, :2]}, "04.mat: all_boxes: has 2 images, but detections_01.mat"),
        ({"all_boxes": np.zeros((2, 2))}, "'all_boxes' is not a cell array of classes x images"),
        ({"boxes": empty(4)}, "the variable 'all_boxes' is missing"),
    ],
)
def test_bad_files(folder, content, message):
    savemat(folder / "detections_04.mat", content)
    with pytest.raises(InputError, match=message):
        read_predictions(folder)


def test_a_damaged_file(folder):
    (folder / "detections_04.mat").write_bytes(b"MATLAB 5.0")
    with pytest.raises(InputError, match=r"04\.mat: a damaged or unreadable \.mat file"):
        read_predictions(folder)


def test_files_in_another_order(tmp_path):
    order = [V.objects.index(name) for name in sorted(V.objects)]
    for number in range(1, 81):
        cells = empty(number, order)
        if number == 10:  # bicycle in HICO's list
            cells[3, 2] = np.array([[1, 2, 3, 4, 5, 6, 7, 8, 0.5]])
        change(tmp_path, number, cells)
    misfit = r"detections_02\.mat: all_boxes: has 10 HOI classes, but 'bicycle' has 14"
    with pytest.raises(InputError, match=f'{misfit}; the files fit hico80: give `objects="hico80"'):
        read_predictions(tmp_path, objects="coco80")
    for given in ({}, {"objects": "hico80"}):
        assert read_predictions(tmp_path, **given).box_label.tolist() == [0, 1]
    with pytest.raises(
        InputError, match='`objects="coco91"`: these files are numbered as coco80 or'
    ):
        read_predictions(tmp_path, objects="coco91")
