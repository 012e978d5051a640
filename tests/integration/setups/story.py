"""The one story: what payers and staff do on every site, step by step, over HTTP alone."""

import csv
import io
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin, urlsplit

import requests

from tests.integration.setups.browser import Browser, Page, words_of
from tests.integration.setups.crawl import crawl
from tests.integration.setups.project.prepare import PASSWORD
from tests.integration.setups.project.shop import PRICE
from tests.integration.setups.site import Site
from tests.support.headings import HEADINGS

__all__ = ["STEPS", "Story"]

SLUG: Final = "tea-box"
OTHERS: Final = 120
"""Pages that were made at the service: a sync takes a hundred in one step."""


class Story:
    """One telling. Each step is a method; later steps need what earlier ones left behind."""

    def __init__(self, site: Site) -> None:
        self.site, self.sandbox = site, site.sandbox
        self.setup = site.setup
        self.staff = Browser(self.setup.staff_language)
        self.callback = self.result = self.paid = self.held = self.held_result = ""

    def front_page(self) -> None:
        """The site's own front page is as this set-up makes it: the set-up is what it says."""
        first, second = (
            Browser("en").get(self.site.address(self.setup.shop), follow=False)
            for _time in range(2)
        )
        assert first.status_code == second.status_code == self.setup.front, first.text
        if first.status_code == 200:
            assert (first.text == second.text) == self.setup.cached

    # What staff do

    def sign_in(self) -> None:
        """Staff log in by the admin's form."""
        form = self.staff.get(self.site.admin)
        assert form.status_code == 200, form.text
        index = self.staff.press(form, {"username": self.setup.login, "password": PASSWORD})
        assert urlsplit(index.url).path == urlsplit(self.site.admin).path, index.text
        assert "payments_pages" in index.text

    def make_page(self) -> None:
        """Staff make a page; nothing is odd about it but that it is a test page."""
        form = self.staff.get(f"{self._app}paymentpage/add/")
        values = {"name": "Tea box", "amount": "120.50", "slug": SLUG}
        shown = self.staff.press(form, values)
        assert shown.status_code == 200, shown.text
        change = next(
            link
            for link in Page(shown.text).links
            if re.search(r"/paymentpage/[\d]+/change/", link)
        )
        opened = self.staff.get(urljoin(shown.url, change)).text
        assert opened.count('class="pp-notice"') == 1, opened

    def make_page_in_code(self) -> None:
        """Where the admin has no pages, the site's own code makes one."""
        answer = Browser().post(self.site.address(f"{self.setup.shop}offer/"), json={"slug": SLUG})
        assert answer.status_code == 200, answer.text

    def look_around(self) -> None:
        """Every page of ours in the admin opens, and leads nowhere but into the same admin."""
        seen = crawl(self.staff, self.site.address(self.setup.admin), self.setup.policy)
        assert any("/approve/" in path for path in seen) or "approve" in self.setup.without, seen

    def approve(self) -> None:
        """Staff tick what is held and approve it by the action of the list; the payer reads so."""
        listed = self.staff.get(f"{self._app}transaction/?held=decision")
        (key,) = set(re.findall(r'name="_selected_action" value="([^"]+)"', listed.text))
        asked = self.staff.submit(
            listed, {"action": "approve_held", "_selected_action": key}, ("index", "0")
        )
        assert asked.status_code == 200, asked.text
        told = self.staff.press(asked, {"note": "agreed by telephone"})
        assert told.status_code == 200, told.text
        assert self.site.given(self.held) == 1
        assert words_of(Browser("en").get(self.held_result)) == HEADINGS[self._english]["paid"]

    def search(self) -> None:
        """Staff find a payment by its reference, and one that the service has not told us of."""
        found = self.staff.get(f"{self._app}transaction/?q={self.paid}")
        key = re.search(r"/transaction/(\d+)/change/$", found.url)
        assert key is not None, found.text
        assert int(key[1]) >= self.setup.first_key
        assert self.paid in found.text
        open_order = self._order()
        found = self.staff.get(f"{self._app}transaction/?q={open_order}")
        assert found.status_code == 200
        is_shown = re.search(r"/verification/\d+/change/$", found.url) is not None
        assert is_shown == ("verifications" not in self.setup.without), found.url

    def export(self) -> None:
        """Staff download the payments as CSV."""
        listed = self.staff.get(f"{self._app}transaction/")
        address = next(link for link in Page(listed.text).links if "/export/" in link)
        token = self._token(listed)
        answer = self.staff.post(
            urljoin(listed.url, address),
            data={"csrfmiddlewaretoken": token},
            headers={"Referer": listed.url},
        )
        assert answer.status_code == 200, answer.text
        rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
        assert {self.paid, self.held} <= {row["reference"] for row in rows}, rows

    def sync(self) -> None:
        """Staff mirror the service's pages by the button, with scripts and without."""
        for number in range(OTHERS):
            self.sandbox.add_page(name=f"Page {number}", amount=20000 + number)
        listed = self.staff.get(f"{self._app}paymentpage/")
        address = next(link for link in Page(listed.text).links if link.endswith("/sync/"))
        self._sync_with_scripts(listed, urljoin(listed.url, address))
        between = self.staff.post(
            urljoin(listed.url, address),
            data={"csrfmiddlewaretoken": self._token(listed)},
            headers={"Referer": listed.url},
        )
        assert between.status_code == 200, between.text
        finished = self.staff.press(between, {"token": self._field(between, "token")})
        assert finished.url.endswith("/paymentpage/"), finished.url
        assert finished.text.count('name="_selected_action"') == 100
        assert finished.text.count('class="success"') == 1, finished.text

    def sync_by_command(self) -> None:
        """Where the admin has no pages, a command mirrors them."""
        self.sandbox.add_page(name="Another", amount=20000)
        assert "1 added" in self.site.manage("payments_pages_sync")

    def _sync_with_scripts(self, listed: requests.Response, address: str) -> None:
        """Do what `sync.js` does."""
        token, steps = "", 0
        while True:
            answer = self.staff.post(
                address,
                data={"csrfmiddlewaretoken": self._token(listed), "token": token},
                headers={"Referer": listed.url, "Accept": "application/json"},
            )
            assert answer.status_code == 200, answer.text
            state = answer.json()
            steps += 1
            if state["done"]:
                break
            token = state["next"]
        assert steps > 1
        assert urljoin(address, state["url"]) == f"{self._app}paymentpage/"

    # What payers do

    def pay(self) -> None:
        """A payer pays on the hosted page and is sent to this site's callback."""
        payer = Browser()
        form = payer.get(f"{self.sandbox.pay_url}/{SLUG}")
        sent = payer.submit(form, {"email": "payer@example.test"}, ("choice", "pay"))
        assert sent.status_code == 303, sent.text
        self.callback = sent.headers["Location"]
        assert self.callback.startswith(self._door("callback/")), self.callback
        self.paid = re.search(r"reference=([^&]+)", self.callback)[1]  # type: ignore[index]

    def come_back(self) -> None:
        """The payer comes back, twice, reads that all is well, and has got it once."""
        payer = Browser("en")
        for _time in range(2):
            answer = payer.get(self.callback, follow=False)
            assert answer.status_code == 303, answer.text
            self.result = urljoin(answer.url, answer.headers["Location"])
            assert self.result.startswith(self._door("result/")), self.result
        shown = payer.get(self.result)
        assert words_of(shown) == HEADINGS[self._english]["paid"]
        assert self.site.given(self.paid) == 1
        status = payer.get(f"{self.result.partition('?')[0]}status/")
        assert status.json()["page"] == "paid"

    def languages(self) -> None:
        """The result is read in the language of the browser."""
        told = {}
        for asked in self.setup.languages:
            page = Browser(asked).get(self.result)
            language = Page(page.text).language
            told[asked] = language
            assert words_of(page) == HEADINGS.get(language, HEADINGS["en"])["paid"]
            assert page.headers["Content-Language"] == language
        assert told == self.setup.languages

    def choose_language(self) -> None:
        """The links below the result lead to it in each language that is offered, once each."""
        page = Browser("en").get(self.result)
        links = [link for link in Page(page.text).links if "lang=" in link]
        offered = [re.findall(r"lang=([\w-]+)", link)[0] for link in links]
        assert sorted(offered) == sorted(self.setup.offered)
        for code, link in zip(offered, links, strict=True):
            chosen = Browser("de").get(urljoin(self.result, link))
            assert (Page(chosen.text).language, words_of(chosen)) == (code, HEADINGS[code]["paid"])

    def pay_less(self) -> None:
        """A payer pays less: nothing is given, and the payer reads that it is looked at."""
        self.held = self.sandbox.pay(SLUG, amount=PRICE - 50)
        shown = Browser("en").get(f"{self.callback.partition('?')[0]}?reference={self.held}")
        self.held_result = shown.url
        assert words_of(shown) == HEADINGS[self._english]["checking"]
        assert self.site.given(self.held) == 0

    def webhook(self) -> None:
        """A signed webhook delivers for a payer who never came back; a forged one is refused."""
        reference = self._paid_order()
        address = self._door("webhook/")
        forged = {"x-lahza-signature": "0" * 64}
        assert self.sandbox.send_webhook(address, reference, headers=forged) == [401]
        assert self.site.given(reference) == 0
        assert self.sandbox.send_webhook(address, reference, times=2) == [200, 200]
        assert self.site.given(reference) == 1

    def popup(self) -> None:
        """What a popup hands over is confirmed, and leads to the result."""
        reference = self._paid_order()
        answer = Browser("en").post(self._door("confirm/"), json={"reference": reference})
        assert (answer.status_code, answer.json()["outcome"]) == (200, "delivered"), answer.text
        result = answer.json()["result_url"]
        assert result.startswith(self._door("result/")), result
        assert self.site.given(reference) == 1
        assert Browser("en").get(result).status_code == 200

    def own_door(self) -> None:
        """A view of the site's own confirms; twice gives once."""
        reference = self._paid_order()
        for _time in range(2):
            answer = Browser().post(
                self.site.address(self.setup.own_door), json={"reference": reference}
            )
            assert answer.status_code == 200, answer.text
            assert answer.json()["outcome"] in {"delivered", "already_delivered", "noted"}
        assert self.site.given(reference) == 1

    # What the site answers with

    def policies(self) -> None:
        """The result page is under the site's policy, or else ours, and is stored by nobody."""
        page = Browser("en").get(self.result)
        assert self.setup.headers.items() <= {**page.headers}.items()
        assert page.headers["Cache-Control"] == "no-store, private"
        policy = page.headers["Content-Security-Policy"]
        shown = Page(page.text)
        if not self.setup.policy:
            assert policy.startswith("default-src 'none'"), policy
            assert shown.inline == []
            return
        assert self.setup.policy in policy
        (nonce,) = set(shown.nonces)
        assert f"'nonce-{nonce}'" in policy
        assert Page(Browser("en").get(self.result).text).nonces[:1] != [nonce]

    def static(self) -> None:
        """Styles and scripts of the result page are found where the page names them."""
        page = Browser("en").get(self.result)
        sources = Page(page.text).sources
        assert len(sources) == 3, sources
        for source in sources:
            assert re.search(self.setup.static, source)
            answer = Browser().get(urljoin(page.url, source))
            assert answer.status_code == 200, source
            assert answer.headers["Content-Type"].split(";")[0] in {
                "text/css",
                "text/javascript",
                "image/svg+xml",
            }

    def quiet(self) -> None:
        """The site's log has no error, and its checks say what they must and nothing else."""
        assert self.site.driver == self.setup.driver
        assert "Traceback" not in self.site.log, self.site.log
        assert " 500 " not in self.site.log, self.site.log
        assert self.site.checks == self.setup.checks

    # Where things are

    @property
    def _english(self) -> str:
        """The language of the result page for who asks for English."""
        return self.setup.languages.get("en", "en")

    @property
    def _app(self) -> str:
        return f"{self.site.admin}payments_pages/"

    def _door(self, name: str) -> str:
        return self.site.address(f"{self.setup.doors}{name}")

    def _order(self) -> str:
        answer = Browser().post(self.site.address(f"{self.setup.shop}order/"))
        assert answer.status_code == 200, answer.text
        reference: str = answer.json()["reference"]
        return reference

    def _paid_order(self) -> str:
        reference = self._order()
        self.sandbox.start_checkout(reference, amount=PRICE, currency="ILS")
        self.sandbox.end_checkout(reference)
        return reference

    def _token(self, page: requests.Response) -> str:
        return self._field(page, "csrfmiddlewaretoken")

    def _field(self, page: requests.Response, name: str) -> str:
        return re.findall(rf'name="{name}" value="([^"]+)"', page.text)[0]


Step = Callable[[Story], None]

STEPS: Final[tuple[Step, ...]] = (
    Story.front_page,
    Story.sign_in,
    Story.make_page,
    Story.make_page_in_code,
    Story.pay,
    Story.come_back,
    Story.languages,
    Story.choose_language,
    Story.policies,
    Story.static,
    Story.pay_less,
    Story.look_around,
    Story.approve,
    Story.webhook,
    Story.popup,
    Story.own_door,
    Story.search,
    Story.export,
    Story.sync,
    Story.sync_by_command,
    Story.quiet,
)
