"""Patterns for parsing model replies: announcements of an answer, denials and refusals."""

from __future__ import annotations

import re

from diaghoi.language.words import word_set

# Markdown and invisible characters become spaces, and curly quotes become straight quotes.
PLAINER = {ord(sign): " " for sign in "*`~#$_\u00a0\u200b\u200c\u200d\ufeff"} | {
    ord("’"): "'",
    ord("‘"): "'",
    ord("“"): '"',
    ord("”"): '"',
}
COMMANDS = re.compile(r"\\[A-Za-z]+|[{}]|</?[A-Za-z|/]{1,20}>")

TAG = re.compile(r"<(?:final ?)?answers?>", re.IGNORECASE)
TAG_END = re.compile(r"</?(?:final ?)?answers?>", re.IGNORECASE)

TOKEN = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?|\d+|[^\W\d_A-Za-z]")
RANGE = re.compile(r"\b([A-Z]) (?:to|through|thru) ([A-Z])\b")
ARTICLE = re.compile(
    r"\bA (?=(?:correct|right|possible|valid|good|best|final|single|reasonable)\b)"
)
# Words that may accompany the letters in a reply that otherwise has only letters.
AROUND = word_set(
    "and or answer answers answer's option options choice choices letter letters is are the these "
    "this those that correct right best final my i i'd i'll would will be choose select selected "
    "pick picked think believe say only just both also so therefore thus hence it it's its "
    "selection response reply following apply applies them of above please here there as follows "
    "to in for image picture question ok okay sure most likely well should must be assistant "
    "except but everything plus with my given based on "
    "json null string list"
) | frozenset("答案选项择是为和与及或、的正确")
NOTHING = word_set("none nothing neither nor nil n a/n na no zero empty 无")
NOTHING_SIGNS = ("[]", "{}", "()", "∅", "/")
NOT_APPLICABLE = re.compile(r"\W*n/a\W*", re.IGNORECASE)
# Words and signs that judge each option instead of choosing some: "A ✓ B ✗".
VERDICTS = frozenset(("yes", "true"))
VERDICT_SIGNS = re.compile(r"[✓✔✅☑❌✗✘×]")

MARKED = re.compile(r"\W*[A-Z]\s?[).:\]\-–]")
LETTER = re.compile(r"(?<![A-Za-z0-9])(?<![A-Za-z]')([A-Z])(?![A-Za-z0-9]|'[a-z]|-[A-Za-z]{2})")
BETWEEN = re.compile(
    r"[\s,;/&+|()\[\]\"':、，和与及-]{0,8}"
    r"(?:(?:and|or|as well as|plus|also|then)\b[\s,()\[\]\"']{0,4})?"
    r"(?:(?:option|choice|answer)s?\b[\s()\[\]\"']{0,4})?",
    re.IGNORECASE,
)
CLAUSE = re.compile(r"[.;!?\n]|\b(?:but|while|whereas|however|although)\b", re.IGNORECASE)
CLAUSE_OR_COMMA = re.compile(r"[.;!?\n,]|\b(?:but|while|whereas|however|although)\b", re.IGNORECASE)
OTHER_LETTERS = re.compile(r"\b(?:person|people|vitamin|figure|team|group) $", re.IGNORECASE)
OPTION_BEFORE = re.compile(r"(?:\b(?:option|choice|letter)s? ?[\"']?|[(\[\"'])$", re.IGNORECASE)
WORD_AFTER = re.compile(r"\s+([a-z']+)")
AFTER_LETTER = word_set(
    "and or is are was were because since as would should seems seem looks describes describe "
    "applies apply fits matches match does do can cannot can't isn't aren't doesn't only both "
    "correctly best accurately but while here alone"
)

_NAMED = r"(?:options?|choices?|answers?|ones?|letters?|statements?|descriptions?|interactions?)"
_RIGHT = r"(?:correct|right|best|true|appropriate|accurate|applicable|valid|matching)"
ANNOUNCED = re.compile(
    rf"(?:\banswers?|\bconclusion|\btherefore|\bthus|\bhence|\bso|\bselect(?:ing|ed)?"
    rf"|\bchoos(?:e|ing)|\bpick(?:ing)?|\bchosen|\b{_RIGHT}(?: \w+)? {_NAMED}|\b{_RIGHT}:"
    rf"|\b{_NAMED} (?:is|are)(?= *:?[ \"'(\[]*$)|答案|选择?|\bfinal(?: \w+)?:)"
    r"\W{0,12}(?:(?:is|are|be|would|should|must|include|includes|was|were|as|with|both|only|to|the"
    r"|likely|options?|choices?|letters?|answers?|image|for|in|this|question|that|i|we|pick|choose"
    r"|select|correct|follows|为|是)\W{1,6}){0,8}\W{0,8}$",
    re.IGNORECASE,
)
_DENIAL = (
    r"(?:not|never|incorrect|wrong|false|neither|nor|except|excluding|exclude|without|unlike|cannot"
    r"|rul(?:e|ed|ing) out|eliminat(?:e|ed|ing)|reject(?:ed|ing)?|inaccurate|invalid|irrelevant"
    r"|\w{2,9}n't)"
)
DENIED_BEFORE = re.compile(rf"(?:\b{_DENIAL}\b|[❌✗✘×])[^.;\n]{{0,40}}$", re.IGNORECASE)
DENIED_AFTER = re.compile(
    rf"\W{{0,8}}(?:[\w']+\W{{1,3}}){{0,4}}?(?:\b(?:no|{_DENIAL[3:-1]}|unlikely|excluded)\b|[❌✗✘×])",
    re.IGNORECASE,
)
NONE = re.compile(
    r"\bnone of (?:the|these|them|those|above|all)\b"
    r"|\bnone (?:apply|applies|is|are|match|matches|fits?)\b"
    r"|\bno (?:correct|valid|right|suitable|applicable|matching) (?:answers?|options?|choices?)\b",
    re.IGNORECASE,
)
ALL = re.compile(
    r"(?<!not )\ball (?:of )?(?:the )?(?:above|(?:four )?(?:options|choices))\b", re.IGNORECASE
)
REFUSAL = re.compile(
    r"\bsorry\b|\bapologi[sz]e\b|\bunable to\b|\bas an ai\b|\bnot able to\b"
    r"|\b(?:can't|cannot|can not|could not|couldn't|won't) (?:\w+ ){0,2}?"
    r"(?:determine|assist|help|identify|answer|provide|see|view|tell|process|analy[sz]e|comply"
    r"|access|make|say|be determined)\b"
    r"|\b(?:don't|do not) (?:know|have (?:enough|access))\b",
    re.IGNORECASE,
)
