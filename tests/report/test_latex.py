"""Comparisons as LaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.results import example

from diaghoi.comparison.comparison import Comparison, compare
from diaghoi.comparison.joint import JointComparison
from diaghoi.comparison.selection import selected
from diaghoi.comparison.study import Model, StudyModel
from diaghoi.oracles import ORACLES
from diaghoi.report.latex import escaped, to_latex

DOCUMENT = r"""\documentclass[10pt,twocolumn]{article}
\usepackage{booktabs}
\begin{document}
%s
\end{document}
"""
NASTY = r"a_b & 100% of #1, $5 {x} ~ ^ \ <b> |c| -- [d] * " + '"e" Δ − – … é ß Ł ŕ e\u0301'


def comparison(*labels: str, stages: str = "", backbone: str = "", **changes: Any) -> Comparison:
    words = {"1": "one", "2": "two", "-": ""}
    models, results = [], []
    for number, label in enumerate(labels):
        stage = words[stages[number]] if stages else ""
        models.append(Model(label=label, file=Path("x"), stage=stage, backbone=backbone))
        result = example() | changes
        result["map"] = {"full": 0.3 + number / 100, "rare": None, "non_rare": 0.2}
        results.append(result)
    return compare(*results, models=models)


def table_of(text: str, label: str) -> str:
    """Cut one table out."""
    found = re.search(rf"\\begin{{(table\*?)}}(?:(?!\\end).)*{{{label}}}.*?\\end{{\1}}", text, re.S)
    assert found is not None
    return found[0]


MAP = r"""\begin{table*}[t]
\centering
\setlength{\abovecaptionskip}{0pt}\setlength{\belowcaptionskip}{4pt}
\caption{CAPTION}
\label{tab:diaghoi-map}
\footnotesize
\setlength{\tabcolsep}{4pt}
\begin{tabular}{@{}llrrrrrr@{}}
\toprule
 &  & \multicolumn{3}{c}{mAP} & \multicolumn{3}{c}{Mean of the highest recalls} \\
\cmidrule(lr){3-5} \cmidrule(lr){6-8}
Model & Backbone & Full & Rare & Non-rare & Full & Rare & Non-rare \\
\midrule
QPIC & R50 & 30.00 & -- & \textbf{20.00} & \textbf{80.00} & -- & \textbf{80.00} \\
\midrule
\multicolumn{8}{@{}l}{\emph{Two-stage}} \\
UPT & R50 & 31.00 & -- & \textbf{20.00} & \textbf{80.00} & -- & \textbf{80.00} \\
SCG & R50 & \textbf{32.00} & -- & \textbf{20.00} & \textbf{80.00} & -- & \textbf{80.00} \\
\emph{Mean} &  & 31.50 & -- & 20.00 & 80.00 & -- & 80.00 \\
\midrule
\emph{Difference} &  & +1.50 & -- & 0.00 & 0.00 & -- & 0.00 \\
\bottomrule
\end{tabular}
\end{table*}"""


def test_a_table_in_latex() -> None:
    text = to_latex(comparison("QPIC", "UPT", "SCG", stages="122", backbone="R50"))
    caption = (
        r"mAP under hico-det-520, \% (HICO-DET, 1,234 images, protocol hico-det-520). "
        "Means of AP and of the highest recall over the classes of the protocol. One-stage: QPIC. "
        "Difference: two-stage minus one-stage, before rounding. Bold: best of its column."
    )
    assert table_of(text, "tab:diaghoi-map") == MAP.replace("CAPTION", caption)


def test_differences_have_the_minus_of_mathematics() -> None:
    table = table_of(to_latex(comparison("a")), "tab:diaghoi-delta-map-full")
    assert "a & $-$0.12 & 0.00 & 0.00 & +5.00 &" in table


def test_titles_of_two_words_stand_on_two_lines() -> None:
    lines = table_of(to_latex(comparison("a")), "tab:diaghoi-delta-map-full").splitlines()
    head = lines[lines.index(r"\toprule") + 1 :][:2]
    assert head == [
        r" & Human & Object & Both &  &  &  &  & False & False \\",
        r"Model & box & box & boxes & Association & Action & Duplicate & Missed & positive & "
        r"negative \\",
    ]


def test_tables_say_how_they_were_made() -> None:
    text = to_latex(comparison("a", notes=["about 日"]))
    comments = [line for line in text.splitlines() if line.startswith("%")]
    # Behind the tables: nobody who pastes a table has to cut them off.
    assert text.startswith(r"\begin{table")
    assert text.index("% diaghoi ") > text.rindex(r"\end{table")
    assert comments[0].startswith("% diaghoi ")
    assert "IoU >= 0.5" in comments[1]
    assert comments[2:] == ["% Note: about 日", r"% Needs \usepackage{booktabs}."]


def test_narrow_tables_take_one_column_and_wide_ones_both() -> None:
    text = to_latex(comparison("QPIC", "UPT"))
    assert table_of(text, "tab:diaghoi-negatives-actions").startswith(r"\begin{table}[t]")
    assert table_of(text, "tab:diaghoi-errors").startswith(r"\begin{table*}[t]")


def test_labels_of_tables_are_safe() -> None:
    result = example()
    name = r"my_group {x} \é"
    for part in (result["map"], result["max_recall"]):
        part[name] = 0.1
    for outcome in result["oracles"].values():
        outcome["delta_map"][name] = 0.1
    text = to_latex(compare(result, models=[Model(label="a", file=Path("x"))]))
    labels = re.findall(r"\\label{(.*)}", text)
    assert "tab:diaghoi-delta-map-my-group-x-" in labels
    assert len(set(labels)) == len(labels) == 10


def test_caveats_stand_in_every_caption() -> None:
    models = [Model(label=label, file=Path("x")) for label in ("a_1", "b")]
    results = [example(), example()]
    results[1]["counts"] = results[1]["counts"] | {"images": 7}
    text = to_latex(compare(*results, models=models))
    captions = re.findall(r"\\caption{(.*)}\n", text)
    caveat = r"Caution: images differ (a\_1: 1,234; b: 7)."
    assert len(captions) == 9
    assert all(caption.endswith(caveat) for caption in captions)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a_b & 5% #1 $x {y}", r"a\_b \& 5\% \#1 \$x \{y\}"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("<a|b>", "$<$a$|$b$>$"),
        ("ΔmAP −1.0 – p < 0.05 †‡", r"$\Delta$mAP $-$1.0 -- p $<$ 0.05 \dag{}\ddag{}"),
        ("Moiré, e\u0301", r"Moir\'{e}, \'{e}"),
        ("ßŁŕ αβΩ 日本 ≥", "ßŁŕ αβΩ 日本 ≥"),
        (" a\tb\n\nc\u00a0d", "a b c d"),
        ("plain (text) - 1/2", "plain (text) - 1/2"),
    ],
)
def test_escaping(text: str, written: str) -> None:
    assert escaped(text) == written


@pytest.mark.parametrize("label", ["[GEN-VLKT]", "*"])
def test_labels_are_not_read_as_arguments(label: str) -> None:
    table = table_of(to_latex(comparison("a", label)), "tab:diaghoi-map")
    assert f"\n{{}}{label} & " in table


def compiled(folder: Path, body: str) -> str:
    """Compile a document; return its log, in one line for each message."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    (folder / "paper.tex").write_text(DOCUMENT % body, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    return (folder / "paper.log").read_text(errors="replace")


@pytest.mark.slow
@pytest.mark.parametrize("models", [1, 3, 12])
def test_tables_compile_and_fit_their_columns(tmp_path: Path, models: int) -> None:
    labels = ["QPIC", NASTY, "[GEN-VLKT]", *(f"Detector_{n}" for n in range(9))][:models]
    stages = "12-"[:models] if models < 12 else "12-" * 4
    (tmp_path / "tables.tex").write_text(
        to_latex(comparison(*labels, stages=stages, backbone="ResNet-101_FPN")), encoding="utf-8"
    )
    log = compiled(tmp_path, r"\input{tables.tex}")
    assert "Overfull" not in log
    assert "multiply defined" not in log


def test_the_widest_tables_fit(tmp_path: Path) -> None:
    """Counts in the millions, a long label, a long backbone, and five errors of the user's own."""
    result = example("x")
    result["counts"] |= {"predicted_triplets": 99_999_999, "annotated_triplets": 9_999_999}
    result["errors"] = {name: 10_000_000 + n for n, name in enumerate(result["errors"])}
    models = [
        Model(label="A detector of which the name is long", file=Path("x"), backbone=b)
        for b in ("A backbone with a long name too",)
    ]
    (tmp_path / "tables.tex").write_text(to_latex(compare(result, models=models)))
    assert "Overfull" not in compiled(tmp_path, r"\input{tables.tex}")


LABELS = [
    ["QPIC", "UPT-R50", "GEN-VLKT", "two_stage"],
    ["A detector of which the name is long", "upt_resnet50_hico_finetuned_v2", NASTY],
]


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("loss", [0.0312, 0.1789])
def test_the_compact_table_fits_one_column(tmp_path: Path, labels: list[str], loss: float) -> None:
    result = example()["oracles"]
    oracles = {name: each | {"delta_map": {"full": loss}} for name, each in result.items()}
    text = to_latex(selected(comparison(*labels, backbone="R50", oracles=oracles), ["compact"]))
    assert r"\begin{table}[t]" in text
    (tmp_path / "tables.tex").write_text(text, encoding="utf-8")
    assert "Overfull" not in compiled(tmp_path, r"\input{tables.tex}")


def test_the_compact_table_in_latex() -> None:
    text = to_latex(selected(comparison("QPIC", "UPT", stages="12", backbone="R50"), ["compact"]))
    assert text.count(r"\begin{tabular}") == 1
    assert r"\footnotesize" in text
    assert "\nModel & mAP & Hum & Obj & Both & Asc & Act & Dup & Miss \\\\\n" in text
    assert "\nUPT & \\textbf{31.00} & \\textbf{$-$0.12} & " in text


@pytest.mark.parametrize("more", [{}, {"venue": "ICCV 2021", "detector": "Deformable DETR"}])
def test_tables_2_and_3_of_the_paper_compile_in_its_layout(tmp_path: Path, more) -> None:
    names = {
        "SCG": "two",
        "UPT": "two",
        NASTY: "two",
        "CDN": "one",
        "A long name of a model": "one",
    }
    models = [
        StudyModel(label=label, stage=stage, backbone="ResNet-50", **more)
        for label, stage in names.items()
    ]
    parts = [
        compare(*[example() | {"dataset": name} for _ in of], models=of)
        for name, of in (("hico-det", models), ("v-coco", models[:-1]))
    ]
    asked = ["pairs-by-data-set", "negatives-actions-by-data-set"]
    text = to_latex(selected(JointComparison(parts=tuple(parts)), asked))
    pairs = table_of(text, "tab:diaghoi-pairs-by-data-set")
    head = r"HICO-DET} & \multicolumn{4}{c}{V-COCO} \\"
    assert pairs.count(r"\begin{tabular}") == 1
    assert head in pairs
    assert pairs.count("One-stage &") == pairs.count("Two-stage &") == 1
    assert pairs.count("& -- & -- & -- & --") == 1
    assert r"{c}{HICO-DET} & \multicolumn{2}{c}{V-COCO} \\" in text
    (tmp_path / "tables.tex").write_text(text, encoding="utf-8")
    assert "Overfull" not in compiled(tmp_path, r"\input{tables.tex}")


def test_each_table_stands_alone(tmp_path: Path) -> None:
    text = to_latex(comparison("a", "b", stages="12"))
    keys = ["official", "map", "delta-map-full", "delta-map-rare", "delta-map-non-rare"]
    for key in (*keys, "errors", "error-shares", "pairs", "negatives-actions"):
        table = table_of(text, f"tab:diaghoi-{key}")
        assert table.count(r"\begin{table") == 1
        assert r"\caption{" in table
    compiled(tmp_path, table_of(text, "tab:diaghoi-pairs"))


def test_latin_letters_and_our_own_signs_compile(tmp_path: Path) -> None:
    # Without the four of Icelandic, which the default encoding of fonts has not.
    latin = {chr(code) for code in range(0xC0, 0x100)} - {*"ÐÞðþ"}
    letters = [*map(chr, range(32, 127)), *sorted(latin), *"Δ−–†‡→…"]
    lines = (rf"x{escaped(letter)}x \\" for letter in letters)
    compiled(tmp_path, "\n".join(lines))


def test_the_titles_of_all_oracles_stand_in_latex() -> None:
    text = table_of(to_latex(comparison("a")), "tab:diaghoi-delta-map-full")
    for oracle in ORACLES.values():
        assert all(word in text for word in oracle.title.split())
