"""``diaghoi similarity build``: a table of similarity from raters, or a baseline from WordNet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.asking import AskingOptions, Concurrent, Yes, goes_on
from diaghoi.cli.options import option, options_class, with_options, without
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import Progress, progress
from diaghoi.data.table import percent
from diaghoi.exceptions import InputError, some_of

if TYPE_CHECKING:
    from diaghoi.language.answer_store import AnswerStore
    from diaghoi.semantic.tables.rater import RatingCost, RatingResult, RatingTask

Terms = Annotated[
    Path | None,
    typer.Option(
        help="Words or synsets, one per line, or CSV: name, synset, definition.", readable=False
    ),
]
Candidates = Annotated[
    Path | None,
    typer.Option(help="Additional words, compared only with the first ones.", readable=False),
]


@options_class
class BuildOptions(outputs.ResultOptions):
    """Which words are compared, and by whom."""

    out: Path = option(
        help="The .csv or .npz file to write; with both verbs and objects, NAME_verbs and "
        "NAME_objects."
    )
    verbs: Terms = None
    objects: Terms = None
    verb_candidates: Candidates = None
    object_candidates: Candidates = None
    rater: list[str] | None = option(
        None,
        metavar="URL,MODEL[,VARIABLE]",
        help="An OpenAI-compatible endpoint, and the environment variable with its API key "
        "[DIAGHOI_API_KEY]. The first rates all pairs, the others those it did not rate 0.",
    )
    baseline: str | None = option(
        None, help="A WordNet measure instead of raters: path or wu-palmer (not part of SHOE)."
    )
    wordnet: options.WordNet = None
    store: Path | None = option(
        None,
        help="File that stores the answers as JSON lines [the name of --out with .answers.jsonl].",
    )
    yes: Yes = False
    price: list[str] | None = option(
        None,
        metavar="IN,OUT",
        help="Price of a million tokens: one for all raters, or one for each.",
    )
    batch: int = option(1, min=1, max=100, help="Pairs per request.")
    check_zeros: int = option(
        0,
        min=0,
        max=1_000_000,
        help="Ask the other raters about this many random pairs that the first rated 0, and say "
        "how many they rate above 0. The table stays the same.",
    )
    seed: options.Seed = 0
    workers: Concurrent = 8
    asking: AskingOptions = without(AskingOptions, "concurrent", "yes", "price", "temperature")

    def __post_init__(self) -> None:
        if self.verbs is None and self.objects is None:
            raise InputError("no words to compare; give --verbs FILE, --objects FILE or both")
        if bool(self.rater) == (self.baseline is not None):
            raise InputError("give either --rater URL,MODEL or --baseline path|wu-palmer")
        if self.check_zeros and len(self.rater or []) < 2:
            raise InputError("--check-zeros: asks a second rater about them; give another --rater")


@with_options
def build(choices: BuildOptions) -> None:
    """Build a table of similarity by asking language models, or a baseline from WordNet.

    Answers are stored as they arrive: an interrupted run resumes where it stopped.
    """
    words = {
        "verb": (choices.verbs, choices.verb_candidates),
        "object": (choices.objects, choices.object_candidates),
    }
    files = _files(choices.out, choices.verbs is not None, choices.objects is not None)
    store = choices.store or choices.out.with_suffix(".answers.jsonl")
    inputs = [path for paths in words.values() for path in paths]
    outputs.check_files([*files.values(), choices.json, store if choices.rater else None], inputs)
    questions = _questions(words, choices.wordnet)
    if choices.baseline is not None:
        result = _build_baseline(questions, choices.baseline, choices.wordnet, files)
        _present(result, choices)
        return

    from diaghoi.language.endpoint import read_endpoints, read_prices
    from diaghoi.semantic.tables.rater import Raters, ZeroSample, estimate

    zeros = ZeroSample(number=choices.check_zeros, seed=choices.seed)
    endpoints = read_endpoints(choices.rater or [], "--rater")
    prices = read_prices(choices.price or [], len(endpoints))
    with choices.asking.answer_store(store) as answers:
        names = [each.model for each in endpoints]
        with progress(choices.quiet) as bar:
            bar.start("estimating")
            costs = estimate(questions, names, answers, batch=choices.batch, zeros=zeros)
        estimated = _estimated(costs, prices, answers)
        rows = estimated["raters"]
        open_ = any(row["pairs"] for row in rows)
        if open_ and not goes_on(_in_words(rows), choices.yes, choices.quiet):
            return
        raters = Raters(
            clients=[choices.asking.client(each) for each in endpoints],
            store=answers,
            batch=choices.batch,
            workers=choices.workers,
            asks=choices.asking.asks,
            zeros=zeros,
        )
        with progress(choices.quiet) as bar:
            raters.progress = _reporter(bar)
            found = [raters.rate(question) for question in questions]
    _present(_written(found, files) | {"estimate": estimated}, choices)


def _files(out: Path, verbs: bool, objects: bool) -> dict[str, Path]:
    """Name the file of each kind."""
    from diaghoi.semantic.tables.table_files import check_suffix

    check_suffix(out)
    if not (verbs and objects):
        return {"verb" if verbs else "object": out}
    return {kind: out.with_name(f"{out.stem}_{kind}s{out.suffix}") for kind in ("verb", "object")}


def _questions(
    files: dict[Any, tuple[Path | None, Path | None]], wordnet: Path | None
) -> list[RatingTask]:
    from diaghoi.language.lexicon import load_lexicon
    from diaghoi.semantic.tables.rater import RatingTask
    from diaghoi.semantic.tables.terms import read_terms

    found = []
    for kind, (path, more) in files.items():
        if path is None:
            if more is not None:
                raise InputError(
                    f"--{kind}-candidates: is compared with --{kind}s, which is missing"
                )
            continue
        pos: Any = "v" if kind == "verb" else "n"
        terms = read_terms(path, pos, load_lexicon(wordnet))
        others = () if more is None else read_terms(more, pos, load_lexicon(wordnet))
        known = {term.name for term in terms}
        candidates = tuple(term for term in others if term.name not in known)
        found.append(RatingTask(kind=kind, terms=terms, candidates=candidates))
    return found


def _build_baseline(
    questions: Sequence[RatingTask], method: str, wordnet: Path | None, files: dict[str, Path]
) -> dict[str, Any]:
    from diaghoi.language.lexicon import load_lexicon
    from diaghoi.semantic.tables.baselines import baseline
    from diaghoi.semantic.tables.similarity import write_similarity

    tables = []
    for question in questions:
        terms = question.terms + question.candidates
        table = baseline(terms, method, load_lexicon(wordnet))
        write_similarity(files[question.kind], table)
        tables.append(
            {
                "kind": question.kind,
                "file": str(files[question.kind]),
                "words": len(terms),
                "pairs": table.pairs,
                "name": table.name,
                "source": table.source,
            }
        )
    return {"tables": tables, "zeros": [], "unread": [], "unanswered": []}


def _estimated(
    costs: Sequence[RatingCost], prices: Sequence[tuple[float, float]], store: AnswerStore
) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {
            "rater": cost.rater,
            "pairs": cost.pairs,
            "requests": cost.requests,
            "tokens_in": cost.tokens_in,
            "tokens_out": cost.tokens_out,
            "price": cost.price(prices[number]) if prices else None,
        }
        for number, cost in enumerate(costs)
    ]
    return {"store": str(store.path), "raters": rows}


def _in_words(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Say what asking the raters takes."""
    for number, row in enumerate(rows):
        most = "at most " if number else ""
        cost = "" if row["price"] is None else f", {row['price']:,.2f} by the prices given"
        yield (
            f"{row['rater']}: {most}{row['pairs']:,} pairs to rate in {row['requests']:,} "
            f"requests, about {row['tokens_in']:,} tokens in and {row['tokens_out']:,} out "
            f"(more where a model thinks aloud){cost}"
        )
    prices = [row["price"] for row in rows if row["price"] is not None]
    if prices:
        yield f"together at most {sum(prices):,.2f}"


def _reporter(bar: Progress) -> Any:
    def show(task: str | None, pairs: int) -> None:
        if task is None:
            bar.advance(pairs)
        else:
            bar.start(task, pairs)

    return show


def _written(found: Sequence[RatingResult], files: dict[str, Path]) -> dict[str, Any]:
    from diaghoi.semantic.tables.merging import write_ratings

    tables, unread, unanswered, zeros = [], [], [], []
    for rated in found:
        kind = rated.question.kind
        ratings = rated.ratings(files[kind].stem)
        write_ratings(files[kind], ratings)
        tables.append(
            {
                "kind": kind,
                "file": str(files[kind]),
                "words": len(ratings.names),
                "pairs": int((ratings.first != ratings.second).sum()),
                "name": files[kind].stem,
                "source": f"rated by {', '.join(rated.raters)}",
            }
        )
        first = rated.raters[0]
        zeros += [{"kind": kind, "first": first, **row} for row in rated.zero_check]
        unread += [{"rater": rater, "a": a, "b": b} for rater, a, b in rated.unread]
        unanswered += [
            {"rater": rater, "a": a, "b": b, "why": why} for rater, a, b, why in rated.unanswered
        ]
    return {"tables": tables, "zeros": zeros, "unread": unread, "unanswered": unanswered}


def _present(result: dict[str, Any], choices: BuildOptions) -> None:
    choices.deliver(result, lambda: _print(result))
    if choices.quiet:
        return
    incomplete = {
        "unread": "have no valid reply and no score of that rater; --ask-again asks again",
        "unanswered": "had no reply; the same command asks again",
    }
    for key, what in incomplete.items():
        rows = [f"{row['a']} and {row['b']} ({row['rater']})" for row in result[key]]
        if rows:
            print_notes([f"{len(rows)} pairs {what}: {some_of(rows)}"])


def _print(result: dict[str, Any]) -> None:
    for table in result["tables"]:
        typer.echo(
            f"{table['file']}: {table['words']:,} words, {table['pairs']:,} pairs above 0; "
            f"{table['source']}"
        )
    for row in result["zeros"]:
        typer.echo(
            f"{row['kind']}s: of {row['pairs']:,} pairs that {row['first']} rates 0, "
            f"{row['rater']} rates {row['above']:,} above 0 ({percent(row['share'])} %)"
        )
