r"""Webhook signatures, against digests made by another program.

The fixed vectors are those of OpenSSL, for the bytes of `BODY`:

    printf '%s' "$BODY" | openssl dgst -sha256 -hmac whsec_test_0001
    printf '%s' "$BODY" | openssl dgst -sha512 -hmac whsec_test_0001
"""

import hashlib
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from payments_pages.signatures import ALGORITHMS, is_signed, sign

SECRET = "whsec_test_0001"
BODY = (
    rb'{ "data" : {"reference":"PPG-1030", "amount":10000.0,"u":"a\/b"},'
    b'\n "event":"charge.success" }\n'
)
VECTORS = {
    "sha256": "fa025f9ed8fb87423703a6b03a21c6a7aded8d9db62b6f277ad921f63e84bfd0",
    "sha512": (
        "b5ef483f156cdb377bb7eb2b18b163dc4f6d5a350cca8ba5338c042516118584"
        "f68e0fbb0350d4321dee7da7385966a5f53978f3a08384adf79aaa12a3517e1b"
    ),
}
EMPTY_BODY = {
    # printf '' | openssl dgst -sha256 -hmac k, and the same with -sha512
    "sha256": "8bb990c40a7d61cb97597a942125025be50ac8beb74436e3735b98893a7f6620",
    "sha512": (
        "893ccbf5d0b335fcda6f625e4a59055a364d75a9251589428750782c116830a1"
        "af455efe1094c1901d0e8fd5beb6df64c6d5fe1c6f09be6ef47fb3987260cdd8"
    ),
}
algorithms = pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))


def signed(signature: str, algorithm: str = "sha256", *secrets: str, body: bytes = BODY) -> bool:
    return is_signed(body, signature, secrets or (SECRET,), algorithm)


@algorithms
def test_c29_the_digest_is_the_one_that_openssl_makes(algorithm: str) -> None:
    assert sign(BODY, SECRET, algorithm) == VECTORS[algorithm]
    assert signed(VECTORS[algorithm], algorithm)
    assert sign(b"", "k", algorithm) == EMPTY_BODY[algorithm]


@algorithms
def test_c29_the_same_json_written_otherwise_is_not_what_was_signed(algorithm: str) -> None:
    compact = json.dumps(json.loads(BODY), separators=(",", ":")).encode()
    others = [compact, BODY + b" ", BODY[:-1], BODY.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + BODY]
    for other in others:
        assert not signed(VECTORS[algorithm], algorithm, body=other)


@algorithms
def test_c31_hex_is_taken_in_either_case_and_with_blanks_around_it(algorithm: str) -> None:
    digest = VECTORS[algorithm]
    for spelling in (digest.upper(), digest.title(), f" {digest} ", f"{digest}\t"):
        assert signed(spelling, algorithm)


@algorithms
def test_c31_what_is_not_exactly_the_digest_is_refused(algorithm: str) -> None:
    digest = VECTORS[algorithm]
    refused = [
        "",
        " ",
        digest[:-1],
        digest[: len(digest) // 2],
        digest + "0",
        digest * 2,
        f"{algorithm}={digest}",
        f"v1={digest}",
        f"{digest},{digest}",
        digest[: len(digest) // 2] + " " + digest[len(digest) // 2 :],
        "0" * len(digest),
        hashlib.new(algorithm, BODY).hexdigest(),
        VECTORS["sha512" if algorithm == "sha256" else "sha256"],
    ]
    for signature in refused:
        assert not signed(signature, algorithm), signature


@pytest.mark.parametrize(
    "signature",
    ["é" * 64, "\u0661" * 64, "\uff46\uff41" * 32, "\ud800", "\x00" * 64, "f\u0131" * 32, "💳"],
)
def test_a_header_that_is_not_ascii_is_refused_and_raises_nothing(signature: str) -> None:
    assert not signed(signature)


def test_full_width_digits_do_not_stand_for_hex() -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) for c in VECTORS["sha256"])
    assert not signed(wide)


@algorithms
def test_several_secrets_allow_a_rotation(algorithm: str) -> None:
    digest = VECTORS[algorithm]
    assert signed(digest, algorithm, "the next one", SECRET)
    assert signed(digest, algorithm, SECRET, "the one before")
    assert not signed(digest, algorithm, "the next one", "the one before")


def test_no_secret_or_a_blank_one_signs_nothing() -> None:
    of_blank = sign(BODY, "", "sha256")
    assert not is_signed(BODY, of_blank, (), "sha256")
    assert not is_signed(BODY, of_blank, ("",), "sha256")
    assert not is_signed(BODY, "", ("",), "sha256")
    assert is_signed(BODY, VECTORS["sha256"], ("", SECRET), "sha256")


@algorithms
def test_every_flipped_bit_of_the_signature_is_noticed(algorithm: str) -> None:
    raw = bytes.fromhex(VECTORS[algorithm])
    for bit in range(len(raw) * 8):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not signed(flipped.hex(), algorithm)


def test_every_flipped_bit_of_the_body_is_noticed() -> None:
    for bit in range(len(BODY) * 8):
        flipped = bytearray(BODY)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not signed(VECTORS["sha256"], body=bytes(flipped))


@given(body=st.binary(max_size=300), secret=st.text(min_size=1, max_size=40), other=st.text())
def test_whatever_the_body_only_its_own_signature_and_secret_fit(
    body: bytes, secret: str, other: str
) -> None:
    for algorithm in ALGORITHMS:
        digest = sign(body, secret, algorithm)
        assert is_signed(body, digest.upper(), (secret,), algorithm)
        assert not is_signed(body + b"\n", digest, (secret,), algorithm)
        if other != secret:
            # Two keys that differ only in trailing NULs are one key to HMAC.
            assume(other.rstrip("\0") != secret.rstrip("\0"))
            assert not is_signed(body, digest, (other,), algorithm)


@given(signature=st.text(max_size=200))
def test_no_text_that_is_not_the_digest_is_taken_for_it(signature: str) -> None:
    assume(signature.strip().lower() != VECTORS["sha256"])
    assert not signed(signature)
