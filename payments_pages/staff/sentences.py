"""The sentences of our own errors in the language of who reads them.

Errors are stored and logged in English. What staff see of them is looked up here: each sentence
that our code writes is known with the places of its figures and names. What the service, the
merchant's code or the database said is nowhere in the list, and is shown as it came.
`tests/unit/staff/test_sentences.py` compares the list with the code that raises the errors.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

__all__ = ["ErrorSentence", "find_sentence", "split_class", "translate_error"]

_OF_THE_SERVICE: Final = (
    gettext_noop("The answer is about another reference."),
    gettext_noop("The answer is not HTTP."),
    gettext_noop("The answer (%(status)s) is not one of the service's envelopes."),
    gettext_noop("The answer is too large or compressed in no way we asked for."),
    gettext_noop("The connection to the service broke."),
    gettext_noop("The list in the answer is not an array."),
    gettext_noop("The listing of pages does not end after %(number)s lists."),
    gettext_noop("The request could not be sent as it is."),
    gettext_noop("The service answered with another page than the one asked for."),
    gettext_noop("The service answers %(status)s."),
    gettext_noop("The service answers with a redirect."),
    gettext_noop("The service asks for fewer calls."),
    gettext_noop("The service could not be reached."),
    gettext_noop("The service did not answer in time."),
    gettext_noop("The service did not answer within the call's time."),
    gettext_noop("The service does not know it now."),
    gettext_noop("The service refuses the request: %(words)s"),
    gettext_noop("The service refuses the secret key."),
    gettext_noop("The service's TLS handshake or certificate failed."),
    gettext_noop("The service's answer is not JSON."),
    gettext_noop("The transaction in the answer has no status."),
    gettext_noop("The transaction in the answer has no usable reference."),
    gettext_noop("The transaction in the answer is not an object."),
    gettext_noop("not asked: the service keeps failing"),
    gettext_noop("not asked: too many calls wait for the service"),
    gettext_noop("Not recorded: %(error)s"),
)
_OF_PAGES: Final = (
    gettext_noop("%(page)s costs %(amount)s, and nothing can be sold at that price."),
    gettext_noop("%(page)s has an amount that cannot be read."),
    gettext_noop("%(page)s has no integer id."),
    gettext_noop("%(page)s has no usable slug."),
    gettext_noop("%(page)s was refused by the database."),
    gettext_noop("A page in the answer is not an object."),
)
_OF_SETTINGS: Final = (
    gettext_noop("A proxy is written as http://host:port."),
    gettext_noop("%(setting)s is missing: `manage.py check` says what to write."),
    gettext_noop('%(setting)s must be "inline" or "queued".'),
    gettext_noop('%(setting)s must be "test" or "live".'),
    gettext_noop("SITE_URL is not set, so nothing says which site this is."),
    gettext_noop("%(setting)s %(path)s cannot be imported: %(error)s"),
    gettext_noop("%(setting)s %(path)s is not callable."),
    gettext_noop("The secret key could not be read: its callable raised %(error)s."),
    gettext_noop("The secret key is empty or holds characters that no header can carry."),
    gettext_noop("The service's base URL %(problem)s."),
    gettext_noop("The webhook's secrets are not texts, or not UTF-8."),
    gettext_noop("There is no CA bundle at %(path)s."),
    gettext_noop(
        "These tables belong to %(url)s, and SITE_URL is %(here)s. Nothing is asked and delivered "
        "here. If this site has replaced that one, stop that one and run payments_pages_move; if "
        "this is a copy for tests, empty its tables first."
    ),
)
_OF_DELIVERIES: Final = (
    gettext_noop('The state "delivered" was undone under the handler.'),
    gettext_noop(
        "%(doing)s inside an open transaction on %(alias)s: a rollback would undo what the payer was "
        "told. Leave the atomic() block first, or call confirm_payment_on_commit(reference) inside "
        "it. With ATOMIC_REQUESTS every view is such a block: decorate this one with "
        "@transaction.non_atomic_requests."
    ),
    gettext_noop(
        "%(doing)s with autocommit off on %(alias)s: a rollback would undo what the payer was told. "
        "Call set_autocommit(True) first, or take AUTOCOMMIT out of DATABASES."
    ),
    gettext_noop("The database has committed under the handler."),
    gettext_noop("The database has ended the transaction under the handler."),
    gettext_noop(
        "The handler gave nothing: it returned a %(type)s, which nobody runs. To deliver, write "
        "%(code)s, without async and yield; asgiref.sync.async_to_sync makes such a function of "
        "an async one. Then try the delivery again."
    ),
)
_SENTENCES: Final = (*_OF_SETTINGS, *_OF_PAGES, *_OF_DELIVERIES, *_OF_THE_SERVICE)
_PIECES: Final[Mapping[str, tuple[str, ...]]] = {
    "doing": (
        gettext_noop("A reference was sent to the workers"),
        gettext_noop("The service was called (%(call)s)"),
        gettext_noop("%(call)s was called"),
    ),
    "page": (
        gettext_noop("Page %(number)s “%(name)s”"),
        gettext_noop("Page %(number)s"),
        gettext_noop("A page “%(name)s”"),
        gettext_noop("A page"),
    ),
    "problem": (
        gettext_noop("is malformed"),
        gettext_noop("may hold no empty or dotted segment"),
        gettext_noop("may hold no user name, query or fragment"),
        gettext_noop("may hold printable ASCII only"),
        gettext_noop("must be https: plain http is for loopback only"),
        gettext_noop("must begin with https:// and a host"),
    ),
}
"""Parts of sentences that are ours, too."""
_FIGURES: Final = frozenset({"amount", "number", "status"})
_PLACE: Final = re.compile(r"%\((\w+)\)s")
_CLASS: Final = re.compile(r"([A-Z]\w*): (?=\S)", re.ASCII)
"""The name of a class before the text of its error, as errors are stored."""


@dataclass(frozen=True, slots=True)
class ErrorSentence:
    """A sentence of ours, in English, with what stands at its places.

    A part is a text of others, or a piece of a sentence, which is ours, too. `str()` of it is in
    the language that is active then.
    """

    english: str
    parts: "Mapping[str, str | ErrorSentence]" = field(default_factory=dict)

    def __str__(self) -> str:
        # Without its parts a sentence may hold a per cent sign: there is nothing to fill in then.
        return _(self.english) % self.parts if self.parts else _(self.english)


def find_sentence(text: str) -> ErrorSentence | None:
    """Return the sentence of ours that an error's text is; None if others wrote it."""
    return next(_found(text, _SENTENCES), None)


def split_class(text: str) -> tuple[str, str]:
    """Return the name of the class before a stored error, or "", and its text."""
    match = _CLASS.match(text)
    return (match[1], text[match.end() :]) if match else ("", text)


def translate_error(text: str) -> str:
    """Return an error's text in the reader's language if it is ours; otherwise as it is."""
    sentence = find_sentence(text)
    return text if sentence is None else str(sentence)


def _found(text: str, sentences: tuple[str, ...]) -> Iterator[ErrorSentence]:
    for english in sentences:
        if match := _pattern(english).fullmatch(text):
            parts = {name: _part(name, value) for name, value in match.groupdict().items()}
            yield ErrorSentence(english, parts)


def _part(name: str, value: str) -> "str | ErrorSentence":
    return next(_found(value, _PIECES.get(name, ())), value)


@lru_cache(maxsize=128)
def _pattern(english: str) -> re.Pattern[str]:
    """Return the pattern of a sentence with a group for each of its places."""
    words = _PLACE.split(english)
    pieces = [re.escape(word) for word in words]
    for at in range(1, len(words), 2):
        kind = r"-?\d+" if words[at] in _FIGURES else r".+?"
        pieces[at] = f"(?P<{words[at]}>{kind})"
    return re.compile("".join(pieces), re.DOTALL)
