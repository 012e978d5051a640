"""The pictures in `docs/` are those that `tests/acceptance/screenshots.py` takes.

`docs/admin.md` says which; the guides for staff in Arabic and Hebrew show the same screens in their
languages, as `tests/acceptance/test_staff_guides.py` checks.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "admin.md").read_text()
FOLDER = ROOT / "docs" / "screenshots"
SHOWN = re.findall(r"!\[([^\]]*)\]\(screenshots/([\w-]+)\.png\)", PAGE)


def chosen() -> set[str]:
    """What the script takes, read from its source: it needs a browser to be imported."""
    tree = ast.parse((ROOT / "tests" / "acceptance" / "screenshots.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CHOSEN":
            assert isinstance(node.value, ast.Call)
            return set(ast.literal_eval(node.value.args[0]))
    raise LookupError("CHOSEN")


def test_every_picture_is_taken_by_the_script_and_shown_once() -> None:
    names = [name for _alt, name in SHOWN]
    assert len(names) == len(set(names))
    wanted = {
        re.sub(r"-(?:en|ar|he)-(?=(?:light|dark)-\d+$)", f"-{language}-", name)
        for name in names
        for language in ("ar", "he")
    } | set(names)
    assert wanted == chosen() == {path.stem for path in FOLDER.glob("*.png")}


def test_every_picture_says_what_it_shows() -> None:
    assert all(len(alt) > 20 for alt, _name in SHOWN)


def test_the_pictures_are_few_and_small() -> None:
    sizes = {path.name: path.stat().st_size for path in FOLDER.glob("*.png")}
    assert len(SHOWN) <= 24
    assert sum(sizes.values()) < 2_000_000
    assert {name: size for name, size in sizes.items() if size > 60_000} == {}
