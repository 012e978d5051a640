"""Check the message catalogues against the source, against themselves and against their .mo.

Needs GNU gettext, and polib from the group `test`. Brought up to date, where something is found:
`django-admin makemessages --all --no-location --no-obsolete` in the folder that has the `locale`,
then translate, then `django-admin compilemessages`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polib

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("payments_pages", "example_project")
TOOLS = ("xgettext", "msguniq", "msgfmt", "msgunfmt")
# They travel into copies and searches; `<bdi>` does their work in the templates.
BIDI_CONTROLS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)

SAY_THEIR_NUMBER = {"ar": (1, 2), "he": (0, 1)}
"""The plural forms for one and two, which the languages say without a figure."""
FIGURES = ("%(count)", "%(counter)", "{count}")


def faults(po: Path, pot: Path, scratch: Path) -> Iterator[str]:
    """Yield what is wrong with one catalogue, in words. `pot` holds the source's strings."""
    fresh, flagged = scratch / "fresh.mo", scratch / "flagged.po"
    if error := _error("msgfmt", "--check", f"--output-file={fresh}", po):
        yield error
        return
    catalogue, source = polib.pofile(str(po)), polib.pofile(str(pot))
    yield from _incomplete(catalogue, source)
    yield from _counted_twice(po, catalogue)
    # The source says which strings have placeholders, whatever the catalogue says; and GNU
    # gettext knows which plural form stands for one number only, and may leave it out.
    flags = {_key(entry): entry.flags for entry in source}
    for entry in catalogue:
        entry.flags = flags.get(_key(entry), entry.flags)
    catalogue.save(str(flagged))
    if error := _error("msgfmt", "--check-format", f"--output-file={os.devnull}", flagged):
        yield error
    compiled = po.with_suffix(".mo")
    if not compiled.exists():
        yield f"{compiled.name} is missing: run compilemessages"
    elif _run("msgunfmt", compiled).stdout != _run("msgunfmt", fresh).stdout:
        yield f"{compiled.name} is not what {po.name} says: run compilemessages"


def _incomplete(catalogue: polib.POFile, source: polib.POFile) -> Iterator[str]:
    current = [entry for entry in catalogue if not entry.obsolete]
    here, there = {_key(entry) for entry in current}, {_key(entry) for entry in source}
    found = {
        "missing": [key[1] for key in there - here],
        "not in the source": [key[1] for key in here - there],
        "obsolete": [entry.msgid for entry in catalogue.obsolete_entries()],
        "fuzzy": [entry.msgid for entry in current if entry.fuzzy],
        "not translated": [e.msgid for e in current if not e.fuzzy and not e.translated()],
        "with a bidi control": [e.msgid for e in current if BIDI_CONTROLS & set(str(e))],
    }
    for fault, texts in found.items():
        yield from (f"{fault}: {text!r}" for text in sorted(texts))


def _counted_twice(po: Path, catalogue: polib.POFile) -> Iterator[str]:
    """Yield the forms for one and two that have a figure beside the word that says the number."""
    for entry in catalogue:
        for form in SAY_THEIR_NUMBER.get(po.parent.parent.name, ()):
            text = entry.msgstr_plural.get(form, "")
            if any(figure in text for figure in FIGURES):
                yield f"a figure beside a word that says the number: {text!r}"


def _key(entry: polib.POEntry) -> tuple[str, str, str]:
    return entry.msgctxt or "", entry.msgid, entry.msgid_plural


def extract(app: Path, scratch: Path) -> Path:
    """Return a catalogue of the strings in an app's source, made in a copy of it.

    Folders in it with a `locale` of their own are left out: their strings are in there.
    """
    copy = scratch / "source"

    def left_out(folder: str, names: list[str]) -> list[str]:
        inner = Path(folder) != app and "locale" in names
        return names if inner else [name for name in names if name in {"locale", "__pycache__"}]

    shutil.copytree(app, copy, ignore=left_out)
    (copy / "locale").mkdir()
    # -P: a module of the app, such as `html.py`, does not stand for the library's.
    make = ("-P", "-m", "django", "makemessages", "--locale=en", "--keep-pot", "--no-location")
    result = _run(sys.executable, *make, folder=copy)
    if result.returncode:
        raise SystemExit(f"makemessages failed for {app.name}: {result.stderr.strip()}")
    return copy / "locale" / "django.pot"


def _error(*command: str | Path) -> str:
    """Return what a command that failed said; "" if it did not fail."""
    result = _run(*command)
    return result.stderr.strip() or f"{command[0]} failed" if result.returncode else ""


def _run(*command: str | Path, folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    # No settings: only the strings are read. LC_ALL: what the tools say comes in English.
    kept = {key: text for key, text in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    return subprocess.run(
        command,
        cwd=folder,
        env={**kept, "LC_ALL": "C"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def main() -> int:
    """Check all catalogues; return 1 if any has a fault, or if they cannot be checked."""
    if absent := [tool for tool in TOOLS if shutil.which(tool) is None]:
        print(
            f"{', '.join(absent)} missing: install GNU gettext (Debian: gettext).", file=sys.stderr
        )
        return 1
    checked, bad = 0, False
    for locale in sorted(path for name in PACKAGES for path in (ROOT / name).rglob("locale")):
        with tempfile.TemporaryDirectory() as directory:
            pot = extract(locale.parent, Path(directory))
            for po in sorted(locale.rglob("*.po")):
                checked += 1
                for fault in faults(po, pot, Path(directory)):
                    bad = True
                    print(f"{po.relative_to(ROOT)}: {fault}", file=sys.stderr)
    print(f"{checked} catalogues checked")
    return int(bad or not checked)


if __name__ == "__main__":
    sys.exit(main())
