"""Name the people who pay, in the three languages of the shop."""

from dataclasses import dataclass

__all__ = ["PAYERS", "Payer"]


@dataclass(frozen=True, slots=True)
class Payer:
    """Be somebody who pays. Addresses and numbers are those reserved for examples."""

    first_name: str
    last_name: str
    email: str
    phone: str = ""

    def fields(self) -> dict[str, str]:
        """Return what the sandbox wants to know of a payer."""
        return {
            "email": self.email,
            "first_name": self.first_name,
            "last_name": self.last_name,
            "phone": self.phone,
        }


PAYERS = (
    Payer("ليلى", "حداد", "layla@example.test", "+970 59 555 0101"),
    Payer("Noa", "Barak", "noa.barak@example.test", "+972 50 555 0102"),
    Payer("سامر", "خوري", "samer.k@example.test", "+962 7 5550 0103"),
    Payer("Miriam", "Klein", "miriam@example.test"),
    Payer("ياسمين", "نصار", "yasmin.nassar@example.test", "+970 56 555 0104"),
    Payer("דוד", "מזרחי", "david.m@example.test", "+972 54 555 0105"),
    Payer("Omar", "Saleh", "omar@example.test", "+962 7 5550 0106"),
    Payer("רות", "אלון", "ruth.alon@example.test"),
    Payer("هند", "الزين", "hind@example.test", "+970 59 555 0107"),
    Payer("Tom", "O’Neill", "tom.oneill@example.test", "+44 7700 900108"),
    Payer("טליה", "כהן", "talia@example.test", "+972 52 555 0109"),
    Payer("كريم", "منصور", "kareem.mansour.of.the.long.address@mail.example.test"),
)
