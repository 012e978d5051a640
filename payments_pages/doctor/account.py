"""Examinations of the account at the service: key, mode, addresses, pages, slugs.

The service is only asked to list and to check: nothing changes there.
"""

from typing import Final

from django.utils.functional import cached_property

from payments_pages.client import PageResource, get_client, visit
from payments_pages.conf import conf
from payments_pages.counts import counted
from payments_pages.doctor.findings import Finding, right, unknown, warning, wrong
from payments_pages.exceptions import (
    AuthenticationFailed,
    ConfigurationError,
    NotAsked,
    RateLimited,
    RequestRefused,
    ServiceError,
    UnusableKey,
)
from payments_pages.models import PaymentPage
from payments_pages.pages import SyncReport, make_slug, slug_url, sync_pages

__all__ = ["Account"]

_AFTER_THE_LIST: Final = "Mend what the lines base_url and key say first."
_ONLY_FOR_BROWSERS: Final = frozenset({401, 403, 429})
"""Statuses with which a service may refuse a program and let a browser in."""


class Account:
    """The account at the service, as this site's settings reach it.

    The first list of its pages is read once; most lines are read off its answer.
    """

    @cached_property
    def _answer(self) -> tuple[tuple[PageResource, ...], ServiceError | ConfigurationError | None]:
        """Return the pages on the first list, and the error in place of them."""
        try:
            return tuple(get_client().list_pages().items), None
        except (ServiceError, ConfigurationError) as error:
            return (), error

    def base_url(self) -> Finding:
        """Say whether the service's API answers at `BASE_URL`."""
        _pages, error = self._answer
        advice = (
            "Set SERVICE, or BASE_URL to the address of the API in the service's documentation; "
            "if it is right, see whether this machine may connect to it (PROXY, CA_BUNDLE)."
        )
        match error:
            case None | AuthenticationFailed() | RequestRefused():
                return right(f"The service's API answers at {conf.base_url}.")
            case NotAsked():
                return unknown(f"The service was not asked: {error}", "See the line key.")
            case RateLimited():
                return unknown(str(error), "Run the doctor again in some minutes.")
            case ConfigurationError():
                return wrong(str(error), advice)
            case _:
                return wrong(f"{conf.base_url} does not answer as the API: {error}", advice)

    def key(self) -> Finding:
        """Say whether the service accepts the secret key."""
        _pages, error = self._answer
        advice = (
            "Set SECRET_KEY to the secret key that the service's dashboard shows for this account "
            "and mode, and restart every process of the site."
        )
        match error:
            case None:
                return right("The service accepts the secret key.")
            case AuthenticationFailed():
                return wrong(f"The service refuses the secret key ({error.status}).", advice)
            case RequestRefused():
                return wrong(f"{error}; some services say so to a wrong key.", advice)
            case UnusableKey():
                return wrong(
                    str(error), "Set SECRET_KEY to the secret key, or mend the callable it names."
                )
            case _:
                return unknown(
                    "The service gave no answer that says whether it accepts the key.",
                    "See the line base_url.",
                )

    def mode(self) -> Finding:
        """Say whether `MODE`, the key's prefix and the service's pages agree: test or live."""
        mode, of_key = conf.mode, conf.mode_of_key
        pages, _error = self._answer
        listed = {page.domain for page in pages if page.domain}
        if of_key not in {None, mode}:
            return wrong(
                f"MODE is {mode}, and the secret key is of {of_key} mode.",
                f'Set the {mode} key, or "MODE": "{of_key}".',
            )
        if listed - {mode}:
            return wrong(
                f"MODE is {mode}, and the pages that the service lists for this key are of "
                f"{', '.join(sorted(listed))} mode.",
                "Set MODE to the mode of the key, or set the key of this mode.",
            )
        if of_key is None and not listed:
            return unknown(
                f"MODE is {mode}; neither the key's prefix nor a page at the service says so.",
                "Compare MODE with the service's dashboard, or make a page and look again.",
            )
        said = "the service's pages say" if listed else "the key's prefix says"
        return right(f"The mode is {mode}, and {said} so, too.")

    def pay_url(self) -> Finding:
        """Say whether an active page of the service can be opened below `PAY_URL`."""
        pages, error = self._answer
        if error is not None:
            return unknown("No page is known to look at.", _AFTER_THE_LIST)
        slug = next((page.slug for page in pages if page.active), "")
        if not slug:
            return unknown(
                "None of the service's newest pages is active.", "Make a page, and look again."
            )
        url = slug_url(slug)
        advice = "Set SERVICE, or PAY_URL to the address below which the service shows pages."
        try:
            found = visit(
                url, follow=True, limits=conf.limits, proxy=conf.proxy, ca_bundle=conf.ca_bundle
            )
        except ServiceError as failure:
            return wrong(f"Payers cannot open {url}: {failure}", advice)
        if 200 <= found.status < 300:
            return right(f"Payers can open {url}.")
        if found.status in _ONLY_FOR_BROWSERS:
            return unknown(f"{url} answers {found.status} to a program.", "Open it in a browser.")
        return wrong(f"{url} answers {found.status}, although the page is active.", advice)

    def pages(self) -> Finding:
        """Compare the service's list of pages with the mirror; nothing is written."""
        _pages, error = self._answer
        if error is not None:
            return unknown("The service's pages could not be listed.", _AFTER_THE_LIST)
        try:
            report = sync_pages(dry_run=True)
        except ServiceError as failure:
            return wrong(
                f"The list of pages broke off: {failure}",
                "Run payments_pages_sync; if it breaks off as well, ask the service.",
            )
        late = _told(
            (report.added, "not mirrored yet"),
            (report.drifted, "no longer as last set here"),
            (report.moved, "found under another slug now"),
            (report.missing, "no longer listed by the service"),
        )
        if late:
            return wrong(
                f"Of {counted(report.seen, 'page')} at the service and those mirrored here, {late}.",
                "Run payments_pages_sync, and do so daily; then decide in the admin about what "
                "was changed.",
            )
        return _undecided(report)

    def slug_check(self) -> Finding:
        """Say whether the service's slug check tells a free slug from a taken one."""
        pages, error = self._answer
        if error is not None:
            return unknown("The service was not asked about a slug.", _AFTER_THE_LIST)
        client, taken = get_client(), next((page.slug for page in pages if page.active), "")
        try:
            says_free = client.check_slug(make_slug())
            says_taken = not taken or not client.check_slug(taken)
        except ServiceError as failure:
            return wrong(
                f"The slug check gave no answer: {failure}",
                "Pages cannot be made until it answers: ask the service.",
            )
        if says_free and says_taken:
            about = " from a taken one" if taken else ""
            return right(f"The slug check tells a free slug{about}.")
        seen = "calls a taken slug free" if says_free else "calls a random slug taken"
        return wrong(
            f"The slug check {seen}.",
            "Pages cannot be made safely: compare the path of the slug check with the service's "
            "documentation, and ask the service.",
        )


def _undecided(report: SyncReport) -> Finding:
    drifted = PaymentPage.objects.primary().filter(domain=conf.mode).exclude(drift={}).count()
    left = _told(
        (drifted, "not as last set here"),
        (report.skipped, "listed in a way that cannot be read"),
        (len(report.unfinished), "not confirmed by the service since it was made here"),
    )
    pages = counted(report.seen, "page")
    if left:
        return warning(
            f"The mirror has the service's {pages}; {left}.",
            "Decide about them in the admin, in the list of payment pages.",
        )
    return right(f"The mirror has the service's {pages}, as last set here.")


def _told(*counts: tuple[int, str]) -> str:
    return ", ".join(
        f"{count} {'is' if count == 1 else 'are'} {what}" for count, what in counts if count
    )
