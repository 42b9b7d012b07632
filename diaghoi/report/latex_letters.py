r"""Text as LaTeX sets it, without packages that a paper may not have."""

from __future__ import annotations

import re
import unicodedata

# What is left of a letter that LaTeX cannot set without further packages.
UNKNOWN = "?"
SPECIAL = {
    **{letter: f"\\{letter}" for letter in "_%&#${}"},
    **{letter: f"${letter}$" for letter in "<>|"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    '"': "''",
    # At the start of a row these would be read as arguments of the end of the row before.
    "[": "{[}",
    "*": "{*}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    # An invisible letter that keeps two others apart.
    "\u2060": "{}",
    "…": r"\ldots{}",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "×": r"$\times$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "→": r"$\rightarrow$",
    "∞": r"$\infty$",
    "°": r"$^\circ$",
    "µ": r"$\mu$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
}
ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0323": "d",
    "\u0327": "c",
    "\u0331": "b",
}
# Names of Greek letters, as in commands; the second have no command for the capital, which looks
# like the Latin letter.
GREEK_NAME = re.compile("GREEK (?P<case>CAPITAL|SMALL) LETTER (?P<name>[A-Z]+)")
GREEK = {
    *("GAMMA", "DELTA", "THETA", "LAMBDA", "XI", "PI", "SIGMA", "UPSILON", "PHI", "PSI", "OMEGA")
}
GREEK_AS_LATIN = {
    "ALPHA": "A",
    "BETA": "B",
    "EPSILON": "E",
    "ZETA": "Z",
    "ETA": "H",
    "IOTA": "I",
    "KAPPA": "K",
    "MU": "M",
    "NU": "N",
    "OMICRON": "O",
    "RHO": "P",
    "TAU": "T",
    "CHI": "X",
}


def escaped(text: str) -> str:
    """Write text so that LaTeX sets it as it is; ``?`` for letters that it has not."""
    # Two hyphens would be set as a dash.
    letters = re.sub("-(?=-)", "-\u2060", unicodedata.normalize("NFC", text))
    return "".join(map(_letter, letters))


def unknown_letters(text: str) -> str:
    """Return the letters of a text that LaTeX cannot set, each once."""
    letters = unicodedata.normalize("NFC", text)
    return "".join(dict.fromkeys(each for each in letters if _letter(each) == UNKNOWN != each))


def _letter(letter: str) -> str:
    if letter in SPECIAL:
        return SPECIAL[letter]
    if letter.isspace() or letter == "\u200b":
        return " "
    if letter.isascii():
        return letter if letter.isprintable() else UNKNOWN
    greek = GREEK_NAME.fullmatch(unicodedata.name(letter, ""))
    if greek is not None:
        return _greek(greek["case"] == "CAPITAL", greek["name"].replace("LAMDA", "LAMBDA"))
    base, *marks = list(unicodedata.normalize("NFD", letter))
    if len(marks) == 1 and marks[0] in ACCENTS and base.isascii():
        return f"\\{ACCENTS[marks[0]]}{{{base}}}"
    return UNKNOWN


def _greek(capital: bool, name: str) -> str:
    if name not in GREEK and name not in GREEK_AS_LATIN:
        return UNKNOWN
    if name == "OMICRON" or (capital and name in GREEK_AS_LATIN):
        return GREEK_AS_LATIN[name] if capital else "o"
    return f"$\\{name.capitalize() if capital else name.lower()}$"
