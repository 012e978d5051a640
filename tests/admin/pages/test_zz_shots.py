import os
from typing import Any
import pytest
from payments_pages.models import PaymentPage
from payments_pages.pages import create_page
from tests.admin.pages.test_browser import *
from tests.admin.pages.test_list import pay
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OUT="/tmp/h1shots"
@pytest.mark.parametrize("language", os.environ.get("SHOT_LANG","en,ar").split(","))
def test_shots(live, tea, shop, browser, sandbox, language, configure):
    os.makedirs(OUT, exist_ok=True)
    create_page(name="شاي بالنعناع", amount=10000, slug="mint", custom_fields=[{"display_name": "رقم الهاتف", "variable_name": "phone"},{"display_name": "Size", "variable_name": "size"}], metadata={"logo_url":"https://shop.example/logo.png"})
    create_page(name="Donation", amount=None, slug="give")
    off=create_page(name="Old thing", amount=500, slug="old"); from payments_pages.pages import set_active; set_active(off, active=False)
    create_page(name="Mint again", amount=10000, slug="mint2"); mint = PaymentPage.objects.get(slug="mint")
    PaymentPage.objects.filter(slug="give").update(domain="test")
    pay(tea, 1000000, domain="live"); pay(tea, 10050, domain="live"); pay(tea, 500, currency="JOD", domain="live"); pay(mint, 10000, domain="live")
    page = browser.new_page(locale=language)
    page.set_default_timeout(30000)
    sign_in(page, shop)
    def shot(name):
        for scheme, width in (("light",1280),("dark",390),("light",390)) if language=="ar" else (("dark",1280),("light",1280),("light",390)):
            page.emulate_media(color_scheme=scheme); page.set_viewport_size({"width":width,"height":900}); settle(page)
            page.screenshot(path=f"{OUT}/{name}-{language}-{scheme}-{width}.png", full_page=True)
        page.set_viewport_size({"width":1280,"height":900})
    from tests.browser.axe import settle
    def look(n): shot(n)
    change = f"{shop}{PAGES}{tea.pk}/change/"
    page.goto(change)
    sandbox.set_page("tea-box", amount=1, name="Cheap tea", redirect_url="https://x.example/")
    page.locator("#id_description").fill("24 bags")
    page.locator("input[name=_save]").click()
    expect(page.locator("#pp-versions")).to_be_visible()
    shot("versions")
    page.goto(change); shot("drift")
    page.goto(f"{shop}{PAGES}{mint.pk}/change/"); shot("mint")
    page.goto(shop+PAGES)
    page.locator("details.pp-notice summary").click()
    print(page.locator("#changelist-search").inner_html())
    shot("list")
    page.goto(f"{shop}{PAGES}add/")
    page.locator("#id_slug").fill("a/b")
    page.wait_for_timeout(1500)
    shot("add")
    page.goto(shop+PAGES)
    page.locator("#action-toggle").check()
    choose_action(page, "deactivate_pages"); shot("question")
    sandbox.faults.add(operation="update", kind="status", status=503, times=1)
    page.locator("#content-main input[type=submit]").click()
    expect(page.locator("table.pp-table")).to_be_visible()
    shot("outcomes")
    for n in range(200): sandbox.add_page(name=f"P{n}", slug=f"p{n}", amount=n+1)
    sandbox.faults.add(operation="list", kind="status", status=500, skip=3)
    page.goto(shop + PAGES)
    page.locator(".pp-tool button").click()
    expect(page.locator("#pp-sync-error")).not_to_be_empty()
    shot("sync")
