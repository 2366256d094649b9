"""Each page of docs/ is in the navigation of the site, but for the decisions."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]


def test_navigation_of_the_site_has_each_page() -> None:
    docs = ROOT / "docs"
    pages = {str(each.relative_to(docs)) for each in docs.rglob("*.md")}
    listed = re.findall(r"(?<=: )\S+\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)

    assert sorted(listed) == sorted(each for each in pages if not each.startswith("decisions/"))
