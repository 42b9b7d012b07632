"""Methods of a diagnosis that use higher layers: its screen, files, intervals, tables and figures.

Each method imports its implementation when it is called. This is the only module that may import
from layers above its own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from diaghoi.data.scenes import Scenes
    from diaghoi.data.vocabulary import Vocabulary
    from diaghoi.diagnosis.diagnosis import Diagnosis
    from diaghoi.diagnosis.shortcuts import Shortcuts
    from diaghoi.report.notebook import Screen
    from diaghoi.statistics.bootstrap import Bootstrap
    from diaghoi.statistics.operating_points import OperatingPoints


class OneScreen:
    """A one-screen text that Python, ``print`` and notebooks show unchanged."""

    def summary(self: Any, width: int | None = None) -> Screen:
        """Return the first screen of ``diaghoi report``, or of ``diaghoi compare``.

        ``print`` and notebooks show the screen, too. The screen shows percent and percentage
        points, whereas numbers in Python are fractions.

        Parameters
        ----------
        width : int, optional
            Line width in characters; by default the width of the terminal, or 80.

        Returns
        -------
        str
            The text, which Python and notebooks show unchanged.
        """
        from diaghoi.report.notebook import screen

        return screen(self, width)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


class DiagnosisMethods(OneScreen):
    """Methods of :class:`diaghoi.Diagnosis` that are implemented in other layers."""

    def save(self: Any, path: str | os.PathLike[str]) -> None:
        """Write the diagnosis to a file from which :meth:`load` restores it.

        The file contains the annotations, the predictions and the protocol, without pickles. Unlike
        the JSON of :meth:`to_dict`, the file is enough to draw all figures. ``diaghoi compare`` and
        ``diaghoi figures`` read the file.

        Parameters
        ----------
        path : path
            The file, usually ``.npz``; it is written completely or not at all.

        Raises
        ------
        InputError
            If the diagnosis has no annotations and predictions (``scenes``), or the file cannot be
            written.
        """
        from diaghoi.diagnosis.saved import save

        save(self, path)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], dataset: str | Vocabulary | None = None
    ) -> Diagnosis:
        """Read a saved diagnosis, and diagnose its predictions again, which takes seconds.

        Parameters
        ----------
        path : path
            A file that :meth:`save` wrote.
        dataset : str or Vocabulary, optional
            The ``.toml`` file that describes the data set, unless the package knows it.

        Returns
        -------
        Diagnosis
            The saved diagnosis, with equal numbers.

        Raises
        ------
        InputError
            If the file is not a saved diagnosis, is damaged, or belongs to an unknown data set.
        """
        from diaghoi.diagnosis.saved import load

        return load(path, dataset)

    def joined_scenes(self: Any) -> tuple[Scenes, Scenes]:
        """Return the annotations and predictions, with images in the order of the diagnosis.

        Raises
        ------
        InputError
            If the diagnosis has no scenes.
        """
        from diaghoi.diagnosis.saved import scenes_of

        return scenes_of(self)

    def bootstrap(self: Any, resamples: int = 1000, **settings: Any) -> Bootstrap:
        """Compute intervals of all numbers: :func:`diaghoi.statistics.bootstrap.bootstrap`.

        Parameters
        ----------
        resamples : int
            Number of resamples of the images.
        **settings
            ``seed``, ``confidence``, ``method`` and ``progress`` of the function ``bootstrap``.

        Returns
        -------
        diaghoi.statistics.bootstrap.Bootstrap
            The result, with ``intervals`` by the path of each number, such as ``map.full``.
        """
        from diaghoi.statistics.bootstrap import bootstrap

        return bootstrap(self, resamples, **settings)

    def shortcuts(self: Any, annotations: Scenes | None = None) -> Shortcuts:
        """Compare the detector with priors of its verbs.

        See :func:`diaghoi.diagnosis.shortcuts.shortcuts`.

        Parameters
        ----------
        annotations : Scenes, optional
            Annotations from which the priors are counted, usually the training set. By default, the
            prior of each image is counted from all other annotated images of the diagnosis.

        Returns
        -------
        diaghoi.diagnosis.shortcuts.Shortcuts
            The mAP of each prior, and the lift of the detector above the prior.
        """
        from diaghoi.diagnosis.shortcuts import shortcuts

        return shortcuts(self, annotations)

    def operating_points(self: Any) -> OperatingPoints:
        """Compute precision, recall, F1 and errors as functions of the score threshold.

        See :func:`diaghoi.statistics.operating_points.operating_points`.

        Returns
        -------
        diaghoi.statistics.operating_points.OperatingPoints
            The curves, with the threshold of the best F1.
        """
        from diaghoi.statistics.operating_points import operating_points

        return operating_points(self)

    def plot(
        self: Any,
        figure: str = "delta_map",
        ax: Axes | None = None,
        *,
        column: Literal["single", "double"] | None = None,
        path: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Axes:
        """Draw a figure with the function of the given name in :mod:`diaghoi.plots`.

        Parameters
        ----------
        figure : str
            ``delta_map``, ``waterfall`` and so on; an unknown name raises an error that lists all
            names.
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; by default the axes of a new figure.
        column : {"single", "double"}, optional
            Draw the figure as ``diaghoi figures`` does, as wide as one column of a two-column
            paper, or as both columns; not with ``ax`` or further parameters of the function.
        path : path, optional
            Save the figure to this .pdf, .svg or .png file.
        **settings
            Further parameters of the function.

        Returns
        -------
        matplotlib.axes.Axes
            The first axes of the figure, in percent and percentage points. Nothing is shown.

        Raises
        ------
        InputError
            If the figure, a column or the suffix of the path is unknown, or the diagnosis does not
            allow the figure.
        """
        from diaghoi.plots.figure import plot

        return plot(self, figure, ax, column=column, path=path, **settings)

    def to_frame(self: Any, of: Literal["classes", "images", "errors", "cases"] = "classes") -> Any:
        """Return a table as a pandas data frame.

        Parameters
        ----------
        of : {"classes", "images", "errors", "cases"}
            One row per HOI class or image, with the columns of :attr:`classes` or :attr:`images`;
            one row per error, with its number and its ΔmAP (a fraction) in each split; or one row
            per wrong prediction or missed triplet to look at first, up to 100 per kind of error
            (:func:`diaghoi.cases.cases.worst_cases`).

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        InputError
            If pandas is not installed, the table is unknown, or cases are requested of a diagnosis
            without its annotations and predictions.
        """
        from diaghoi.cases.frames import to_frame

        return to_frame(self, of)
