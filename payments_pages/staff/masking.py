"""Mask a payer's details: enough is left to tell two payers apart, not enough to contact one.

For staff without the permission to see customers' details (our decision). A text that does not
have the expected form is hidden whole.
"""

__all__ = ["MASK", "mask_email", "mask_name", "mask_phone", "mask_whole"]

MASK = "•••"


def mask_email(text: str) -> str:
    """Keep the first character and the domain: `n•••@example.com`; `""` stays empty."""
    name, at, domain = text.strip().rpartition("@")
    if not text.strip():
        return ""
    return f"{name[0]}{MASK}@{domain}" if at and name and domain else MASK


def mask_name(text: str) -> str:
    """Keep the initials: `Noor Haddad` becomes `N. H.`."""
    return " ".join(f"{word[0]}." for word in text.split())


def mask_phone(text: str) -> str:
    """Keep the last two digits: `•••67`; a number of four digits or fewer is hidden whole."""
    digits = [character for character in text if character.isdigit()]
    if not text.strip():
        return ""
    return MASK + "".join(digits[-2:]) if len(digits) > 4 else MASK


def mask_whole(text: str) -> str:
    """Hide the whole text; `""` stays empty."""
    return MASK if text.strip() else ""
