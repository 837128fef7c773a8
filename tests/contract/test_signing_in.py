"""Signing in to the pages: with a person's key, and at a scripted identity provider; what each role sees and may do there."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from typer.testing import CliRunner

from hedgerow.proxy.audit import keys, operators
from hedgerow.proxy.cli import app
from tests.contract.test_keys import ASK, at, status_soon
from tests.support.keys import new_key, on_store
from tests.support.servers import serving
from tests.support.upstream import Upstream, says

pytest.importorskip("authlib", reason="needs the extra oidc")
from joserfc.jwk import RSAKey

from tests.support.provider import CLIENT, SECRET, IdentityProvider
from tests.support.waiting import until

WITH_ADMIN: Any = {"server": {"admin_key": "the one admin key"}}
ROLES = {"guests": "viewer", "labellers": "reviewer", "sre": "operator"}


@pytest.fixture
def browser() -> Iterator[Any]:
    """A browser at an address; with a key it has signed in."""
    with ExitStack() as stack:

        def opened(address: str, key: str | None = None) -> httpx.Client:
            headers = {"sec-fetch-site": "same-origin"}
            client = stack.enter_context(httpx.Client(base_url=address, headers=headers))
            if key is not None:
                reply = client.post("/sign-in", data={"key": key})
                assert (reply.status_code, reply.headers.get("location")) == (303, "/dashboard"), reply.text
            return client

        yield opened


def csrf(text: str) -> str:
    match = re.search(r'name="csrf" value="([0-9a-f]+)"', text)
    assert match is not None
    return match[1]


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    """The identity provider."""
    scripted = IdentityProvider()
    with serving(scripted.app) as address:
        scripted.url = address
        yield scripted


@pytest.fixture
def address(serve: Any, provider: IdentityProvider, tmp_path: Path) -> str:
    """A proxy whose people sign in at the provider; browsers reach it under another name."""
    oidc = {"issuer": provider.url, "client_id": CLIENT, "client_secret": SECRET, "roles": ROLES}
    oidc |= {"public_url": "http://pages.test", "name": "Example"}
    return str(serve(settings=at(f"sqlite:///{tmp_path}/audit.db", tmp_path, access={"oidc": oidc})))


def come_back(client: httpx.Client, *, wanted: str = "/dashboard/changes") -> httpx.Response:
    """Go to the provider and come back, as a browser does."""
    away = client.get("/sign-in/oidc", params={"next": wanted})
    assert away.status_code == 302
    back = httpx.get(away.headers["location"]).headers["location"]
    assert back.startswith("http://pages.test/sign-in/oidc/back?")
    return client.get(back.removeprefix("http://pages.test"))


@pytest.mark.parametrize(
    ("groups", "sees", "refused"),
    [
        (["guests"], "/dashboard", "/dashboard/review"),
        (["guests", "labellers"], "/dashboard/review", None),
        (["sre"], "/dashboard/keys", None),
    ],
)
def test_a_person_of_the_provider_has_the_role_of_their_group(
    address: str,
    browser: Any,
    provider: IdentityProvider,
    lines: Any,
    groups: list[str],
    sees: str,
    refused: str | None,
) -> None:
    """By the highest one; the button says where one signs in, and the log who did, without a token."""
    provider.claims["groups"] = groups
    client = browser(address)
    assert client.get("/dashboard").headers["location"] == "/sign-in?next=/dashboard"
    assert "Sign in with Example" in client.get("/sign-in").text
    reply = come_back(client)
    assert 'content="0; url=/dashboard/changes"' in reply.text
    shown = client.get(sees)
    assert (shown.status_code, "Sign out anna@example.com" in shown.text) == (200, True)
    if refused is not None:
        assert "whose role is viewer" in client.get(refused).text
        assert "/dashboard/review" not in shown.text
    assert provider.asked["code_challenge_method"] == "S256"
    assert [line["name"] for line in lines.of("signed_in")] == ["anna@example.com"]
    assert not any(secret in repr(lines) for secret in (*provider.tokens, SECRET))


LIES: dict[str, Any] = {
    "another audience": {"aud": "somebody-else"},
    "another issuer": {"iss": "https://evil.example"},
    "another nonce": {"nonce": "x"},
    "expired": {"exp": int(time.time()) - 3600, "iat": int(time.time()) - 7200},
}


ENDS = {"refused there": (403, "did not let you in")} | dict.fromkeys(
    ("no state", "another browser", "gone"), (400, "was not begun in this browser")
)


@pytest.mark.parametrize("lie", [*LIES, "another signature", *ENDS])
def test_what_the_provider_does_not_vouch_for_opens_nothing(
    address: str, browser: Any, provider: IdentityProvider, lie: str
) -> None:
    """An ID token for somebody else, from somebody else, or for another visit; a visitor who never went there. The page says which of these it
    is, and leads back to signing in: what an operator could configure is no advice to them.
    """
    provider.claims["groups"] = ["sre"]
    provider.lies = LIES.get(lie, {})
    if lie == "another signature":
        provider.key = RSAKey.generate_key(2048, {"kid": "one"}, auto_kid=False)
    if lie == "refused there":
        provider.refuses = "access_denied"
    client = browser(address)
    if lie == "no state":
        reply = client.get("/sign-in/oidc/back?code=the+code&state=made-up")
    elif lie == "another browser":
        back = httpx.get(client.get("/sign-in/oidc").headers["location"]).headers["location"]
        client.cookies.clear()
        reply = client.get(back.removeprefix("http://pages.test"))
    elif lie == "gone":
        provider.url = "http://127.0.0.1:9"
        reply = client.get("/sign-in/oidc/back?code=x&state=y")
    else:
        reply = come_back(client)
    status, sentence = ENDS.get(lie, (502, "did not answer as it should"))
    assert (reply.status_code, "hedgerow_session" in client.cookies) == (status, False)
    assert (sentence in reply.text, 'href="/sign-in"' in reply.text, "admin_key" in reply.text) == (True, True, False)
    assert client.get("/dashboard/changes").status_code == 303


def test_the_log_says_which_address_of_the_provider_failed(
    address: str, browser: Any, provider: IdentityProvider, lines: Any
) -> None:
    """With its status. What anybody can write into our own address does not get into it."""
    provider.away = True
    client = browser(address)
    client.get("/sign-in/oidc")
    client.get("/sign-in/oidc/back", params={"error": "Call 555 0100"})
    failed, forged = lines.of("sign_in_failed")
    place = provider.url + "/.well-known/openid-configuration"
    assert (failed["address"], failed["status"]) == (place, 502)
    assert forged["why"] is None


@pytest.mark.parametrize("wanted", ["https://evil.example", "//evil.example", "/\\evil.example", "/\t/evil.example"])
def test_signing_in_leads_to_no_other_server(
    address: str, browser: Any, provider: IdentityProvider, wanted: str
) -> None:
    """Whatever a link to the sign-in says: browsers read a backslash as a slash, and leave tabs and line ends out of an address."""
    provider.claims["groups"] = ["sre"]
    assert 'content="0; url=/dashboard"' in come_back(browser(address), wanted=wanted).text


def test_a_provider_that_changes_its_keys_or_is_away_for_a_while(
    address: str, browser: Any, provider: IdentityProvider
) -> None:
    """Its new key is fetched when a token names it; while it cannot be reached, a sentence says so, and who is signed in stays so."""
    provider.claims["groups"] = ["guests"]
    first = browser(address)
    come_back(first)
    provider.published = RSAKey.generate_key(2048, {"kid": "two"}, auto_kid=False)
    second = browser(address)
    come_back(second)
    provider.away = True
    refused = come_back(browser(address))
    assert (refused.status_code, "did not answer as it should" in refused.text) == (502, True)
    assert [client.get("/dashboard").status_code for client in (first, second)] == [200, 200]
    provider.away = False
    third = browser(address)
    come_back(third)
    assert third.get("/dashboard").status_code == 200


def test_check_online_asks_the_provider(provider: IdentityProvider, tmp_path: Path) -> None:
    """A wrong issuer is found before the first person tries to sign in."""
    oidc = {"issuer": provider.url, "client_id": CLIENT, "client_secret": SECRET, "public_url": "http://pages.test"}
    settings = at(f"sqlite:///{tmp_path}/audit.db", tmp_path, access={"oidc": oidc})
    settings |= {"upstreams": {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}}}
    settings |= {"routes": [{"name": "r", "upstream": "u"}]}
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(settings))
    command = ["config", "check", "--online", "--config", str(config)]
    assert "identity provider: answers" in CliRunner().invoke(app, command).stdout
    provider.away = True
    assert "its OpenID configuration cannot be read (status 502)" in CliRunner().invoke(app, command).stderr


def test_a_provider_that_is_away_from_the_start(address: str, browser: Any, provider: IdentityProvider) -> None:
    """Nothing is known of it yet: the page of signing in stands, its button leads to a sentence, and once it is there it works."""
    provider.claims["groups"], provider.away = ["guests"], True
    client = browser(address)
    assert client.get("/sign-in").status_code == 200
    refused = client.get("/sign-in/oidc")
    assert (refused.status_code, "did not answer as it should" in refused.text) == (502, True)
    provider.away = False
    come_back(client)
    assert client.get("/dashboard").status_code == 200


def test_a_person_without_a_group_is_turned_away(
    address: str, browser: Any, provider: IdentityProvider, lines: Any
) -> None:
    """With who they are, so that they can ask an operator."""
    provider.claims["groups"] = ["cooks"]
    client = browser(address)
    reply = come_back(client)
    assert (reply.status_code, "anna@example.com, who has no role here" in reply.text) == (403, True)
    assert client.get("/dashboard").status_code == 303
    assert lines.of("sign_in_refused")


def test_a_forged_or_changed_session_opens_nothing(address: str, browser: Any, provider: IdentityProvider) -> None:
    """A viewer who writes "operator" into the cookie, and one who makes one up."""
    provider.claims["groups"] = ["guests"]
    client = browser(address)
    come_back(client)
    until, nonce, who, signature = client.cookies["hedgerow_session"].split(".")
    other = who[:-4] + "AAAA"
    for forged in (
        f"{until}.{nonce}.{other}.{signature}",
        f"9{until}.{nonce}.{who}.{signature}",
        "9.9.9.9",
        "x",
        "....",
    ):
        assert httpx.get(address + "/dashboard", cookies={"hedgerow_session": forged}).status_code == 303


def test_a_persons_key_signs_in_and_its_end_ends_the_session(
    serve: Any, browser: Any, store_url: str, tmp_path: Path
) -> None:
    """Without an admin key as well: as soon as there is a person the pages are not this machine's any more."""
    secrets = {role: new_key(store_url, role, role=role) for role in ("viewer", "reviewer", "operator")}
    client_key = new_key(store_url, "search")
    address = serve(settings=at(store_url, tmp_path))
    assert httpx.get(address + "/dashboard").status_code == 303
    assert httpx.head(address + "/sign-in").status_code == 200
    for wrong in ("guess", client_key):
        assert "not the admin key" in browser(address).post("/sign-in", data={"key": wrong}).text
    viewer, operator = browser(address, secrets["viewer"]), browser(address, secrets["operator"])
    assert viewer.get("/").headers["location"] == "/dashboard"
    assert "New key" not in viewer.get("/dashboard/keys").text
    for path in ("/try", "/verdict", "/dashboard/keys", "/dashboard/review/verdict"):
        refused = viewer.post(path, data={"csrf": csrf(viewer.get("/dashboard").text), "do": "new", "name": "x"})
        assert refused.status_code == 403, path
    on_store(store_url, keys.rotate, "operator", overlap_s=3600, actor="test")
    on_store(store_url, keys.revoke, "viewer", actor="test")
    status_soon(lambda: viewer.get("/dashboard"), 303)
    status_soon(lambda: operator.get("/dashboard"), 303)
    assert "was revoked" in browser(address).post("/sign-in", data={"key": secrets["viewer"]}).text


def test_keys_are_made_rotated_and_revoked_on_their_page(
    serve: Any, browser: Any, client_of: Any, upstream: Upstream, store_url: str, tmp_path: Path
) -> None:
    """The secret is on the page that answers the form, once; what was done is recorded under who did it."""
    upstream.default = says("Canberra.")
    anna = new_key(store_url, "anna", role="operator")
    address = serve(settings=at(store_url, tmp_path, **WITH_ADMIN), mode="off")
    client = browser(address, anna)

    def post(**fields: str) -> str:
        reply = client.post("/dashboard/keys", data={"csrf": csrf(client.get("/dashboard/keys").text)} | fields)
        assert reply.status_code == 200
        return reply.text

    def secret_on(text: str) -> str:
        found = re.search(r'<code class="secret">(hgk_[\w-]+)</code>', text)
        assert found is not None, text
        return found[1]

    form = {"name": "search", "team": "web <b>", "days": "30", "requests_per_minute": "60", "route": "test"}
    first = secret_on(post(do="new", **form))
    raw = client_of(address, api_key=first).chat.completions.with_raw_response.create(**ASK)
    assert raw.headers["x-ratelimit-limit-requests"] == "60"
    page = until(
        lambda: client.get("/dashboard/keys").text,
        lambda page: "60 requests a minute" in page and "1 request ·" in page,
    )
    assert first not in page
    assert "web &lt;b&gt;" in page
    assert "names are not given twice" in (again := post(do="new", **form))
    assert 'value="web &lt;b&gt;"' in again
    assert "name:" in post(do="new", name="two words")
    assert "overlap_s: " in post(do="rotate", name="search", overlap_s="an hour")
    second = secret_on(post(do="rotate", name="search", overlap_s="3600"))
    for secret in (first, second):
        client_of(address, api_key=secret).chat.completions.create(**ASK)
    assert "revoked" in post(do="revoke", name="search")
    assert httpx.post(address + "/v1/chat/completions", json=ASK, headers={"x-api-key": second}).status_code == 401
    actors = {change.actor for change in on_store(store_url, operators.read_changes)}
    assert actors == {"test", "anna"}
    assert client.post("/dashboard/keys", data={"csrf": "made up", "do": "revoke", "name": "anna"}).status_code == 403
