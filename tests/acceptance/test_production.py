"""The page about production: its configuration is parsed by the programs that it is for, and run."""

import configparser
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import Client
from django.urls import reverse
from gunicorn.config import Config

from payments_pages.conf import conf
from payments_pages.confirmation import admission
from payments_pages.confirmation.rivals import RIVAL_PATIENCE
from payments_pages.models import PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.views.webhook import LIMIT
from tests.support.goods.models import Good
from tests.support.guide_pages import ROOT, GuidePage, parse_command, shop_in

PAGE = GuidePage("production.md")
UNITS = ("shop-web.service", "shop-sweep.service")
SLOWEST_HANDLER = 10


def test_every_python_block_is_named() -> None:
    assert len(PAGE.names()) == PAGE.text.count("```python")
    assert set(PAGE.names()) == {
        "address", "https", "cache", "postgresql-settings", "mariadb-settings", "lines", "logging",
        "reports", "scrub",
    }  # fmt: skip


# nginx


def nginx() -> str:
    (text,) = PAGE.blocks("nginx")
    return text


def directives(text: str) -> list[tuple[tuple[str, ...], list[Any]]]:
    """Parse nginx's language: words, and the directives in braces behind them."""
    tokens = re.findall(r"[{};]|[^\s{};]+", re.sub(r"#.*", "", text))
    stack: list[list[Any]] = [[]]
    words: list[str] = []
    for token in tokens:
        if token == ";":
            assert words, "a directive is empty"
            stack[-1].append((tuple(words), []))
            words = []
        elif token == "{":
            block: list[Any] = []
            stack[-1].append((tuple(words), block))
            stack.append(block)
            words = []
        elif token == "}":
            assert not words, f"a semicolon is missing after {words}"
            stack.pop()
        else:
            words.append(token)
    assert len(stack) == 1, "a brace is open"
    assert not words, f"a semicolon is missing after {words}"
    return stack[0]


def secure_server() -> list[Any]:
    servers = [inside for words, inside in directives(nginx()) if words == ("server",)]
    (found,) = [one for one in servers if (("listen", "443", "ssl"), []) in one]
    return found


def test_nginx_writes_over_each_header_that_django_believes() -> None:
    headers = {
        words[1]: words[2] for words, _in in secure_server() if words[0] == "proxy_set_header"
    }
    assert headers["X-Real-IP"] == "$remote_addr"
    assert headers["X-Forwarded-Proto"] == "$scheme"
    assert headers["Host"] == "$host"
    locations = [inside for words, inside in secure_server() if words[0] == "location"]
    assert len(locations) == 3
    for inside in locations:  # one that sets a header inherits none
        assert [words for words, _in in inside if words[0] == "proxy_set_header"] == []
    believed = re.findall(r'"(HTTP_\w+)"', PAGE.snippet("https"))
    believed += re.findall(r'headers.get\("([\w-]+)"\)', PAGE.snippet("address"))
    written = {name.upper().replace("-", "_") for name in headers}
    assert {b.upper().replace("-", "_").removeprefix("HTTP_") for b in believed} <= written


def test_nginx_takes_bodies_as_large_as_a_webhook_s_and_shows_the_health_to_the_monitor() -> None:
    ((_name, size),) = [w for w, _in in secure_server() if w[0] == "client_max_body_size"]
    assert int(size.removesuffix("m")) * 2**20 >= LIMIT
    (health,) = [i for w, i in secure_server() if w[:2] == ("location", "=")]
    assert [words[0] for words, _in in health] == ["allow", "deny", "proxy_pass"]
    assert (("deny", "all"), []) in health


def test_nginx_itself_takes_the_lines(tmp_path: Path) -> None:
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if (
        program is None
    ):  # who runs the tests at home need not have it; the gate refuses to do without
        pytest.skip("there is no nginx on the PATH (Debian: nginx-light)")
    text = re.sub(r"\n    (listen 443 ssl|ssl_certificate\S*) ?[^;]*;", "", nginx())
    config = tmp_path / "nginx.conf"
    config.write_text(f"events {{}}\nhttp {{\n{text}}}\n")
    subprocess.run([program, "-t", "-p", str(tmp_path), "-c", str(config)], check=True)


# The client's address, and HTTPS


@pytest.fixture
def proxied(
    settings: Any, configure: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The site with the page's settings, behind the page's nginx, in one minute of the budgets."""
    monkeypatch.setattr(admission, "time", lambda: 1_000_000.0)
    with shop_in(tmp_path):
        (tmp_path / "shop" / "address.py").write_text(PAGE.snippet("address"))
        for key, value in PAGE.run("https", MIDDLEWARE=settings.MIDDLEWARE).items():
            if key.isupper():
                setattr(settings, key, value)
        configure(SITE_URL="https://shop.example")
        yield


def browser(address: str, **more: Any) -> Client:
    """A payer's browser behind nginx, which reaches gunicorn by a socket."""
    headers = {"X-Real-IP": address, "X-Forwarded-Proto": "https", "Host": "shop.example"}
    return Client(REMOTE_ADDR="", headers=headers, **more)


def ask_for_made_up_ones(client: Client, count: int, name: str) -> None:
    for number in range(count):
        client.get("/payments/callback/", {"reference": f"{name}-{number}"})


@pytest.mark.django_db(transaction=True)
def test_who_tries_references_uses_up_his_own_budget_and_nobody_else_s(
    sandbox: Sandbox, tea_box: PaymentPage, proxied: None
) -> None:
    ask_for_made_up_ones(browser("192.0.2.66"), 25, "GUESS")
    assert sandbox.verify_calls() == conf.unknown_per_address
    address = reverse("payments_pages:page-callback", args=[tea_box.token])
    browser("192.0.2.7").get(address, {"reference": sandbox.pay("tea-box")})
    assert Good.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_middleware_all_share_one_budget(
    sandbox: Sandbox, tea_box: PaymentPage, proxied: None, settings: Any
) -> None:
    settings.MIDDLEWARE = settings.MIDDLEWARE[1:]
    ask_for_made_up_ones(browser("192.0.2.66"), 25, "GUESS")
    address = reverse("payments_pages:page-callback", args=[tea_box.token])
    browser("192.0.2.7").get(address, {"reference": sandbox.pay("tea-box")})
    assert Good.objects.count() == 0
    assert Verification.objects.filter(state="due").exists()


@pytest.mark.django_db
def test_the_settings_for_https_satisfy_the_checks_and_the_proxy(proxied: None) -> None:
    found = {message.id for message in run_checks(include_deployment_checks=True)}
    assert found & {f"security.W{number:03}" for number in (4, 8, 12, 16, 20)} == set()
    assert browser("192.0.2.7").get("/payments/callback/").status_code == 400
    plain = Client(headers={"Host": "shop.example"}).get("/payments/callback/")
    assert (plain.status_code, plain.headers["Location"]) == (
        301,
        "https://shop.example/payments/callback/",
    )


@pytest.mark.django_db
def test_without_the_proxy_s_header_the_site_redirects_for_ever_and_staff_cannot_log_in(
    proxied: None, settings: Any
) -> None:
    form = {"username": "a", "password": "b"}

    def log_in() -> int:
        staff = browser("192.0.2.7", enforce_csrf_checks=True)
        staff.get("/admin/login/")
        token = staff.cookies["csrftoken"].value
        sent = {**form, "csrfmiddlewaretoken": token}
        origin = {"Origin": "https://shop.example", "Referer": "https://shop.example/admin/login/"}
        return int(staff.post("/admin/login/", sent, headers=origin).status_code)

    assert log_in() == 200
    settings.SECURE_PROXY_SSL_HEADER = None
    assert browser("192.0.2.7").get("/payments/callback/").status_code == 301
    settings.SECURE_SSL_REDIRECT = False
    assert log_in() == 403


# systemd, gunicorn, cron


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # systemd minds the case
    parser.read_string(PAGE.snippet(name, "ini"))
    return parser


def gunicorn() -> Config:
    program, *arguments = unit(UNITS[0])["Service"]["ExecStart"].split()
    assert program.endswith("/bin/gunicorn")
    config = Config()
    given = vars(config.parser().parse_args(arguments))
    assert given.pop("args") == ["shop.wsgi"]
    for key, value in given.items():
        if value is not None:
            config.set(key, value)
    return config


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def test_time_limits_grow_from_the_inside_to_the_outside() -> None:
    request = RIVAL_PATIENCE + conf.limits.deadline + SLOWEST_HANDLER
    config = gunicorn()
    stop = seconds(unit(UNITS[0])["Service"]["TimeoutStopSec"])
    ((_name, read),) = [w for w, _in in secure_server() if w[0] == "proxy_read_timeout"]
    assert request < config.graceful_timeout < stop < seconds(read)
    assert request <= conf.lease
    assert seconds(unit(UNITS[1])["Service"]["TimeoutStopSec"]) > conf.lease
    text = " ".join(PAGE.text.split())
    for said in (
        f"{RIVAL_PATIENCE:.0f} s of waiting for a rival, `DEADLINE` ({conf.limits.deadline:.0f} s)",
        (
            f"below {SLOWEST_HANDLER} s fits: {request:.0f} s are less than `--graceful-timeout` "
            f"({config.graceful_timeout} s"
        ),
        f"`TimeoutStopSec` ({stop} s) and nginx's `proxy_read_timeout` ({seconds(read)} s)",
        f"within `LEASE` ({conf.lease:.0f} s)",
        f"{config.workers} × {config.threads} of them here",
    ):
        assert said in text


def test_gunicorn_has_threads_and_the_address_that_nginx_knows() -> None:
    config = gunicorn()
    assert config.worker_class_str == "gthread"
    (address,) = [words[1] for words, _in in directives(nginx())[0][1] if words[0] == "server"]
    assert [address] == config.settings["bind"].get()
    assert address == f"unix:/run/{unit(UNITS[0])['Service']['RuntimeDirectory']}/web.sock"


def test_gunicorn_starts_the_site_with_these_options(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "wsgi.py").write_text("from example_project.wsgi import application\n")
    _program, *arguments = unit(UNITS[0])["Service"]["ExecStart"].split()
    arguments = [word.replace("/run/shop", str(tmp_path)) for word in arguments]
    done = subprocess.run(
        [sys.executable, "-m", "gunicorn", "--check-config", *arguments],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "tests.support.settings",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_sweep_s_unit_runs_a_real_command_for_ever() -> None:
    words = unit(UNITS[1])["Service"]["ExecStart"].split()
    assert words[:2] == ["/srv/shop/venv/bin/python", "manage.py"]
    assert parse_command(words[2:])["watch"] is True
    assert unit(UNITS[1])["Service"]["Restart"] == "always"


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The folder of the site, with the page's script; the names that stand for its paths."""
    shop = tmp_path / "srv"
    (shop / "venv" / "bin").mkdir(parents=True)
    for name in ("python", "gunicorn"):
        (shop / "venv" / "bin" / name).symlink_to(shutil.which("true") or "/bin/true")
    return {"/srv/shop": str(shop), "/etc/shop.env": str(tmp_path / "shop.env")}


def replaced(text: str, names: dict[str, str]) -> str:
    for name, own in names.items():
        text = text.replace(name, own)
    return text


@pytest.mark.parametrize("name", UNITS)
def test_systemd_takes_the_unit(name: str, tmp_path: Path, installed: dict[str, str]) -> None:
    assert set(unit(name).sections()) == {"Unit", "Service", "Install"}
    assert {"User", "WorkingDirectory", "EnvironmentFile", "ExecStart"} <= set(
        unit(name)["Service"]
    )
    program = shutil.which("systemd-analyze")
    if program is None:
        return  # its parts were read above
    file = tmp_path / name
    file.write_text(replaced(PAGE.snippet(name, "ini"), installed))
    done = subprocess.run(
        [program, "verify", "--man=no", str(file)], capture_output=True, text=True, check=False
    )
    complaints = [line for line in done.stderr.splitlines() if str(file) in line or name in line]
    assert complaints == []


def test_the_script_gives_the_command_its_environment(
    tmp_path: Path, installed: dict[str, str]
) -> None:
    python = Path(installed["/srv/shop"]) / "venv" / "bin" / "python"
    python.unlink()
    python.write_text('#!/bin/sh\necho "$PWD" "$PAYMENTS_KEY" "$@"\n')
    python.chmod(0o755)
    Path(installed["/etc/shop.env"]).write_text("PAYMENTS_KEY='sk test'\n")
    script = tmp_path / "manage"
    script.write_text(replaced(PAGE.snippet("manage", "sh"), installed))
    script.chmod(0o755)
    done = subprocess.run([script, "check", "--deploy"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{installed['/srv/shop']} sk test manage.py check --deploy\n"


def test_cron_runs_real_commands_and_the_sweep_each_minute() -> None:
    lines = PAGE.snippet("cron", "cron").splitlines()
    jobs = {}
    for line in lines[1:]:
        *times, user, program, name = line.split(maxsplit=7)
        assert (user, program) == ("shop", "/srv/shop/manage")
        assert len(times) == 5
        for word in times:
            assert re.fullmatch(r"\*(/\d+)?|\d+", word)
        parse_command(name.split())
        jobs[name.split()[0]] = " ".join(times)
    assert jobs["payments_pages_sweep"] == "* * * * *"
    assert len(jobs) == 4


def test_each_other_command_of_the_page_is_real() -> None:
    named = set(re.findall(r"`(payments_pages_\w+)((?: --[\w-]+)*)`", PAGE.text))
    assert ("payments_pages_sweep", " --age") in named
    for name, options in named:
        parse_command([name, *options.split()])
    assert [parse_command(words) for words in (["migrate"], ["collectstatic"])]
