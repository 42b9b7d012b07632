"""``diaghoi serve``: the page of a comparison over HTTP, for this machine alone."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import typer

from diaghoi.cli import options, outputs, priors, variants
from diaghoi.cli.compare import (
    Choices,
    Files,
    Pairs,
    check_readable,
    compared_study,
    results_reader,
    studies_of,
)
from diaghoi.cli.comparison_page import ComparisonPage
from diaghoi.cli.options import option, options_class, with_options, without
from diaghoi.cli.progress import progress
from diaghoi.cli.reading import OF_PREDICTIONS, ReadingOptions
from diaghoi.cli.stopping import wait_for_signal
from diaghoi.comparison.results import is_semantic
from diaghoi.exceptions import InputError
from diaghoi.formats.pictures.folder import Pictures

SHOWN = 40
"""Predictions of an image that are drawn: twice as many as in a page that is a file."""


@options_class
class ServeOptions:
    """Which detectors are shown, and where."""

    files: Files
    labels: options.Labels = None
    annotations: options.Annotations = None
    pairs: Pairs = None
    reading: ReadingOptions = without(ReadingOptions, *OF_PREDICTIONS)
    protocol: options.ProtocolName = None
    ap: options.Ap = None
    images: Path | None = option(None, help="Folder with the pictures, to draw cases on.")
    port: int = option(0, min=0, max=65535, help="Where to listen; 0: any free port.")
    quiet: options.Quiet = False


@with_options
def serve(choices: ServeOptions) -> None:
    """Explore detectors in a browser: the page of 'compare --html' with all images.

    The page is at an address that nobody else on this machine can guess, for as long as the command
    runs; Ctrl-C ends it.
    """
    files, images = choices.files, choices.images
    lists = {
        "--labels": choices.labels,
        "--stage": None,
        "--backbone": None,
        "--pairs": choices.pairs,
    }
    given = {
        "annotations": choices.annotations,
        **choices.reading.words(*OF_PREDICTIONS),
        "protocol": choices.protocol,
    }
    given = {name: value for name, value in given.items() if value is not None}
    outputs.check_inputs(files)
    reader = results_reader()
    studies = studies_of(files, lists, given, reader(choices.reading.dataset))
    if len(studies) > 1:
        raise InputError(f"{files[0]}: lists studies on several data sets; give one of them")
    (study,) = studies
    inputs = [path for model in study.models for path in (model.file, model.pairs)]
    outputs.check_inputs([*inputs, study.annotations, study.instances, study.ids])
    read = reader(study.dataset)
    if study.tables or any(is_semantic(read(model.file)) for model in study.models):
        raise InputError("serve: shows mAP and errors, and these models are compared by meaning")
    plain = variants.VariantOptions(None, None), priors.PriorOptions(asked=False, annotations=None)
    shown = Choices(study.protocol, choices.ap, *plain, explain=False)
    shown.check()
    page = ComparisonPage(wanted=True, images=images, shown=SHOWN)
    page.check(None)
    from diaghoi.report.html.server import PageServer
    from diaghoi.report.pages import check_installed

    check_installed()
    check_readable(study, read, shown, None)
    with progress(choices.quiet) as bar:
        comparison = compared_study(
            study, read, shown, None, page, bar, [], force=choices.reading.force
        )
        bar.start("collecting the page")
        found = page.page(comparison)
        server = PageServer(found, None if images is None else Pictures(images), choices.port)
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        typer.echo(server.address)
        if not choices.quiet:
            typer.echo("Open this address in a browser here; Ctrl-C ends.", err=True)
        sys.stdout.flush()
        wait_for_signal()
        server.shutdown()
