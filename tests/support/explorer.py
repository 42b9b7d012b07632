"""The data that a page explores, unpacked as its script does."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any


def page_data_of(page: str) -> dict[str, Any]:
    """Return the data of a page, given its text."""
    found = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', page)
    assert found is not None
    return dict(json.loads(zlib.decompress(base64.b64decode(found[1]))))
